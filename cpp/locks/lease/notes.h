#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "locks/lease/note_book.h"
#include "redis/client/request.h"

namespace holdfast::lease {

class Keeper;

// The notes of one client, for its operations. A part of its Keeper. Thread-safe.
class Notes {
 public:
  struct Setup {
    std::string about;  // what the client says of itself
    Millis lease;
    const Renewal* renewal;  // renews the key
    Millis command_timeout;
    bool all;  // as of NoteBook
  };

  explicit Notes(Keeper& keeper) : keeper_(keeper) {}

  static std::string key_of(const std::string& client_id) { return "holdfast:client:" + client_id; }

  // Once, before the first of the others.
  void set_up(Setup setup) { setup_ = std::move(setup); }

  // From now on the client keeps its key, as a hold of the client: never acquired, lost, counted or
  // reported. Its renewals make it, the first one at once. False: it did already.
  bool keep_client_key();

  // What says in the key for what an owner acquires the name, or has acquired it; the first time it
  // begins the key. `amount`: as of Grant. Null: the client is closed.
  struct Said {
    const LockName& name;
    OwnerNumber owner;
    Purpose purpose;
    Millis lease;
    std::int64_t amount = 1;
    bool granted = false;  // just now, after it had waited
  };
  client::RequestPtr say(const Said& said);
  // The command that removes it; not of an owner that holds the name. Null: nothing is to be
  // removed.
  client::RequestPtr remove(const LockName& name, OwnerNumber owner, std::int64_t amount = 1);

 private:
  Keeper& keeper_;
  Setup setup_{};
  std::atomic<bool> keeps_client_key_{false};
};

}  // namespace holdfast::lease
