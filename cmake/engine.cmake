# Targets holdfast_redis, holdfast_locks and holdfast_guard: the houses but the bindings, and
# holdfast_engine, which is all of them. None sees Python's headers.

# Makes a target one of the project: warnings for its sources, errors with HOLDFAST_WERROR.
function(holdfast_own target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(HOLDFAST_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# The sources of the houses.
function(holdfast_sources list)
  set(found)
  foreach(folder ${ARGN})
    file(GLOB_RECURSE some CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/${folder}/*.cpp")
    list(APPEND found ${some})
  endforeach()
  set(${list} ${found} PARENT_SCOPE)
endfunction()
holdfast_sources(redis_sources redis/base redis/net redis/resp redis/client redis/topology
                 redis/script)
holdfast_sources(recipe_sources locks/base locks/sync/recipes)
holdfast_sources(lock_sources locks/lease locks/wait locks/sync/operation locks/sync/quorum
                 locks/engine)
set(renewal "${PROJECT_SOURCE_DIR}/cpp/locks/lease/renewal.cpp")
list(REMOVE_ITEM lock_sources "${renewal}")
list(APPEND recipe_sources "${renewal}")
holdfast_sources(guard_sources guard)

# cpp/guard/ is for Linux, and has the program's main().
set(futex_portable "${PROJECT_SOURCE_DIR}/cpp/redis/base/futex_portable.cpp")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  list(REMOVE_ITEM redis_sources "${futex_portable}")
  list(REMOVE_ITEM guard_sources "${PROJECT_SOURCE_DIR}/cpp/guard/main.cpp")
else()
  set(guard_sources)
endif()
if(NOT OPENSSL_FOUND)
  list(FILTER redis_sources EXCLUDE REGEX "/cpp/redis/net/tls_")
endif()
set(engine_sources ${redis_sources} ${lock_sources} ${recipe_sources} ${guard_sources})
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
# Where servers are found, what makes and ends clients, what follows a loss, notes, the tools'
# commands, and the guard: compiled quickly rather than to be fast.
holdfast_compile_together(cold redis/topology redis/base/shown redis/client/greeting
                          redis/client/login redis/client/subscription_stream
                          redis/client/unknown_command redis/net/address_memory
                          redis/net/endpoint redis/net/resolver redis/net/tls_transport
                          locks/engine/closing locks/engine/engine
                          locks/engine/guarded locks/engine/reauthentication
                          locks/lease/note_book locks/lease/notes
                          locks/sync/operation/command_operation
                          locks/sync/operation/command_replies
                          locks/sync/operation/replica_acknowledger
                          locks/sync/operation/ticket locks/sync/operation/attach_operation
                          guard/enrolment guard/guard guard/held_page guard/releases guard/settings)
set_source_files_properties(
  "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/holdfast_engine.dir/Unity/unity_cold_cxx.cxx"
  PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Og>")

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

# A static library of a house, or of all.
function(holdfast_library target)
  add_library(${target} STATIC ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  holdfast_own(${target})
  # For --gc-sections: the guard uses a part of the engine only.
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/cpp")
  target_compile_definitions(${target} PUBLIC HOLDFAST_VERSION="${PROJECT_VERSION}")
endfunction()

# What a library with the sources of redis/ needs.
function(holdfast_links_of_redis target)
  target_link_libraries(${target} PRIVATE holdfast::hiredis PUBLIC Threads::Threads)
  if(OPENSSL_FOUND)
    target_compile_definitions(${target} PUBLIC HOLDFAST_HAVE_TLS=1)
    target_link_libraries(${target} PRIVATE OpenSSL::SSL)
  endif()
endfunction()

# What a library with the sources of locks/ needs.
function(holdfast_scripts_for target)
  add_dependencies(${target} lua_scripts)
  target_include_directories(${target} PUBLIC "${generated_dir}")
endfunction()

# Houses are libraries, so that one that uses what it may not does not link. The wheel has them in
# one library, whose parts are compiled together across houses: the pair keeps its inlining.
set(houses holdfast_redis holdfast_recipes holdfast_guard holdfast_locks)
if(HOLDFAST_UNITY)
  holdfast_library(holdfast_engine ${engine_sources})
  set_target_properties(holdfast_engine PROPERTIES UNITY_BUILD ON)
  holdfast_links_of_redis(holdfast_engine)
  holdfast_scripts_for(holdfast_engine)
  # GCC inlines less in a file that it takes for a large one; here as in the files by themselves.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(holdfast_engine PRIVATE "SHELL:--param large-unit-insns=50000")
  endif()
  foreach(house IN LISTS houses)
    add_library(${house} INTERFACE)
    target_link_libraries(${house} INTERFACE holdfast_engine)
  endforeach()
else()
  holdfast_library(holdfast_redis ${redis_sources})
  holdfast_links_of_redis(holdfast_redis)
  # Of the locks, what the guard sends, too.
  holdfast_library(holdfast_recipes ${recipe_sources})
  holdfast_scripts_for(holdfast_recipes)
  target_link_libraries(holdfast_recipes PUBLIC holdfast_redis)
  if(guard_sources)
    holdfast_library(holdfast_guard ${guard_sources})
    target_link_libraries(holdfast_guard PUBLIC holdfast_recipes)
  else()
    add_library(holdfast_guard INTERFACE)
  endif()
  holdfast_library(holdfast_locks ${lock_sources})
  target_link_libraries(holdfast_locks PUBLIC holdfast_guard holdfast_recipes)
  add_library(holdfast_engine INTERFACE)
  target_link_libraries(holdfast_engine INTERFACE holdfast_locks)
endif()

# The program that releases what a program held that has died; beside the module, which starts it.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_executable(holdfast-guard "${PROJECT_SOURCE_DIR}/cpp/guard/main.cpp")
  holdfast_own(holdfast-guard)
  target_link_libraries(holdfast-guard PRIVATE holdfast_guard)
  target_link_options(holdfast-guard PRIVATE -Wl,--gc-sections -Wl,--as-needed)
  install(TARGETS holdfast-guard RUNTIME DESTINATION holdfast COMPONENT python)
else()
  add_custom_target(holdfast-guard)
endif()
