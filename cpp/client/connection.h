#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/parker.h"
#include "base/sync_points.h"
#include "client/reader_election.h"
#include "client/reconnecting_stream.h"
#include "client/request_queue.h"
#include "client/send_buffer.h"
#include "client/serve_control.h"
#include "net/loop.h"
#include "net/pollable.h"
#include "resp/plain_reply.h"

namespace holdfast::client {

class ForeignLoop;

// A pipelined connection to one server that many threads share. Requests are answered in order;
// those not answered when the stream breaks are sent again, in order, on the next one (so every
// command must be safe to repeat), until their deadline.
//
// One thread reads: the *leader*. With Driver::kCallers it is one of the threads that wait in
// serve() (a single caller does its own I/O without any hand-over); if there is work but no thread
// waits, it is the loop, which otherwise only watches for the end of the stream. With
// Driver::kLoop it is always the loop. Any thread may write: with kCallers submit() sends at once,
// together with the requests that others submit meanwhile; with kLoop the loop sends the collected
// requests, unless it has lent the lead to a ForeignLoop, or the request is deferred: then submit()
// sends.
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

  // Any thread: sends what a SendBatch has put off.
  void send_now();

  // Any thread: what waits here for an answer is handed over, but for what is `mine` still. To be
  // called when the server is out of reach: nothing tells whether it still executes what it got.
  void review();

  // Any thread: the server has left its place. The stream is broken off, so that nothing that was
  // sent is delivered late, and all that waits here, and all that still comes, is handed over.
  void retire();

  // One command of a thread that finds this connection idle, but for a few replies that lie unread:
  // sent and read at once, behind those, with readings that wait for a moment. kRefused: nothing
  // was done, and submit() is the way; the thread is not alone, or there is no stream. kInLine: it
  // is as after submit(), and its reply, unless it has come, is to be waited for in serve().
  enum class Alone { kAnswered, kInLine, kRefused };
  struct PlainAnswer {
    resp::PlainReply reply;
    Sent sent{};
  };
  Alone exchange(const RequestPtr& request, Parker& parker, PlainAnswer& answer);

  // The same of a command whose reply may lie unread (Request::deferred): sent at once. `begin` is
  // called when the connection is the thread's; if it says false, nothing is sent (kRefused).
  // kWritten: written() is not called for it, unless it is sent again. kInLine: as after submit().
  enum class Posted { kWritten, kInLine, kRefused };
  Posted post(const RequestPtr& request, Parker& parker, const std::function<bool()>& begin);

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
  friend class ForeignLoop;

  using Reader = ReaderElection::Reader;
  class Batch;

  // Of a lead that is lent to a ForeignLoop.
  struct Oversight {
    bool turning = false;      // the ForeignLoop is inside turn()
    bool stepping = false;     // the loop is inside a step as the leader
    bool recalled = false;     // until such a step no ForeignLoop gets the lead
    TimePoint shared_until{};  // nor until then: two of them used it
    bool looks = false;        // the loop will look, at look_at, whether `turns` has grown
    TimePoint look_at{};
    std::uint64_t turns = 0;
    std::uint64_t turns_seen = 0;
  };

  // The leader, unlocked.
  void lead(Parker& parker, const ServeControl& control, TimePoint slice) HOLDFAST_EXCLUDES(mutex_);
  std::optional<net::Interest> without_orders() const HOLDFAST_EXCLUDES(mutex_);
  bool may_await(const net::Interest& next, Duration left) const;
  net::Interest advance(TimePoint now,
                        ReconnectingStream::Wait wait = ReconnectingStream::Wait::kNone)
      HOLDFAST_EXCLUDES(mutex_);
  struct Lone;
  struct Progress {
    std::uint64_t failed_attempts = 0;  // before this
    int failures = 0;                   // in a row, before this
    std::vector<resp::Reply> replies;
    bool ready = false;
    bool lost = false;
  };
  Progress advance_link(TimePoint now, ReconnectingStream::Wait wait) HOLDFAST_EXCLUDES(mutex_);
  net::Interest digest(TimePoint now, Progress progress) HOLDFAST_EXCLUDES(mutex_);
  bool lead_alone(const Request& request, Lone& lone) HOLDFAST_EXCLUDES(mutex_);
  void encode_alone(const Request& request, Lone& lone) HOLDFAST_EXCLUDES(mutex_);
  bool deliver_unread(const Lone& lone) HOLDFAST_EXCLUDES(mutex_);
  bool put_in_line_written(const InFlightRequest& unanswered, const Lone& lone)
      HOLDFAST_EXCLUDES(mutex_);
  void put_in_line(InFlightRequest unanswered, Lone& lone) HOLDFAST_EXCLUDES(mutex_);
  void step_back(Lone& lone, Parker* waiter) HOLDFAST_EXCLUDES(mutex_);
  void obey_move() HOLDFAST_EXCLUDES(mutex_);
  bool wanted() const HOLDFAST_EXCLUDES(mutex_);
  bool refuses() const;
  bool impatient(TimePoint now) const HOLDFAST_EXCLUDES(mutex_);

