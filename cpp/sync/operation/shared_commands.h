#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "base/ref.h"
#include "base/types.h"
#include "sync/operation/command_template.h"

namespace holdfast::sync {

class Recipe;

// The first attempt of an owner who holds nothing, and its last release, in the form that a recipe
// writes for some names.
class Commands {
 public:
  Commands(CommandTemplate first, CommandTemplate last, Millis lease, std::string publish)
      : acquire(std::move(first)),
        release(std::move(last)),
        lease_(lease),
        publish_(std::move(publish)) {}

  bool fit(std::string_view publish) const { return publish_ == publish; }
  bool fit(std::string_view publish, Millis lease) const { return lease_ == lease && fit(publish); }

  const CommandTemplate acquire;
  const CommandTemplate release;

 private:
  friend class SharedCommands;
  friend void add_reference(const Commands& commands) { commands.references_.add(); }
  friend void drop_reference(const Commands& commands) {
    if (commands.references_.drop()) delete &commands;
  }

  const Millis lease_;
  const std::string publish_;  // by which the release publishes
  mutable ReferenceCount references_;
};
using CommandsPtr = Ref<const Commands>;

// Those of one client, of which the lock objects of one kind share a few: of each length of their
// names. What no lock object has any more is forgotten as others come. Thread-safe.
class SharedCommands {
 public:
  // These, or the same ones that are there already.
  CommandsPtr share(const Recipe& recipe, CommandsPtr made) HOLDFAST_EXCLUDES(mutex_);
  std::size_t size() const HOLDFAST_EXCLUDES(mutex_);

 private:
  void forget_unused() HOLDFAST_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<std::string, CommandsPtr> all_ HOLDFAST_GUARDED_BY(mutex_);
  std::size_t most_ HOLDFAST_GUARDED_BY(mutex_) = 16;  // before it looks for unused ones
};

}  // namespace holdfast::sync
