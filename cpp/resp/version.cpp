#include "resp/version.h"

#include <hiredis/hiredis.h>

namespace holdfast::resp {

std::string hiredis_version() {
  return std::to_string(HIREDIS_MAJOR) + '.' + std::to_string(HIREDIS_MINOR) + '.' +
         std::to_string(HIREDIS_PATCH);
}

}  // namespace holdfast::resp
