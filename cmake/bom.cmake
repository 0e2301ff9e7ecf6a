# What is compiled into the module, for the wheel's metadata: a CycloneDX bill of materials, and the
# licences. Shared libraries, such as OpenSSL, are added by auditwheel when it copies them in.
if(HOLDFAST_SYSTEM_HIREDIS)
  return()
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/bom.cdx.json.in" "${PROJECT_BINARY_DIR}/holdfast.cdx.json")
install(FILES "${PROJECT_BINARY_DIR}/holdfast.cdx.json"
        DESTINATION "${SKBUILD_METADATA_DIR}/sboms" COMPONENT python)
install(FILES "${hiredis_include}/hiredis/COPYING"
        DESTINATION "${SKBUILD_METADATA_DIR}/licenses/hiredis" COMPONENT python)
file(GLOB pybind11_license "${pybind11_DIR}/../../../../pybind11-*.dist-info/licenses/LICENSE")
install(FILES ${pybind11_license}
        DESTINATION "${SKBUILD_METADATA_DIR}/licenses/pybind11" COMPONENT python)
