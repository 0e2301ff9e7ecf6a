# Each tests/torture/fuzz/<name>_fuzzer.cpp becomes one libFuzzer executable <name>_fuzzer over the engine,
# which is built to say what an input has reached. They need Clang; `python -m tests.torture.fuzz` builds and
# runs them.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "HOLDFAST_BUILD_FUZZERS needs Clang: libFuzzer is a part of it")
endif()

if(NOT HOLDFAST_UNITY)
  message(FATAL_ERROR "HOLDFAST_BUILD_FUZZERS needs HOLDFAST_UNITY: one library is fuzzed")
endif()
target_compile_options(holdfast_engine PRIVATE -fsanitize=fuzzer-no-link)

set(fuzz_dir "${PROJECT_SOURCE_DIR}/tests/torture/fuzz")
file(GLOB fuzzers CONFIGURE_DEPENDS "${fuzz_dir}/*_fuzzer.cpp")
set(fuzzer_targets)
foreach(source IN LISTS fuzzers)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL "${source}")
  holdfast_own(${name})
  target_include_directories(${name} PRIVATE "${fuzz_dir}" "${PROJECT_SOURCE_DIR}/tests/cpp")
  target_link_libraries(${name} PRIVATE holdfast_engine holdfast::hiredis)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  list(APPEND fuzzer_targets ${name})
endforeach()
add_custom_target(fuzzers DEPENDS ${fuzzer_targets})
