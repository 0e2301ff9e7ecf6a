#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "locks/sync/operation/context.h"
#include "locks/sync/recipes/recipe.h"

namespace holdfast::sync {

// A synchronizer under one name: its kind and its options. Of the server's state it knows only what
// refused it last, as holds belong to owners. Thread-safe; the calls, operations and requests of a
// name share one.
class Synchronizer {
 public:
  Synchronizer(const Recipe& its_recipe, LockName its_name, const AcquireOptions& its_options = {})
      : recipe(its_recipe), name(std::move(its_name)), options(its_options) {}

  // The channel of its releases; where the server keeps the queue (Waiting::kInLine), each owner
  // has another one, and this is the one of no owner.
  std::string channel() const { return recipe.channel(name, {}); }
  // The one whose messages wake `owner`.
  std::string channel(const Context& with, OwnerNumber owner) const {
    const bool in_line = recipe.traits.waiting == Waiting::kInLine;
    return recipe.channel(name, in_line ? owner_field(with.client_id, owner) : "");
  }

  // Whether no waiter of this client, of `owner` in line, is or should be ahead of a newcomer.
  bool idle(const Context& with, OwnerNumber owner, TimePoint now) const {
    return with.waits->idle() || with.waits->idle(channel(with, owner), now);
  }
  // Whether a release of `owner` has a waiter of this client to hand over to, or to expect for.
  bool has_waiters(const Context& with, OwnerNumber owner) const {
    return !with.waits->idle() && with.waits->has_waiters(channel(with, owner));
  }

  const Recipe& recipe;
  const LockName name;
  const AcquireOptions options;
  // For the texts of errors and warnings; written by acquisitions that have to wait or are refused:
  // the owner whose first attempt was the last of these, 0: there was none; and whether the last
  // refusal was `foreign`, as of Answer.
  mutable std::atomic<OwnerNumber> waiter{OwnerNumber(0)};
  mutable std::atomic<bool> foreign{false};
};
using SynchronizerPtr = std::shared_ptr<const Synchronizer>;

}  // namespace holdfast::sync
