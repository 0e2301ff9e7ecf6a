# Module holdfast._core: the engine behind pybind11, with no symbol to be seen but its entry.
if(NOT DEFINED SKBUILD)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 3.0.2 CONFIG REQUIRED)
# pip has pybind11 in another folder for each build. A copy at one place, whose files change with
# their content only, keeps what was compiled.
set(pybind11_copy "${PROJECT_BINARY_DIR}/pybind11-${pybind11_VERSION}")
file(GLOB_RECURSE pybind11_headers RELATIVE "${pybind11_INCLUDE_DIR}" "${pybind11_INCLUDE_DIR}/*.h")
foreach(header IN LISTS pybind11_headers)
  configure_file("${pybind11_INCLUDE_DIR}/${header}" "${pybind11_copy}/${header}" COPYONLY)
endforeach()
set_target_properties(pybind11::pybind11_headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${pybind11_copy}" INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "")

file(GLOB binding_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/bindings/*.cpp")
pybind11_add_module(_core MODULE NO_EXTRAS ${binding_sources})
set_target_properties(_core PROPERTIES UNITY_BUILD ${HOLDFAST_UNITY} UNITY_BUILD_MODE GROUP)
set_source_files_properties(${binding_sources} PROPERTIES UNITY_GROUP calls)
# What an import runs, and what makes clients: compiled quickly rather than to be fast.
file(GLOB once_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/bindings/register_*.cpp")
foreach(part module observer passwords)
  list(APPEND once_sources "${PROJECT_SOURCE_DIR}/cpp/bindings/${part}.cpp")
endforeach()
set_source_files_properties(${once_sources} PROPERTIES UNITY_GROUP once)
set_source_files_properties("${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/_core.dir/Unity/unity_once_cxx.cxx"
                            PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Og>")
holdfast_own(_core)
target_link_libraries(_core PRIVATE holdfast_engine)
if(APPLE)
  target_link_options(_core PRIVATE -Wl,-dead_strip)
else()
  set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
  target_link_options(_core PRIVATE "-Wl,--version-script=${exports}" -Wl,--gc-sections)
  set_target_properties(_core PROPERTIES LINK_DEPENDS "${exports}")
endif()
install(TARGETS _core LIBRARY DESTINATION holdfast COMPONENT python)
if(DEFINED SKBUILD)
  install(FILES "${PROJECT_SOURCE_DIR}/docs/man/holdfast.1"
          DESTINATION "${SKBUILD_DATA_DIR}/share/man/man1" COMPONENT python)
  include("${PROJECT_SOURCE_DIR}/cmake/bom.cmake")
endif()
