#pragma once

#include <string>
#include <vector>

#include "locks/lease/keeper.h"

// What looks at many holds of a client at once: for figures and errors, for a lock that is removed
// by force, and when an owner ends. Each holds the keeper's lock meanwhile.
namespace holdfast::lease {

// The owners of this client that hold it, or ended while they held it and left it to its lease.
std::vector<Holder> holders(const Keeper& keeper, const LockName& name);

struct Held {
  LockName name;
  OwnerNumber owner;
  const Renewal* renewal;
  bool internal;  // the client's key
};
std::vector<Held> all_held(const Keeper& keeper);

// Whether any owner acquires anything, of what is counted.
bool acquiring(const Keeper& keeper);

// The owner is about to remove the lock by force: a loss of its holds of the name that is found
// from now on, as by a message before the command's reply, refuses no acquire. Without `excused`
// takes that back, as the command has removed nothing.
void excuse(Keeper& keeper, const LockName& name, OwnerNumber by, bool excused);
// This client has removed the lock by force, by a command sent at `sent`: its owners of this
// client, on any side, have lost it; not one whose grant was requested later, as by a waiter that
// the command woke before its reply was judged.
void forced(Keeper& keeper, const LockName& name, TimePoint sent);

// The owner has ended, `what` says which kind of it ("thread", "task"): its holds are left to
// expire, each with an event.
void owner_ended(Keeper& keeper, OwnerNumber owner, const std::string& what = "owner");

}  // namespace holdfast::lease
