#pragma once

#include <functional>
#include <string_view>

#include "base/status.h"
#include "client/reconnecting_stream.h"
#include "client/request.h"
#include "client/request_queue.h"

namespace holdfast::client {

// How a Connection reaches its server, and what it asks of its surroundings.
struct ConnectionSetup {
  enum class Driver { kCallers, kLoop };

  // What a connection asks where its server is one of several, and what that one answers for may
  // change.
  struct Neighbours {
    // May a request that was just submitted go out here? Called with the connection's lock held: it
    // must be quick and take no lock.
    std::function<bool(const Request&)> mine;
    // Takes over a request that may not, or that stood in line (`queued`) when this server was
    // found to be no longer responsible. Any thread, no locks held, those of a queue in order. Not
    // OK: it will not be answered.
    std::function<Status(InFlightRequest, bool queued)> hand_over;
  };

  // Called with each error reply, on any thread, with no locks held: true when the request is to be
  // answered by another server, or later, and has been taken over for that (see
  // Connection::resubmit()).
  using Redirect = std::function<bool(const InFlightRequest&, std::string_view error)>;

  StreamOptions link;
  Driver driver = Driver::kCallers;
  std::function<void()> on_lost;  // a stream that had been ready broke; any thread, no locks held
  Redirect redirect{};            // without one every reply goes to its request
  // An attempt to connect failed, or a stream did: is the address still right? As on_lost.
  std::function<void()> on_failed{};
  ReconnectingStream::Open open{};  // tests: how to open a stream
  Neighbours neighbours{};          // empty: there are none
  // What was read here has changed (StreamOptions::tracking). As on_lost; after the replies that
  // came before.
  std::function<void(const Changes&)> on_changes{};
};

}  // namespace holdfast::client
