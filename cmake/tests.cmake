# A house of tests/cpp/ becomes one executable test_<house>, and so does each other folder there with
# a *_test.cpp: these and whatever lies beside them. tests/cpp/support/ is linked into all of them;
# what the tests of redis/ use of it needs nothing of the locks, and these are linked with nothing of
# them.
find_package(GTest REQUIRED)
# The double of the server runs the scripts as Redis does: on Lua 5.1.
find_package(Lua 5.1 EXACT REQUIRED)
include(GoogleTest)

set(cpp_tests_dir "${PROJECT_SOURCE_DIR}/tests/cpp")

# Code of the tests, and what is compiled for them only. UBSan looks at the engine: with it, tests take
# twice as long to compile.
function(holdfast_own_tests target)
  holdfast_own(${target})
  if(HOLDFAST_SANITIZE STREQUAL "address")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

file(GLOB support_sources CONFIGURE_DEPENDS "${cpp_tests_dir}/support/*.cpp")
set(redis_support_sources)
foreach(name echo_server network real_server world)
  list(APPEND redis_support_sources "${cpp_tests_dir}/support/${name}.cpp")
endforeach()
list(REMOVE_ITEM support_sources ${redis_support_sources})

add_library(holdfast_redis_test_support STATIC ${redis_support_sources})
holdfast_own_tests(holdfast_redis_test_support)
target_include_directories(holdfast_redis_test_support PUBLIC "${cpp_tests_dir}")
target_link_libraries(holdfast_redis_test_support PUBLIC holdfast_redis GTest::gtest
                                                         GTest::gtest_main)
add_library(holdfast_test_support STATIC ${support_sources})
holdfast_own_tests(holdfast_test_support)
target_link_libraries(holdfast_test_support PUBLIC holdfast_redis_test_support holdfast_engine
                                            PRIVATE ${LUA_LIBRARIES})
target_include_directories(holdfast_test_support SYSTEM PRIVATE ${LUA_INCLUDE_DIR})

# The engine once more, with points at which a scheduler chooses the thread that goes on: see
# tests/cpp/interleavings/README.md. Compiled a layer at a time: it is not edited by itself.
set(scheduled_sources ${engine_sources})
list(FILTER scheduled_sources EXCLUDE REGEX "/base/futex_")
add_library(holdfast_engine_scheduled OBJECT ${scheduled_sources})
set_target_properties(holdfast_engine_scheduled PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
holdfast_own_tests(holdfast_engine_scheduled)
target_compile_definitions(holdfast_engine_scheduled
                           PUBLIC HOLDFAST_SYNC_POINTS="interleavings/sync_points.h")
target_include_directories(holdfast_engine_scheduled PUBLIC "${cpp_tests_dir}")
target_link_libraries(holdfast_engine_scheduled PUBLIC holdfast_engine PRIVATE holdfast::hiredis)
if(OPENSSL_FOUND)
  target_link_libraries(holdfast_engine_scheduled PRIVATE OpenSSL::SSL)
endif()

# An executable of these sources, and its tests, by name and with the label of its house.
function(holdfast_test name house support)
  add_executable(test_${name} ${ARGN})
  holdfast_own_tests(test_${name})
  target_link_libraries(test_${name} PRIVATE ${support})
  gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES TIMEOUT 300 LABELS ${house})
endfunction()

file(GLOB_RECURSE redis_tests CONFIGURE_DEPENDS "${cpp_tests_dir}/redis/*.cpp")
holdfast_test(redis redis holdfast_redis_test_support ${redis_tests})
add_executable(redis_example "${PROJECT_SOURCE_DIR}/cpp/redis/example.cpp")
holdfast_own(redis_example)
target_link_libraries(redis_example PRIVATE holdfast_redis)
add_dependencies(test_redis redis_example)
target_compile_definitions(test_redis PRIVATE REDIS_EXAMPLE="$<TARGET_FILE:redis_example>")
foreach(folder locks guard simulation interleavings)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${cpp_tests_dir}/${folder}/*.cpp")
  if(folder STREQUAL interleavings)
    # It has the whole engine, so nothing of the usual one is linked.
    list(APPEND sources "${cpp_tests_dir}/support/client.cpp")
    holdfast_test(${folder} locks "holdfast_engine_scheduled;holdfast_test_support" ${sources})
  elseif(folder STREQUAL guard)
    holdfast_test(${folder} guard holdfast_test_support ${sources})
    add_dependencies(test_guard holdfast-guard)
    target_compile_definitions(test_guard PRIVATE HOLDFAST_GUARD="$<TARGET_FILE:holdfast-guard>")
  else()
    holdfast_test(${folder} locks holdfast_test_support ${sources})
  endif()
endforeach()

# What sleeps, once more over the futex of systems that have none, which comes before the engine's.
# In an engine that is compiled together, that is no file to be left out.
if(NOT HOLDFAST_UNITY)
  foreach(folder redis/base locks/engine)
    get_filename_component(name "${folder}" NAME)
    get_filename_component(house "${folder}" DIRECTORY)
    file(GLOB sources CONFIGURE_DEPENDS "${cpp_tests_dir}/${folder}/*.cpp")
    holdfast_test(${name}_portable ${house} holdfast_test_support ${sources} "${futex_portable}")
  endforeach()
endif()
