#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "guard/held_page.h"
#include "guard/settings.h"
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

  // Releases what the program held that has ended; each client's servers by a process, so that one
  // that does not answer delays no other.
  void release_all();

 private:
  struct Client {
    HeldPageView page;
    std::vector<Settings> servers;  // the newest last
    std::vector<Settings> sentinels{};
  };

  Status judge(const std::string& bytes, const net::Descriptor& page, bool& joins);
  Status join(const std::string& client, const net::Descriptor& page);
  void connected(const std::string& client, Settings server);
  void answer(const Status& status) const;

  const int socket_;
  bool joined_ = false;
  bool at_end_ = false;
  std::map<std::string, Client> clients_;
};

}  // namespace holdfast::guard
