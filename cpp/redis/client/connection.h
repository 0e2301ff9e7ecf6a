#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "redis/base/mutex.h"
#include "redis/client/event_loop_reader.h"
#include "redis/client/login.h"
#include "redis/client/pipeline.h"
#include "redis/client/reader_election.h"
#include "redis/client/stream_reader.h"
#include "redis/net/pollable.h"

namespace holdfast::client {

// The right by which an EventLoopReader reads a Connection of Driver::kLoop, and the supervision of
// that loop by the engine's loop, which reclaims it when there is more to do than to read
// replies, when another EventLoopReader uses the connection, and when the reader has stalled. With
// the connection's lock held.
class ReadRight {
 public:
  // Whether `loop` has the right.
  bool is_of(const EventLoopReader& loop) const { return loop_.get() == &loop; }

  // No EventLoopReader has the right: the one in whose Scope the calling thread is gets it, if
  // nothing is against it.
  void offer(Pipeline& pipe, StreamReader& reader, Connection& connection)
      HOLDFAST_REQUIRES(pipe.mutex);
  // A request joins the line of a stream that it reads.
  void add(Pipeline& pipe, InFlightRequest unanswered) HOLDFAST_REQUIRES(pipe.mutex);
  // The EventLoopReader is about to read: false if the engine's loop has to, which gets the right
  // back.
  bool begin_turn(Pipeline& pipe, const Connection& connection) HOLDFAST_REQUIRES(pipe.mutex) {
    ++turns_;
    if (!needs_engine(pipe)) return true;
    reclaim(pipe, connection);
    return false;
  }
  void end_turn(Pipeline& pipe, const Connection& connection, const net::Interest& next)
      HOLDFAST_REQUIRES(pipe.mutex) {
    if (needs_engine(pipe) || next.until == TimePoint{}) reclaim(pipe, connection);
  }
  void reclaim(Pipeline& pipe, const Connection& connection) HOLDFAST_REQUIRES(pipe.mutex);

  // In a step of the engine's loop: whether it has to reclaim the right; what it watches otherwise.
  bool must_end(const Pipeline& pipe, const StreamReader& reader, TimePoint now)
      HOLDFAST_REQUIRES(pipe.mutex);
  net::Interest supervise(Pipeline& pipe, const StreamReader& reader, TimePoint now)
      HOLDFAST_REQUIRES(pipe.mutex);
  // The engine's loop reads in this step.
  void begin_step(Pipeline& pipe, const Connection& connection) HOLDFAST_REQUIRES(pipe.mutex);

 private:
  // There is more to do than to read replies.
  bool needs_engine(const Pipeline& pipe) const HOLDFAST_REQUIRES(pipe.mutex) {
    const Relocation& relocation = pipe.relocation;
    if (relocation.pending() || relocation.decommissioned || recalled_ || !pipe.closed.ok())
      return true;
    if (pipe.doubted) return true;
    return !pipe.send.stream() || pipe.send.blocked() || pipe.send.failed();
  }
  static TimePoint late(const Pipeline& pipe) HOLDFAST_REQUIRES(pipe.mutex);

  std::shared_ptr<EventLoopReader> loop_;  // that has the right; null: none
  bool recalled_ = false;     // until the engine's loop reads, no EventLoopReader gets it
  TimePoint shared_until_{};  // nor until then: two of them used the connection
  bool supervised_ = false;   // the engine's loop looks at look_at_ whether turns_ has grown
  TimePoint look_at_{};
  std::uint64_t turns_ = 0;
  std::uint64_t turns_seen_ = 0;
};

// A pipelined connection to one server that many threads share. Requests are answered in order;
// those not answered when the stream breaks are sent again, in order, on the next one (so every
// command must be safe to repeat), until their deadline.
//
// One thread reads, by a ReadTurn. With Driver::kCallers it is one of the threads that wait in
// serve() (a single caller does its own I/O without any hand-over); if there is work but no thread
// waits, it is the engine's loop, which otherwise only watches for the end of the stream. With
// Driver::kLoop it is the loop, or an EventLoopReader. One thread at a time writes, by a WriteTurn:
// with kCallers submit() sends at once, together with the requests that others submit meanwhile;
// with kLoop the loop sends the collected requests, unless an EventLoopReader has the right, or the
// request is deferred: then submit() sends. Where many threads are to go on at once, as the readers
// of a freed write lock, one of them is woken, and writes for all.
class Connection final : public net::Pollable, public std::enable_shared_from_this<Connection> {
 public:
  using Setup = ConnectionSetup;
  using Driver = Setup::Driver;
  using Neighbours = Setup::Neighbours;
  using Redirect = Setup::Redirect;

