# Target holdfast_engine: every layer but the bindings. It never sees Python's headers.

# Makes a target one of the project: warnings for its sources, errors with HOLDFAST_WERROR.
function(holdfast_own target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(HOLDFAST_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

set(engine_sources)
foreach(layer redis/base redis/net redis/resp redis/client redis/topology redis/script
              locks/base locks/lease locks/wait locks/sync guard locks/engine)
  file(GLOB_RECURSE layer_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/${layer}/*.cpp")
  list(APPEND engine_sources ${layer_sources})
endforeach()

# cpp/guard/ is for Linux, and has the program's main().
set(futex_portable "${PROJECT_SOURCE_DIR}/cpp/redis/base/futex_portable.cpp")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  list(REMOVE_ITEM engine_sources "${PROJECT_SOURCE_DIR}/cpp/guard/main.cpp" "${futex_portable}")
else()
  list(FILTER engine_sources EXCLUDE REGEX "/cpp/guard/")
endif()

if(NOT OPENSSL_FOUND)
  list(FILTER engine_sources EXCLUDE REGEX "/cpp/redis/net/tls_")
endif()

# For HOLDFAST_UNITY: what is compiled as one file.
function(holdfast_compile_together group)
  foreach(part ${ARGN})
    set(found "${PROJECT_SOURCE_DIR}/cpp/${part}.cpp")
    if(NOT EXISTS "${found}")
      file(GLOB found "${PROJECT_SOURCE_DIR}/cpp/${part}/*.cpp")
    endif()
    set_source_files_properties(${found} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()
holdfast_compile_together(io redis/base redis/net redis/resp)
holdfast_compile_together(sync locks/sync/recipes locks/sync/operation locks/sync/quorum)
holdfast_compile_together(client redis/client)
holdfast_compile_together(holds redis/script locks/base locks/lease locks/wait)
holdfast_compile_together(engine locks/engine)
holdfast_compile_together(topology redis/topology redis/client/greeting redis/client/login
                          redis/net/endpoint redis/net/resolver redis/net/tls_transport
                          locks/engine/closing locks/engine/engine locks/engine/guarded
                          locks/engine/reauthentication locks/sync/operation/replica_acknowledger
                          locks/sync/operation/ticket)
holdfast_compile_together(guard guard/enrolment guard/guard guard/held_page guard/releases guard/settings)

# Where servers are found, what makes and ends clients, and the guard: small rather than fast.
foreach(group topology guard)
  set_source_files_properties(
    "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/holdfast_engine.dir/Unity/unity_${group}_cxx.cxx"
    PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
endforeach()

# Header lua_scripts.h: the scripts of lua/, checked, stripped and hashed.
file(GLOB_RECURSE lua_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lua/*.lua")
set(generated_dir "${PROJECT_BINARY_DIR}/generated")
set(embed_tool "${PROJECT_SOURCE_DIR}/cmake/embed_lua.py")
add_custom_command(
  OUTPUT "${generated_dir}/lua_scripts.h"
  COMMAND "${Python_EXECUTABLE}" -I "${embed_tool}" "${PROJECT_SOURCE_DIR}/lua"
          --header "${generated_dir}/lua_scripts.h"
  DEPENDS ${lua_files} "${embed_tool}"
  COMMENT "Embedding the Lua scripts"
  VERBATIM)
add_custom_target(lua_scripts DEPENDS "${generated_dir}/lua_scripts.h")

add_library(holdfast_engine STATIC ${engine_sources})
set_target_properties(holdfast_engine PROPERTIES UNITY_BUILD ${HOLDFAST_UNITY}
                                                 UNITY_BUILD_MODE GROUP)
add_dependencies(holdfast_engine lua_scripts)
holdfast_own(holdfast_engine)
# For --gc-sections: the guard uses a part of the engine only.
target_compile_options(holdfast_engine PRIVATE -ffunction-sections -fdata-sections)
# GCC inlines less in a file that it takes for a large one; here as in the files by themselves.
if(HOLDFAST_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(holdfast_engine PRIVATE "SHELL:--param large-unit-insns=50000")
endif()
target_include_directories(holdfast_engine PUBLIC "${PROJECT_SOURCE_DIR}/cpp" "${generated_dir}")
target_compile_definitions(holdfast_engine PUBLIC HOLDFAST_VERSION="${PROJECT_VERSION}")
target_link_libraries(holdfast_engine PRIVATE holdfast::hiredis PUBLIC Threads::Threads)
if(OPENSSL_FOUND)
  target_compile_definitions(holdfast_engine PUBLIC HOLDFAST_HAVE_TLS=1)
  target_link_libraries(holdfast_engine PRIVATE OpenSSL::SSL)
endif()

# The program that releases what a program held that has died; beside the module, which starts it.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_executable(holdfast-guard "${PROJECT_SOURCE_DIR}/cpp/guard/main.cpp")
  holdfast_own(holdfast-guard)
  target_link_libraries(holdfast-guard PRIVATE holdfast_engine)
  target_link_options(holdfast-guard PRIVATE -Wl,--gc-sections -Wl,--as-needed)
  install(TARGETS holdfast-guard RUNTIME DESTINATION holdfast COMPONENT python)
else()
  add_custom_target(holdfast-guard)
endif()
