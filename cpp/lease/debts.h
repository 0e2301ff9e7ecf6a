#pragma once

#include <memory>
#include <unordered_map>

#include "base/types.h"

namespace holdfast::lease {

// A release that nobody waits for, on its way to the server in an owner's name.
class Debt {
 public:
  virtual ~Debt() = default;
  // The owner has asked for something since: it must not be sent, or sent again, behind that. Any
  // thread, with locks held: quick.
  virtual void cancel() = 0;
};

// The debts of a client's owners. Not thread-safe.
class Debts {
 public:
  void add(const LockName& name, OwnerNumber owner, std::shared_ptr<Debt> debt);
  void remove(OwnerNumber owner, const Debt& debt);
  // Cancels, and forgets, those of one name.
  void cancel(const LockName& name, OwnerNumber owner);

 private:
  struct Owed {
    LockName name;
    std::shared_ptr<Debt> debt;
  };
  std::unordered_multimap<OwnerNumber, Owed> all_;
};

}  // namespace holdfast::lease
