#pragma once

#include <memory>
#include <unordered_map>

#include "base/types.h"
#include "client/request.h"

namespace holdfast::lease {

// A release without a waiting caller, on its way to the server in an owner's name.
class Debt : public client::Request {
 public:
  // The owner has asked for something since: it must not be sent, or sent again, behind that. True:
  // it still stands in front of that, and stays there. Any thread, with locks held: quick.
  virtual bool cancel() = 0;
};

// The debts of a client's owners, until they are answered. Not thread-safe.
class Debts {
 public:
  // To be called before `debt` is sent. One that `covers` takes back all that those before it would
  // which did: they are abandoned, and it is tried for as long as they were. So a server that is
  // away for long finds one for each owner, and not one for each attempt.
  void add(const LockName& name, OwnerNumber owner, std::shared_ptr<Debt> debt, bool covers);
  void remove(OwnerNumber owner, const Debt& debt);
  // Cancels those of one name. False: there are none.
  bool cancel(const LockName& name, OwnerNumber owner);

 private:
  struct Owed {
    LockName name;
    std::shared_ptr<Debt> debt;
    bool covers;
  };
  std::unordered_multimap<OwnerNumber, Owed> all_;
};

}  // namespace holdfast::lease
