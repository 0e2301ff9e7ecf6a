#pragma once

#include <memory>
#include <vector>

#include "base/parker.h"
#include "client/login.h"
#include "client/pipeline.h"
#include "client/reader_election.h"
#include "client/reader_lease.h"
#include "client/stream_reader.h"
#include "net/pollable.h"

namespace holdfast::client {

// A pipelined connection to one server that many threads share. Requests are answered in order;
// those not answered when the stream breaks are sent again, in order, on the next one (so every
// command must be safe to repeat), until their deadline.
//
// One thread reads, by a ReadTurn. With Driver::kCallers it is one of the threads that wait in
// serve() (a single caller does its own I/O without any hand-over); if there is work but no thread
// waits, it is the engine's loop, which otherwise only watches for the end of the stream. With
// Driver::kLoop it is always the loop. One thread at a time writes, by a WriteTurn: with kCallers
// submit() sends at once, together with the requests that others submit meanwhile; with kLoop the
// loop sends the collected requests, unless an EventLoopReader has a lease, or the request is
// deferred: then submit() sends. Where many threads are to go on at once, as the readers of a freed
// write lock, one of them is woken, and writes for all.
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

  // Any thread: sends what a SendBatch has put off.
  void send_now();

  // Any thread: what waits here for an answer is handed over, but for what is `mine` still. To be
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
  bool may_await(const ReadTurn& turn, const net::Interest& next, Duration left) const;

  // A step of the loop, where it reads, and where another thread does.
  net::Interest end_step(net::Interest next, TimePoint now) HOLDFAST_REQUIRES(pipe_.mutex);
  net::Interest watch() HOLDFAST_REQUIRES(pipe_.mutex);

  // By the EventLoopReader: it reads; sends what has gathered; ends its lease.
  void turn(EventLoopReader& loop) HOLDFAST_EXCLUDES(pipe_.mutex);
  void send_gathered(const EventLoopReader& loop) HOLDFAST_EXCLUDES(pipe_.mutex);
  void end_lease(const EventLoopReader& loop) HOLDFAST_EXCLUDES(pipe_.mutex);

  Pipeline pipe_;
  StreamReader reader_;
  ReaderLease lease_ HOLDFAST_GUARDED_BY(pipe_.mutex);
};

// What the calling thread submits in this scope is sent at its end: in one piece for each
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
