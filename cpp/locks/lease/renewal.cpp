#include "locks/lease/renewal.h"

namespace holdfast::lease {

std::vector<std::int64_t> Renewal::renewed(const resp::Reply& reply, std::size_t holds) const {
  std::vector<std::int64_t> all(holds, 1);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const auto place = static_cast<std::size_t>(reply.integer_at(i)) - 1;
    if (place < holds) all[place] = 0;
  }
  return all;
}

}  // namespace holdfast::lease
