#include "sync/operation/synchronizer.h"

#include <tuple>
#include <utility>

namespace holdfast::sync {

namespace {

// Most synchronizers have these, and need not keep them.
const AcquireOptions& usual_options() {
  static const AcquireOptions usual;
  return usual;
}

auto parts(const Backoff& backoff) {
  const auto& [initial, maximum, multiplier] = backoff;
  return std::tie(initial, maximum, multiplier);
}

bool are_usual(const AcquireOptions& options) {
  const auto& usual = usual_options();
  const auto& [queue_timeout, request_memory, backoff, at_least] = options;
  return std::tie(queue_timeout, request_memory, at_least) ==
             std::tie(usual.queue_timeout, usual.request_memory, usual.at_least) &&
         parts(backoff) == parts(usual.backoff);
}

}  // namespace

Synchronizer::Synchronizer(const Recipe& recipe, LockName name, const AcquireOptions& options)
    : recipe_(recipe),
      name_(std::move(name)),
      options_(are_usual(options) ? nullptr : new AcquireOptions(options)) {}

const AcquireOptions& Synchronizer::options() const {
  return options_ ? *options_ : usual_options();
}

std::string Synchronizer::channel(const Context& with, OwnerNumber owner) const {
  const bool in_line = recipe_.waiting() == Waiting::kInLine;
  return recipe_.channel(name_, in_line ? owner_field(with.client_id, owner) : "").bytes();
}

}  // namespace holdfast::sync
