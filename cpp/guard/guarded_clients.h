#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "guard/held_page.h"
#include "net/descriptor.h"

namespace holdfast::guard {

// The clients of the guarded program, as their messages say. The guard's side; one thread.
class GuardedClients {
 public:
  explicit GuardedClients(int socket) : socket_(socket) {}

  // Reads one message, if there is one. kEnd: there will be no more: the program has ended, or has
  // called exec().
  enum class Read { kOne, kNone, kEnd };
  Read read();

  // Whether nothing is left to wait for while the program lives: all of its clients have been
  // closed; or, after kEnd, all leases in the pages are over.
  bool done() const;

  // Releases what the program held that has ended; of each client by a process, so that a server
  // that does not answer delays no other client's.
  void release_all();

 private:
  Status join(const std::string& client, const net::Descriptor& page);
  void answer(const Status& status) const;

  const int socket_;
  bool joined_ = false;
  bool at_end_ = false;
  std::map<std::string, HeldPageView> pages_;  // by the client's number
};

}  // namespace holdfast::guard