  // With the lock held; flush() lets go of it while it writes.
  bool free_for(const Request& request) HOLDFAST_REQUIRES(mutex_);
  bool lies_unread() const HOLDFAST_REQUIRES(mutex_);
  bool sound() const HOLDFAST_REQUIRES(mutex_);
  void meet_company() HOLDFAST_REQUIRES(mutex_);
  bool sends_at_once(const Request& request) const HOLDFAST_REQUIRES(mutex_);
  Status add(InFlightRequest unanswered, Parker* waiter) HOLDFAST_REQUIRES(mutex_);
  net::Interest interest() const HOLDFAST_REQUIRES(mutex_);  // the leader
  bool take_replies(std::vector<resp::Reply>& replies, TimePoint now, Batch& batch)
      HOLDFAST_REQUIRES(mutex_);
  void stream_ready(TimePoint now) HOLDFAST_REQUIRES(mutex_);
  bool stream_failed(TimePoint now) HOLDFAST_REQUIRES(mutex_);
  bool takes(const Request& request, bool again) const HOLDFAST_REQUIRES(mutex_);
  void hand_over(Batch& batch) HOLDFAST_REQUIRES(mutex_);
  void settle(TimePoint now, Batch& batch) HOLDFAST_REQUIRES(mutex_);
  void stream_lost(Batch& batch) HOLDFAST_REQUIRES(mutex_);
  void forget_stream() HOLDFAST_REQUIRES(mutex_);
  void attempt_failed(bool counts, Batch& batch) HOLDFAST_REQUIRES(mutex_);
  void drop_overdue(TimePoint now, Batch& batch) HOLDFAST_REQUIRES(mutex_);
  void drop_impatient(TimePoint now, Batch& batch) HOLDFAST_REQUIRES(mutex_);
  // Writes what is in line, unless another thread has the turn: then that thread writes it. False:
  // the leader has to go on with it.
  bool flush() HOLDFAST_REQUIRES(mutex_);
  void wake_leader() HOLDFAST_REQUIRES(mutex_);
  void find_leader(Parker* preferred) HOLDFAST_REQUIRES(mutex_);
  bool may_lie() const HOLDFAST_REQUIRES(mutex_);  // all replies that are to come
  TimePoint unread_end(TimePoint now) const HOLDFAST_REQUIRES(mutex_);
  void perform(const ReaderElection::Action& action) HOLDFAST_REQUIRES(mutex_);
  void look_again(net::Interest& next, TimePoint now) const HOLDFAST_REQUIRES(mutex_);
  bool needs_loop(TimePoint now) HOLDFAST_REQUIRES(mutex_);
  bool hung_up() const HOLDFAST_REQUIRES(mutex_);
  net::Interest watch() HOLDFAST_REQUIRES(mutex_);
  TimePoint silent_since() const HOLDFAST_REQUIRES(mutex_);

  // By the ForeignLoop: it reads; sends what has gathered; leads no more.
  void turn(ForeignLoop& loop) HOLDFAST_EXCLUDES(mutex_);
  void send_gathered(const ForeignLoop& loop) HOLDFAST_EXCLUDES(mutex_);
  void leave(const ForeignLoop& loop) HOLDFAST_EXCLUDES(mutex_);
  // With the lock held.
  bool needs_engine() const HOLDFAST_REQUIRES(mutex_);
  void lend() HOLDFAST_REQUIRES(mutex_);
  void give_back() HOLDFAST_REQUIRES(mutex_);
  void add_for_foreign(InFlightRequest unanswered) HOLDFAST_REQUIRES(mutex_);
  bool takes_back(TimePoint now) HOLDFAST_REQUIRES(mutex_);
  bool neglected(TimePoint now) HOLDFAST_REQUIRES(mutex_);
  net::Interest oversee(TimePoint now) HOLDFAST_REQUIRES(mutex_);
  void release_left() HOLDFAST_REQUIRES(mutex_);
  void begin_step() HOLDFAST_REQUIRES(mutex_);
  void end_step() HOLDFAST_REQUIRES(mutex_);

  std::string address() const { return link_.options().address.text(); }

  const Clock& clock_;
  net::Loop& loop_;
  const Setup setup_;
  ReconnectingStream link_;  // the leader's

  mutable Mutex mutex_;
  RequestQueue line_ HOLDFAST_GUARDED_BY(mutex_);
  SendBuffer send_ HOLDFAST_GUARDED_BY(mutex_);
  // By the loop, now and before its last step: while it may use a descriptor, that must not close.
  std::shared_ptr<net::Transport> watched_ HOLDFAST_GUARDED_BY(mutex_);
  std::shared_ptr<net::Transport> left_ HOLDFAST_GUARDED_BY(mutex_);
  ReaderElection election_ HOLDFAST_GUARDED_BY(mutex_);
  // The number of requests for which exchange() refuses still: threads have met here.
  int company_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<ForeignLoop> foreign_ HOLDFAST_GUARDED_BY(mutex_);  // of kEventLoop
  Oversight oversight_ HOLDFAST_GUARDED_BY(mutex_);
  TimePoint last_read_ HOLDFAST_GUARDED_BY(mutex_){};
  bool retired_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool review_ HOLDFAST_GUARDED_BY(mutex_) = false;  // the leader is to hand over
  std::optional<Result<net::Address>> move_
      HOLDFAST_GUARDED_BY(mutex_);  // not yet obeyed by the leader
  Status closed_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::client
