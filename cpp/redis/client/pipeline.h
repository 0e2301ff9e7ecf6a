#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/base/status.h"
#include "redis/client/reader_election.h"
#include "redis/client/reconnecting_stream.h"
#include "redis/client/request.h"
#include "redis/client/request_queue.h"
#include "redis/client/send_buffer.h"
#include "redis/net/endpoint.h"
#include "redis/net/pollable.h"
#include "redis/net/transport.h"

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
    // found to be no longer responsible. Any thread, none of the connection's locks held, those of
    // a queue in order. Not OK: it will not be answered.
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
  // Values that were read here have changed (StreamOptions::tracking). As on_lost; after replies
  // that came before.
  std::function<void(const KeyChanges&)> on_changes{};
};

// The orders to leave a server, which any thread gives and the reader of the stream carries out:
// another address, a review of who answers the requests in line, and the end of the server. With
// the connection's lock held.
struct Relocation {
  std::optional<Result<net::Address>> move;
  bool review = false;
  // The server has left its place: all that is in line, and all that comes, goes elsewhere. What
  // sets it sets `review`, too.
  bool decommissioned = false;

  // The reader has an order to carry out.
  bool pending() const { return move || review; }
};

// The stream that the engine's loop watches for its end while another thread reads it. The loop
// uses the descriptor until its next step, so the stream must not close before that. With the
// connection's lock held.
struct StreamWatch {
  using Stream = std::shared_ptr<net::Transport>;

  Stream watched;
  Stream left;  // the one that it has watched before this step

  // Whether the loop uses a descriptor other than the one of `stream`, which a further step frees.
  bool uses_other(const Stream& stream) {
    if (left == stream) left.reset();
    return left != nullptr;
  }
};

// Whether the other end of a stream has closed it.
bool hung_up(const net::Transport& stream);

class Connection;

// The state that the threads of a Connection share under its lock: the requests in line, the
// writing half of the stream, who reads it, and what the reader is to do. The parts of the
// connection get it as an argument.
class Pipeline {
 public:
  Pipeline(const Clock& time, net::Loop& engine, ConnectionSetup options, Connection& connection);

  using Driver = ConnectionSetup::Driver;
  using Reader = ReaderElection::Reader;

  // The engine's loop makes a step for the connection soon.
  void drive();
  void perform(const ReaderElection::Action& action);

  // Writes what is in line, unless another thread has the turn: then that thread writes it. False:
  // the reader has to go on with it.
  bool flush() HOLDFAST_REQUIRES(mutex) {
    if (!line.has_unsent() && send.at_rest()) return true;
    const std::optional<WriteTurn> turn = send.take();
    return !turn || send.flush(*turn, line, mutex);
  }
  void send_or_wake_reader() HOLDFAST_REQUIRES(mutex) {
    if (!flush()) wake_reader();
  }
  void wake_reader() HOLDFAST_REQUIRES(mutex) { perform(election.interrupt()); }
  // Where no thread reads, and there is something to read. `preferred`: see ReaderElection.
  void find_reader(Parker* preferred) HOLDFAST_REQUIRES(mutex);

  // Whether a request may go out here. `again`: a server has said so.
  bool takes(const Request& request, bool again) const HOLDFAST_REQUIRES(mutex) {
    if (!closed.ok()) return true;  // to receive that as its result
    if (relocation.decommissioned) return false;
    return again || owns(request);
  }
  bool owns(const Request& request) const HOLDFAST_REQUIRES(mutex) {
    return !setup.neighbours.mine || setup.neighbours.mine(request);
  }
  // No thread uses the stream, and nothing is to be done but what callers submit.
  bool vacant() const HOLDFAST_REQUIRES(mutex) {
    if (setup.driver != Driver::kCallers || !election.vacant()) return false;
    return closed.ok() && send.healthy() && !relocation.pending() && !doubted;
  }
  // A reader that awaits replies sends what has gathered when the next ones arrive, all in one
  // piece; one that was called, when it comes.
  bool sends_at_once(const Request& request) const HOLDFAST_REQUIRES(mutex);

  // All replies that are to come may stay unread for a moment: no caller awaits one.
  bool may_stay_unread() const HOLDFAST_REQUIRES(mutex);
  // Whether the engine's loop is to read for callers, as no caller reads.
  bool needs_loop(TimePoint now) HOLDFAST_REQUIRES(mutex);
  // Since when the server has not answered; kNever: it need not.
  TimePoint silent_since() const HOLDFAST_REQUIRES(mutex);

  // When the next stream is made, where the server has refused the client, and nothing in line asks
  // yet whether it still does; kNever: as always.
  TimePoint next_login(TimePoint now) const HOLDFAST_REQUIRES(mutex) {
    const bool waits = now < login_at && !send.stream() && line.only_awaits_login();
    return waits ? login_at : kNever;
  }

  // The stream is over: what is unanswered is sent again on the next one.
  void forget_stream() HOLDFAST_REQUIRES(mutex);
  // The stream was left meanwhile, for another server or for good: what comes of it answers no
  // request that is left.
  bool given_up() const HOLDFAST_REQUIRES(mutex);
  // Whether a reader has an order, which it may leave without having looked at: the loop carries it
  // out then.
  bool ordered() const HOLDFAST_REQUIRES(mutex);

  const Clock& clock;
  const ConnectionSetup setup;

  mutable Mutex mutex;
  RequestQueue line HOLDFAST_GUARDED_BY(mutex);
  SendBuffer send HOLDFAST_GUARDED_BY(mutex);
  ReaderElection election HOLDFAST_GUARDED_BY(mutex);
  Relocation relocation HOLDFAST_GUARDED_BY(mutex);
  StreamWatch watch HOLDFAST_GUARDED_BY(mutex);
  TimePoint last_read HOLDFAST_GUARDED_BY(mutex) = {};
  // No stream can be made at present, as the last attempt showed.
  bool down HOLDFAST_GUARDED_BY(mutex) = false;
  TimePoint login_at HOLDFAST_GUARDED_BY(mutex) = {};      // after one that was refused
  TimePoint wanted_until HOLDFAST_GUARDED_BY(mutex) = {};  // a stream, also without a request
  // The server has shown that another may have its place, and has accepted nothing since: replies
  // are looked at by the StreamReader, and may have to wait.
  bool doubted HOLDFAST_GUARDED_BY(mutex) = false;
  Role role HOLDFAST_GUARDED_BY(mutex) = Role::kUnknown;  // what the stream's server said last
  Status closed HOLDFAST_GUARDED_BY(mutex);

 private:
  net::Loop& loop_;
  Connection& connection_;
};

}  // namespace holdfast::client
