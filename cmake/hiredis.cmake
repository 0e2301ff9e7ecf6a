# Target holdfast::hiredis: the C client's reader.
#
# No C source of it lies in this repository: the source distribution of the Python package hiredis
# carries the newest C release, so pip fetches that one, pinned by version and hash, with the
# index, mirror, proxy and cache that pip is set up for. It stays in the build directory.
set(HOLDFAST_HIREDIS_ARCHIVE "" CACHE FILEPATH
    "The source distribution of the Python package hiredis, where pip cannot fetch it")
set(hiredis_package 3.5.0)
set(hiredis_sha256 c227592cc56b7df247abe4755c26723965be68972be2149fa441ac33d82131ba)
set(hiredis_archive_name hiredis-${hiredis_package}.tar.gz)

# Sets `found_var` to whether `archive` is there and is what we pinned.
function(holdfast_is_pinned archive found_var)
  set(${found_var} FALSE PARENT_SCOPE)
  if(EXISTS "${archive}")
    file(SHA256 "${archive}" found_sha256)
    if(found_sha256 STREQUAL hiredis_sha256)
      set(${found_var} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Puts the source distribution into `dir`.
function(holdfast_fetch_hiredis dir)
  message(STATUS "Fetching the sources of hiredis ${hiredis_package} with pip")
  file(WRITE "${dir}/requirements.txt"
       "hiredis==${hiredis_package} --hash=sha256:${hiredis_sha256}\n")
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m pip download --quiet --no-deps --no-binary hiredis
            --require-hashes --requirement "${dir}/requirements.txt" --dest "${dir}"
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR
      "pip could not fetch hiredis ${hiredis_package} (see above). Where there is no package "
      "index, name its source distribution, ${hiredis_archive_name}, in HOLDFAST_HIREDIS_ARCHIVE, "
      "or build with HOLDFAST_SYSTEM_HIREDIS=ON against an installed hiredis (>= 1.2).")
  endif()
endfunction()

if(HOLDFAST_SYSTEM_HIREDIS)
  find_package(hiredis 1.2 CONFIG REQUIRED)
  add_library(holdfast::hiredis ALIAS hiredis::hiredis)
  return()
endif()

set(hiredis_dir "${PROJECT_BINARY_DIR}/hiredis")
set(hiredis_archive "${HOLDFAST_HIREDIS_ARCHIVE}")
if(NOT hiredis_archive)
  set(hiredis_archive "${hiredis_dir}/${hiredis_archive_name}")
  holdfast_is_pinned("${hiredis_archive}" fetched_before)
  if(NOT fetched_before)
    holdfast_fetch_hiredis("${hiredis_dir}")
  endif()
endif()
holdfast_is_pinned("${hiredis_archive}" is_pinned)
if(NOT is_pinned)
  message(FATAL_ERROR "${hiredis_archive} is not hiredis ${hiredis_package}: its SHA-256 has to be "
                      "${hiredis_sha256}")
endif()

set(hiredis_include "${hiredis_dir}/hiredis-${hiredis_package}/vendor")
if(NOT EXISTS "${hiredis_include}/hiredis/read.c")
  file(ARCHIVE_EXTRACT INPUT "${hiredis_archive}" DESTINATION "${hiredis_dir}"
       PATTERNS "hiredis-*/vendor/hiredis/*")
endif()

# hiredis.c (the objects of replies) names functions of net.c, async.c and sockcompat.c; the linker drops
# what is not reached.
set(hiredis_sources alloc async hiredis net read sds sockcompat)
list(TRANSFORM hiredis_sources PREPEND "${hiredis_include}/hiredis/")
list(TRANSFORM hiredis_sources APPEND ".c")
add_library(holdfast_hiredis STATIC ${hiredis_sources})
add_library(holdfast::hiredis ALIAS holdfast_hiredis)
target_include_directories(holdfast_hiredis SYSTEM PUBLIC "${hiredis_include}")
# Its own parser of decimal fractions takes 50 KB; the engine sends no command that is answered
# by one.
target_compile_definitions(holdfast_hiredis PRIVATE HIREDIS_FLOAT_STRTOD)
target_compile_options(holdfast_hiredis PRIVATE -w -ffunction-sections -fdata-sections)
set_target_properties(holdfast_hiredis PROPERTIES C_EXTENSIONS OFF)
