#include "base/types.h"

#include <atomic>

namespace holdfast {

OwnerNumber next_owner_number() {
  static std::atomic<std::uint64_t> last{0};
  return OwnerNumber{++last};
}

}  // namespace holdfast
