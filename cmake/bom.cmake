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

# auditwheel copies OpenSSL in, but not its licence: the text of the system that it comes from, or,
# where the system keeps none, the one of all OpenSSL 3.
file(GLOB openssl_license "/usr/share/licenses/openssl-libs/LICENSE*"
     "/usr/share/licenses/openssl/LICENSE*")
if(NOT openssl_license AND OPENSSL_VERSION VERSION_GREATER_EQUAL 3)
  set(openssl_license "${PROJECT_SOURCE_DIR}/cmake/licenses/Apache-2.0.txt")
endif()
if(OPENSSL_FOUND AND openssl_license)
  list(GET openssl_license 0 openssl_license)
  install(FILES "${openssl_license}" RENAME LICENSE
          DESTINATION "${SKBUILD_METADATA_DIR}/licenses/openssl" COMPONENT python)
endif()
