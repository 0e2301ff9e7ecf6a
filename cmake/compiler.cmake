# Ends the configuration in one line where there is no C++ compiler: CMake's own error does not name
# what to install.
find_program(HOLDFAST_COMPILER NAMES $ENV{CXX} c++ g++ clang++)
mark_as_advanced(HOLDFAST_COMPILER)
if(HOLDFAST_COMPILER OR CMAKE_CXX_COMPILER)
  return()
endif()

set(install "install one")
foreach(line "apt-get install g++ libssl-dev" "dnf install gcc-c++ openssl-devel"
        "apk add g++ openssl-dev" "pacman -S gcc openssl" "zypper install gcc-c++ libopenssl-devel"
        "xcode-select --install")
  string(REGEX MATCH "^[^ ]+" manager "${line}")
  find_program(HOLDFAST_MANAGER NAMES "${manager}")
  if(HOLDFAST_MANAGER)
    set(install "${line}")
    break()
  endif()
  unset(HOLDFAST_MANAGER CACHE)
endforeach()
# A text that begins with a space stays on one line.
message(FATAL_ERROR " no C++17 compiler was found, and holdfast is compiled here: ${install}; then "
                    "run pip again")
