#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "guard/held_page.h"
#include "guard/server.h"
#include "guard/settings.h"

namespace holdfast::guard {

// The servers of one client, each connected when it is first needed. One thread.
class Servers {
 public:
  // With `closes`, the program's connection to a server is closed, by its number in the page, as
  // soon as the guard is connected to it. To be false once a server may have been started again:
  // the number may be of another client's then.
  Servers(const HeldPageView& page, const std::vector<Settings>& known, bool closes);

  // The newest that answers, each within `time`. kUnreachable: none does.
  Result<std::size_t> any(Duration time);
  // The number of the one that servers call so, reached as `like` is.
  std::size_t find(const net::Address& address, std::size_t like);
  const Settings& settings(std::size_t number) const { return all_[number].settings; }

  // Sends commands, and returns that many replies.
  Result<std::vector<resp::Reply>> request(std::size_t number, const std::string& commands,
                                           std::size_t count, TimePoint deadline);

 private:
  struct Known {
    Settings settings;
    std::unique_ptr<Server> connection;  // null: there is none yet, or it failed
  };

  Status connect(Known& known, TimePoint deadline);
  void close_programs(Known& known, TimePoint deadline);

  const HeldPageView& page_;
  const bool closes_;
  std::vector<Known> all_;
};

}  // namespace holdfast::guard
