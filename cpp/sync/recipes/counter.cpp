#include "sync/recipes/counter.h"

#include <algorithm>

namespace holdfast::sync {

const CounterStep* CounterKind::find(std::string_view step) const {
  const auto is_it = [step](const CounterStep& each) { return each.word == step; };
  const auto found = std::find_if(steps.begin(), steps.end(), is_it);
  return found == steps.end() ? nullptr : &*found;
}

}  // namespace holdfast::sync
