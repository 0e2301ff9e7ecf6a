#pragma once

#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/parker.h"
#include "client/connection_setup.h"
#include "client/reader_election.h"
#include "client/relocation.h"
#include "client/request_queue.h"
#include "client/send_buffer.h"
#include "client/stream_watch.h"
#include "net/loop.h"

namespace holdfast::client {

class Connection;

// What the threads of a Connection share under its lock: the requests in line, the writing half of
// the stream, who reads it, and what the reader is to do. The parts of the connection get it as an
// argument.
class Pipeline {
 public:
  Pipeline(const Clock& time, net::Loop& engine, ConnectionSetup options, Connection& owner);

  using Driver = ConnectionSetup::Driver;
  using Reader = ReaderElection::Reader;

  // The engine's loop makes a step for the connection soon.
  void drive();
  void perform(const ReaderElection::Action& action);

  // Writes what is in line, unless another thread has the turn: then that thread writes it. False:
  // the reader has to go on with it.
  bool flush() HOLDFAST_REQUIRES(mutex) {
    const std::optional<WriteTurn> turn = send.take();
    return !turn || send.flush(*turn, line, mutex);
  }
  void send_or_wake_reader() HOLDFAST_REQUIRES(mutex) {
    if (!flush()) wake_reader();
  }
  void wake_reader() HOLDFAST_REQUIRES(mutex) { perform(election.interrupt()); }
  // Where no thread reads, and there is something to read. `preferred`: see ReaderElection.
  void find_reader(Parker* preferred) HOLDFAST_REQUIRES(mutex) {
    if (relocation.moves()) drive();
    if (!line.empty()) elect_reader(preferred);
  }

  // Whether a request may go out here. `again`: a server has said so.
  bool takes(const Request& request, bool again) const HOLDFAST_REQUIRES(mutex);
  // A reader that awaits replies sends what has gathered when the next ones arrive, all in one
  // piece; one that was called, when it comes.
  bool sends_at_once(const Request& request) const HOLDFAST_REQUIRES(mutex);

  // All replies that are to come may stay unread for a moment: no caller awaits one.
  bool may_stay_unread() const HOLDFAST_REQUIRES(mutex);
  // Whether the engine's loop is to read for callers, as no caller reads.
  bool needs_loop(TimePoint now) HOLDFAST_REQUIRES(mutex);
  // Since when the server has not answered; kNever: it need not.
  TimePoint silent_since() const HOLDFAST_REQUIRES(mutex);

  // Until when a stream is to be made though no request needs it; kNever: none is.
  TimePoint stream_wanted_until() const HOLDFAST_REQUIRES(mutex);

  // The stream is over: what is unanswered is sent again on the next one.
  void forget_stream() HOLDFAST_REQUIRES(mutex);
  // The stream was left meanwhile, for another server or for good: what comes of it answers no
  // request that is left.
  bool given_up() const HOLDFAST_REQUIRES(mutex);

  const Clock& clock;
  const ConnectionSetup setup;

  mutable Mutex mutex;
  RequestQueue line HOLDFAST_GUARDED_BY(mutex);
  SendBuffer send HOLDFAST_GUARDED_BY(mutex);
  ReaderElection election HOLDFAST_GUARDED_BY(mutex);
  Relocation relocation HOLDFAST_GUARDED_BY(mutex);
  StreamWatch watch HOLDFAST_GUARDED_BY(mutex);
  TimePoint last_read HOLDFAST_GUARDED_BY(mutex){};
  // No stream can be made at present, as the last attempt showed.
  bool down HOLDFAST_GUARDED_BY(mutex) = false;
  TimePoint wanted_until HOLDFAST_GUARDED_BY(mutex){};  // a stream, also without a request
  Status closed HOLDFAST_GUARDED_BY(mutex);

 private:
  void elect_reader(Parker* preferred) HOLDFAST_REQUIRES(mutex);
  TimePoint unread_end(TimePoint now) const HOLDFAST_REQUIRES(mutex);

  net::Loop& loop_;
  Connection& owner_;
};

}  // namespace holdfast::client
