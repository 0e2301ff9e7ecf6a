# Each folder of tests/cpp/ with a *_test.cpp becomes one executable test_<its name>: these and
# whatever lies beside them. tests/cpp/support/ is linked into all of them.
find_package(GTest REQUIRED)
# The double of the server runs the scripts as Redis does: on Lua 5.1.
find_package(Lua 5.1 EXACT REQUIRED)
include(GoogleTest)

set(cpp_tests_dir "${PROJECT_SOURCE_DIR}/tests/cpp")
file(GLOB support_sources CONFIGURE_DEPENDS "${cpp_tests_dir}/support/*.cpp")
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "${cpp_tests_dir}/*_test.cpp")

add_library(holdfast_test_support INTERFACE)
if(support_sources)
  add_library(holdfast_test_support_objects STATIC ${support_sources})
  holdfast_own(holdfast_test_support_objects)
  target_include_directories(holdfast_test_support_objects PUBLIC "${cpp_tests_dir}")
  target_link_libraries(holdfast_test_support_objects PUBLIC holdfast_engine GTest::gtest
                                                      PRIVATE ${LUA_LIBRARIES})
  target_include_directories(holdfast_test_support_objects SYSTEM PRIVATE ${LUA_INCLUDE_DIR})
  target_link_libraries(holdfast_test_support INTERFACE holdfast_test_support_objects)
endif()
target_include_directories(holdfast_test_support INTERFACE "${cpp_tests_dir}")
target_link_libraries(holdfast_test_support
                      INTERFACE holdfast_engine GTest::gtest GTest::gtest_main)

set(test_folders)
foreach(source IN LISTS test_sources)
  get_filename_component(folder "${source}" DIRECTORY)
  list(APPEND test_folders "${folder}")
endforeach()
list(REMOVE_DUPLICATES test_folders)

# The engine once more, with points at which a scheduler chooses the thread that goes on: see
# tests/cpp/interleavings/README.md. Compiled a layer at a time: it is not edited by itself.
set(scheduled_sources ${engine_sources})
list(FILTER scheduled_sources EXCLUDE REGEX "/base/futex_")
add_library(holdfast_engine_scheduled OBJECT ${scheduled_sources})
set_target_properties(holdfast_engine_scheduled PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
holdfast_own(holdfast_engine_scheduled)
target_compile_definitions(holdfast_engine_scheduled
                           PUBLIC HOLDFAST_SYNC_POINTS="interleavings/sync_points.h")
target_include_directories(holdfast_engine_scheduled PUBLIC "${cpp_tests_dir}")
target_link_libraries(holdfast_engine_scheduled PUBLIC holdfast_engine PRIVATE holdfast::hiredis)
if(OPENSSL_FOUND)
  target_link_libraries(holdfast_engine_scheduled PRIVATE OpenSSL::SSL)
endif()

# UBSan looks at an object's virtual table through a pipe, to see whether the memory can be read. A
# process without free descriptors has none, and every object seems to be of another type.
if(HOLDFAST_SANITIZE STREQUAL "address")
  set_source_files_properties("${cpp_tests_dir}/redis/client/poll_for_test.cpp"
                              PROPERTIES COMPILE_OPTIONS -fno-sanitize=vptr)
endif()

foreach(folder IN LISTS test_folders)
  get_filename_component(name "${folder}" NAME)
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  add_executable(test_${name} ${sources})
  holdfast_own(test_${name})
  if(name STREQUAL interleavings)
    # It has the whole engine, so nothing of the usual one is linked.
    target_sources(test_${name} PRIVATE "${cpp_tests_dir}/support/client.cpp")
    target_link_libraries(test_${name} PRIVATE holdfast_engine_scheduled)
  endif()
  if(name STREQUAL guard)
    add_dependencies(test_${name} holdfast-guard)
    target_compile_definitions(test_${name}
                               PRIVATE HOLDFAST_GUARD="$<TARGET_FILE:holdfast-guard>")
  endif()
  target_link_libraries(test_${name} PRIVATE holdfast_test_support)
  gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT 300)
endforeach()

# What sleeps, once more over the futex of systems that have none, which comes before the engine's.
# In an engine that is compiled together, that is no file to be left out.
if(NOT HOLDFAST_UNITY)
  foreach(folder redis/base locks/engine)
    get_filename_component(name "${folder}" NAME)
    file(GLOB sources CONFIGURE_DEPENDS "${cpp_tests_dir}/${folder}/*.cpp")
    add_executable(test_${name}_portable ${sources} "${futex_portable}")
    holdfast_own(test_${name}_portable)
    target_link_libraries(test_${name}_portable PRIVATE holdfast_test_support)
    gtest_discover_tests(test_${name}_portable TEST_PREFIX "${name}_portable."
                         DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
  endforeach()
endif()
