#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/parker.h"
#include "client/reconnecting_stream.h"
#include "client/request_queue.h"
#include "net/loop.h"
#include "net/pollable.h"

namespace holdfast::client {

// How long a thread in serve() stays; any thread may change it, and then notify() its Parker.
struct ServeControl {
  std::atomic<bool> done{false};
  std::atomic<BootTime::rep> until{kNever.time_since_epoch().count()};

  void set_until(TimePoint at) { until.store(at.time_since_epoch().count()); }
  bool over(TimePoint now) const { return done.load(std::memory_order_acquire) || now >= end(); }
  TimePoint end() const { return TimePoint(Duration(until.load())); }
};

// A pipelined connection to one server that many threads share. Requests are answered in order;
// those not answered when the stream breaks are sent again, in order, on the next one (so every
// command must be safe to repeat), until their deadline.
//
// One thread reads: the *leader*. With Driver::kCallers it is one of the threads that wait in
// serve() (a single caller does its own I/O without any hand-over); if there is work but no thread
// waits, it is the loop, which otherwise only watches for the end of the stream. With
// Driver::kLoop it is always the loop. Any thread may write: with kCallers submit() sends at once,
// together with the requests that others submit meanwhile; with kLoop the loop sends the collected
// requests.
class Connection final : public net::Pollable, public std::enable_shared_from_this<Connection> {
 public:
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

  // Told of each error reply, on any thread, with no locks held: true when the request is to be
  // answered by another server, or later, and has been taken over for that (see resubmit()).
  using Redirect = std::function<bool(const InFlightRequest&, std::string_view error)>;

  struct Setup {
    StreamOptions link;
    Driver driver = Driver::kCallers;
    std::function<void()> on_lost;  // a stream that had been ready broke; any thread, no locks held
    Redirect redirect{};            // without one every reply goes to its request
    // An attempt to connect failed, or a stream did: is the address still right? As on_lost.
    std::function<void()> on_failed{};
    ReconnectingStream::Open open{};  // tests: how to open a stream
    Neighbours neighbours{};          // empty: there are none
  };

  Connection(const Clock& clock, net::Loop& loop, Setup setup);

  // Any thread. Takes its place behind all earlier requests. `waiter`: the thread that is, or soon
  // will be, in serve() for this request; without one, and with no thread in serve(), the loop
  // reads. Not OK when the connection is closed, or the request was revoked (kRevoked): then
  // nothing happens and complete() is not called.
  Status submit(RequestPtr request, Parker* waiter = nullptr);

  // Any thread: as submit(), of a request that has been on its way over another connection, or this
  // one.
  Status resubmit(InFlightRequest unanswered);

  // Any thread: what waits here for an answer is handed over, but for what is `mine` still. To be
  // called when the server is out of reach: nothing tells whether it still executes what it got.
  void review();

  // Any thread: the server has left its place. The stream is broken off, so that nothing that was
  // sent is delivered late, and all that waits here, and all that still comes, is handed over.
  void retire();

  // Blocks the calling thread until `control` or `slice` is over, and reads for all threads
  // meanwhile if there is no other leader. `control` is checked after each notify() of `parker` and
  // each batch of replies.
  void serve(Parker& parker, const ServeControl& control, TimePoint slice);

  // Any thread: the server is at `to` from now on, or, for now, nowhere, and why. Nothing more is
  // sent to where it was; that stream is reset (which is not told to on_lost), and what is
  // unanswered is sent again, in order, where the server is. Nowhere it waits for its deadline; if
  // `to` is a server's refusal, it fails with that.
  void move(Result<net::Address> to);

  // Any thread: fails what is unanswered with `why`, and everything submitted later.
  void close(Status why);

  // The loop's part.
  net::Interest step(TimePoint now) override;

 private:
  enum class Leader { kNone, kCaller, kLoop };
  using Lock = std::unique_lock<std::mutex>;
  class Batch;

  // The leader, unlocked.
  void lead(Parker& parker, const ServeControl& control, TimePoint slice);
  bool has_orders() const;
  bool may_await(const net::Interest& next, Duration left) const;
  net::Interest advance(TimePoint now,
                        ReconnectingStream::Wait wait = ReconnectingStream::Wait::kNone);
  struct Progress {
    std::vector<resp::Reply> replies;
    bool ready = false;
    bool lost = false;
  };
  Progress advance_link(TimePoint now, ReconnectingStream::Wait wait);
  void obey_move();
  net::Interest interest() const;
  bool wanted() const;

  // With the lock held; flush() lets go of it while it writes.
  Status add(Lock& lock, InFlightRequest unanswered, Parker* waiter);
  bool take_replies(std::vector<resp::Reply>& replies, TimePoint now, Batch& batch);
  void stream_ready(TimePoint now);
  bool stream_failed(TimePoint now);
  bool takes(const Request& request, bool again) const;
  void hand_over(Batch& batch);
  void settle(TimePoint now, Batch& batch);
  void stream_lost(Batch& batch);
  void forget_stream();
  void attempt_failed(Batch& batch);
  void drop_overdue(TimePoint now, Batch& batch);
  bool flush(Lock& lock);  // false: the leader has to go on with it
  void wake_leader();
  void find_leader(Parker* preferred);
  void call(Parker& next);
  void look_again(net::Interest& next, TimePoint now) const;
  bool needs_loop() const;
  bool hung_up() const;
  net::Interest watch();
  TimePoint silent_since() const;
  std::string address() const { return link_.options().address.text(); }

  const Clock& clock_;
  net::Loop& loop_;
  const Setup setup_;
  ReconnectingStream link_;  // the leader's

  mutable std::mutex mutex_;
  RequestQueue line_;
  std::shared_ptr<net::Transport> writer_;  // the stream, while it is ready
  // By the loop, now and before its last step: while it may use a descriptor, that must not close.
  std::shared_ptr<net::Transport> watched_;
  std::shared_ptr<net::Transport> left_;
  std::string out_;      // encoded, not yet written
  std::string writing_;  // the flushing thread's
  bool flushing_ = false;
  bool driven_ = false;         // the loop has been asked for a step that has not begun
  bool write_blocked_ = false;  // the socket's buffer is full: the leader waits for room
  bool write_failed_ = false;
  Leader leader_ = Leader::kNone;
  Parker* leading_ = nullptr;   // of kCaller
  std::list<Parker*> waiters_;  // in serve(), not leading: the next leaders
  Parker* called_ = nullptr;    // the one of them that was called to lead, until it wakes
  TimePoint last_read_{};
  bool retired_ = false;
  bool review_ = false;                       // the leader is to hand over
  std::optional<Result<net::Address>> move_;  // not yet obeyed by the leader
  Status closed_;
};

}  // namespace holdfast::client