  Connection(const Clock& clock, net::Loop& loop, Setup setup);

  // Any thread. Takes its place behind all earlier requests. `waiter`: the thread that is, or soon
  // will be, in serve() for this request; without one, and with no thread in serve(), the loop
  // reads. Not OK when the connection is closed, or the request was revoked (kRevoked): then
  // nothing happens and complete() is not called.
  Status submit(RequestPtr request, Parker* waiter = nullptr);

  // Any thread: as submit(), of a request that has been on its way over another connection, or this
  // one.
  Status resubmit(InFlightRequest unanswered);

  // Any thread: sends what a SendBatch has put off; with `loop`, what its Scope has gathered, if
  // that loop still reads.
  void send_now(const EventLoopReader* loop = nullptr);

  // Any thread: hands over all unanswered requests that are no longer `mine`. To be
  // called when the server is out of reach: it is unknown whether it still executes what it got.
  void review();

  // Any thread: the server has left its place. The stream is broken off, so that nothing that was
  // sent is delivered late, and all that waits here, and all that still comes, is handed over.
  void decommission();

  // Blocks the calling thread until `control` or `slice` is over, and reads for all threads
  // meanwhile if no other thread does. `control` is checked after each notify() of `parker` and
  // each batch of replies.
  void serve(Parker& parker, const ServeControl& control, TimePoint slice);

  // Any thread: whether commands can go out now; and whether the last attempt to connect has
  // failed.
  bool open() const;
  bool down() const;
  // Any thread: goes on to connect until then, as if a request were in line.
  void reconnect(TimePoint until);

  // Any thread: the server is at `to` from now on, or, for now, nowhere, and why. Nothing more is
  // sent to where it was; that stream is reset (which on_lost is not called for), and what is
  // unanswered is sent again, in order, where the server is. Nowhere it waits for its deadline; if
  // `to` is a server's refusal, it fails with that.
  void move(Result<net::Address> to);

  // Any thread: replies that wait for the end of a look (StaleSigns) are looked at again.
  void look_again();

  // Any thread: sends newer credentials, in order with the commands, where the stream is up; false:
  // it is not.
  bool reauthenticate(const LoginPtr& login);

  // Any thread: fails what is unanswered with `why`, and everything submitted later.
  void close(Status why);

  // The loop's part.
  net::Interest step(TimePoint now) override;

 private:
  friend class DirectExchange;
  friend class EventLoopReader;
  using Reader = ReaderElection::Reader;
  using Wait = StreamReader::Wait;

  Status add(InFlightRequest unanswered, Parker* waiter) HOLDFAST_REQUIRES(pipe_.mutex);
  // The reader, and the loop, see what has changed.
  void wake_all() HOLDFAST_REQUIRES(pipe_.mutex);
  void read(const ReadTurn& turn, Parker& parker, const ServeControl& control, TimePoint slice)
      HOLDFAST_EXCLUDES(pipe_.mutex);
  net::Interest advance(const ReadTurn& turn, TimePoint now, Wait wait = Wait::kNone)
      HOLDFAST_EXCLUDES(pipe_.mutex);
  // A step of the loop, where another thread reads.
  net::Interest watch() HOLDFAST_REQUIRES(pipe_.mutex);

  // By the EventLoopReader: it reads; ends its right.
  void turn(EventLoopReader& loop) HOLDFAST_EXCLUDES(pipe_.mutex);
  void end_read_right(const EventLoopReader& loop) HOLDFAST_EXCLUDES(pipe_.mutex);

  Pipeline pipe_;
  StreamReader reader_;
  ReadRight read_right_ HOLDFAST_GUARDED_BY(pipe_.mutex);
};

// Requests that the calling thread submits in this scope are sent at its end: in one piece for each
// connection that callers drive. In a scope within another one the outer one counts. Not to be held
// while the thread waits.
class SendBatch {
 public:
  SendBatch();
  ~SendBatch();
  SendBatch(const SendBatch&) = delete;
  SendBatch& operator=(const SendBatch&) = delete;

  // Whether the calling thread is in such a scope, which then sends what `connection` has.
  static bool puts_off(const std::shared_ptr<Connection>& connection);

 private:
  SendBatch* const outer_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

}  // namespace holdfast::client
