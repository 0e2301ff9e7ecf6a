# Target holdfast_engine: every layer but the bindings. It never sees Python's headers.

# Makes a target one of the project: warnings for its sources, errors with HOLDFAST_WERROR.
function(holdfast_own target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(HOLDFAST_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

set(engine_sources)
foreach(layer base net resp client topology script lease wait sync engine)
  file(GLOB_RECURSE layer_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/${layer}/*.cpp")
  list(APPEND engine_sources ${layer_sources})
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
add_dependencies(holdfast_engine lua_scripts)
holdfast_own(holdfast_engine)
target_include_directories(holdfast_engine PUBLIC "${PROJECT_SOURCE_DIR}/cpp" "${generated_dir}")
target_compile_definitions(holdfast_engine PUBLIC HOLDFAST_VERSION="${PROJECT_VERSION}")
target_link_libraries(holdfast_engine PRIVATE holdfast::hiredis PUBLIC Threads::Threads)
if(OPENSSL_FOUND)
  target_compile_definitions(holdfast_engine PUBLIC HOLDFAST_HAVE_TLS=1)
  target_link_libraries(holdfast_engine PRIVATE OpenSSL::SSL)
endif()
