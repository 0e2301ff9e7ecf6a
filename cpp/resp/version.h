#pragma once

#include <string>

namespace holdfast::resp {

// The version of hiredis that this is built with: "1.2.0".
std::string hiredis_version();

}  // namespace holdfast::resp
