#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "locks/lease/attempts.h"
#include "locks/lease/hold_book.h"
#include "locks/lease/note_book.h"
#include "redis/base/mutex.h"
#include "redis/client/request.h"

namespace holdfast::lease {

// The notes of one client, for its operations. A part of its LeaseKeeper. Thread-safe.
class Notes {
 public:
  struct Setup {
    std::string about;  // what the client says of itself
    Millis lease;
    const Renewal* renewal;  // of the key
    Millis command_timeout;
    bool all;  // as of NoteBook
  };

  Notes(HoldBook& book, Attempts& attempts) : book_(book), attempts_(attempts) {}

  static std::string key_of(const std::string& client_id) { return "holdfast:client:" + client_id; }

  // Once, before the first of the others.
  void set_up(Setup setup) { setup_ = std::move(setup); }

  // From now on the client keeps its key. False: it did already.
  bool introduce();

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
  client::RequestPtr say(const Said& said) HOLDFAST_EXCLUDES(book_.mutex);
  // What removes that; not of an owner that holds the name. Null: there is nothing to remove.
  client::RequestPtr remove(const LockName& name, OwnerNumber owner, std::int64_t amount = 1)
      HOLDFAST_EXCLUDES(book_.mutex);

 private:
  client::RequestPtr request(NoteRequest::Notes notes, NoteRequest::What what) const
      HOLDFAST_REQUIRES(book_.mutex);

  HoldBook& book_;
  Attempts& attempts_;
  Setup setup_{};
  std::atomic<bool> introduced_{false};
};

}  // namespace holdfast::lease
