#pragma once

#include <memory>
#include <string>

#include "engine/client.h"
#include "sync/operation.h"
#include "sync/recipe.h"

namespace holdfast::engine {

// A lock of a client, under one name: a maker of operations, each to be awaited by a thread or an
// event loop. It holds no state of its own: holds belong to owners.
class Lock {
 public:
  struct Attempt {
    OwnerNumber owner;
    Lease lease;
    bool blocking = true;
    Duration timeout = kNever - TimePoint{};
    std::uint64_t listener = 0;
  };
  // What one lock object differs in from others of its kind.
  struct Options {
    Side side = Side::kWhole;
    sync::Terms terms{};
  };
  using OperationPtr = std::shared_ptr<sync::Operation>;

  Lock(std::shared_ptr<Client> client, const sync::Recipe& recipe, const std::string& name,
       const Options& options = {Side::kWhole, {}});

  const LockName& name() const { return name_; }

  OperationPtr acquire(const Attempt& attempt) const;
  OperationPtr release(OwnerNumber owner, bool all) const;
  OperationPtr extend(OwnerNumber owner, Millis lease) const;  // 1, or 0: not held
  OperationPtr force_release() const;                          // 1, or 0: nobody held it
  OperationPtr locked() const;                                 // 1, or 0
  OperationPtr hold_count(OwnerNumber owner) const;
  OperationPtr ttl() const;  // ms; -1: without limit; -2: nobody holds it

  // By what the client knows, without asking the server.
  int known_count(OwnerNumber owner) const;
  int known_reads(OwnerNumber owner) const;  // of the read side of this name
  bool known_lost(OwnerNumber owner) const;
  std::optional<Duration> known_left(OwnerNumber owner) const;
  std::optional<std::int64_t> known_token(OwnerNumber owner) const;

 private:
  const std::shared_ptr<Client> client_;
  const sync::Recipe& recipe_;
  const LockName name_;
  const sync::Terms terms_;
};

}  // namespace holdfast::engine
