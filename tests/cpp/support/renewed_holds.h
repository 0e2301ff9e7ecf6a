#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/commands.h"

namespace holdfast::simulation {

// One of the holds that a batch of renewals is about, as the engine writes it: its keys, and the
// owner's field or permit.
struct RenewedHold {
  std::vector<std::string> keys;
  std::string owner;
};

inline bool renews_batch(std::string_view script) {
  constexpr std::string_view kEnd = "renew";
  return script.size() >= kEnd.size() && script.substr(script.size() - kEnd.size()) == kEnd;
}

// `command`: EVAL's words, of a script that renews_batch().
inline std::vector<RenewedHold> renewed_holds(const Words& command) {
  const std::size_t keys = std::stoul(command[2]);
  const std::size_t lease = 3 + keys;
  std::vector<RenewedHold> holds;
  const std::size_t count = command.size() - lease - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = command.begin() + static_cast<std::ptrdiff_t>(3 + i * (keys / count));
    const auto end = first + static_cast<std::ptrdiff_t>(keys / count);
    holds.push_back({{first, end}, command[lease + 1 + i]});
  }
  return holds;
}

}  // namespace holdfast::simulation
