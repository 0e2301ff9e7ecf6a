#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "locks/lease/keeper.h"
#include "locks/sync/operation/operation.h"

namespace holdfast::sync {

// A release, from its first byte to its end: a thread waits for it, a task, or no caller.
// It is the command of an entry in the client's Keeper (locks/lease/holds.h), which is *its*
// as long as no newer command of the owner takes it over.
//
//                     | awaited                      | left             | pending
//   written           | left, if it is deferred      | =                | =
//   reply             | over: done or lost           | over, posted     | over: done
//   refused for now   | backs off; at the end of its | pending, posted  | backs off; over at the
//                     | time pending: the error      |                  | end of the lease
//   refused for good  | over: the error              | over, posted     | over: refused
//   no reply          | pending: the error           | pending, posted  | as refused for now
//   taken over        | over: done                   | over             | over
//   its client closed | over: the error              | over             | over
//   cancelled         | left, if it is deferred; =   | =                | =
//                     | in line; backing off pending |                  |
//
// Refused for now: by an error that passes for a release (redis/resp/reply.h), in reply to it
// or to the greeting of its connection.
//
// Awaited, its caller gets the outcome. Left: the caller of a deferred release has gone once the
// command was written, and what becomes of it is posted. Pending: the caller has gone, got an error
// or never was; the release is sent until the server has answered or the lease is over, and the
// owner's next release reports how it ended.
class Release : public Operation {
 public:
  // Begins without a caller, as the command of its entry, at most until then.
  void run_alone(TimePoint until);
  // Takes back with a new entry, for a possible hold with this lease from now on.
  void take_back(Millis lease);
  // A release that has begun goes on.
  void cancel() override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 protected:
  void answered_here(resp::Reply&& reply, const client::Sent& sent) HOLDFAST_UNCHECKED override {
    answered(reply, sent);
  }

  enum class Life : std::uint8_t { kAwaited, kLeft, kPending };
  using End = lease::Releases::End;

  Release(std::shared_ptr<const Context> context, const LockName& name, OwnerNumber owner,
          Role role = Role::kCall)
      : Operation(std::move(context), name, role), owner_(owner) {
    awaits_login = true;
  }

  virtual void answered(const resp::Reply& reply, const client::Sent& sent)
      HOLDFAST_REQUIRES(mutex_) = 0;
  virtual void refused(std::string_view text) HOLDFAST_REQUIRES(mutex_);
  // The server refuses it, or the greeting. `why`: with the error's word.
  virtual void turned_away(const Status& why) HOLDFAST_REQUIRES(mutex_);
  virtual void refused_for_good(const Status& why) HOLDFAST_REQUIRES(mutex_);
  // Its caller gets that error, and it goes on without one.
  virtual void leave_pending(const Status& why) HOLDFAST_REQUIRES(mutex_);
  void time_is_up(TimePoint now) override;

  virtual void send() HOLDFAST_REQUIRES(mutex_);
  // Until it is to be sent again, or its time is over.
  void rest() HOLDFAST_REQUIRES(mutex_);
  void judge(const Result<resp::Reply>& reply, const client::Sent& sent) HOLDFAST_REQUIRES(mutex_);
  // Its caller waits, and has time.
  bool tries_again() const HOLDFAST_REQUIRES(mutex_) {
    return life_ != Life::kPending && !cancelled_ && now() < give_up_;
  }
  // The end of its entry.
  void ended(End how, const std::string& why = {}) HOLDFAST_REQUIRES(mutex_);

  const OwnerNumber owner_;
  Life life_ HOLDFAST_GUARDED_BY(mutex_) = Life::kAwaited;
  bool cancelled_ HOLDFAST_GUARDED_BY(mutex_) = false;
  bool backing_off_ HOLDFAST_GUARDED_BY(mutex_) = false;  // until `again_`: it is not in line
  TimePoint until_ = kNever;  // the end of the lease, when it is pending
  TimePoint give_up_{};       // the end of its caller's time

 private:
  void failed(const Status& why) HOLDFAST_REQUIRES(mutex_);
  void back_off(TimePoint until) HOLDFAST_REQUIRES(mutex_);
  void go_on() HOLDFAST_REQUIRES(mutex_);
  // That of the lease, or of its caller.
  TimePoint end_of_time() const HOLDFAST_REQUIRES(mutex_);

  TimePoint again_ HOLDFAST_GUARDED_BY(mutex_) = kNever;
  Status refusal_ HOLDFAST_GUARDED_BY(mutex_);  // the latest
};

// A step that gives something back and may be repeated without a further effect: of a counter, with
// a caller, or of an attempt without one. Its owner is the number of a request, or the one
// of the attempt.
class StepRelease final : public Release {
 public:
  struct Command {
    std::function<void(script::Writer& out)> write;
    Answered answered{};
    // How long after it may have been executed it may be repeated; 0: always.
    Millis memory{0};
    Millis lease{0};  // the lease of what is given back; 0: none
  };
  StepRelease(std::shared_ptr<const Context> context, const LockName& name, OwnerNumber owner,
              Command command);

  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  bool begin(TimePoint now) override;
  void write(script::Writer& out) const override { command_.write(out); }
  void answered(const resp::Reply& reply, const client::Sent& sent)
      HOLDFAST_REQUIRES(mutex_) override;
  void refused_for_good(const Status& why) HOLDFAST_REQUIRES(mutex_) override;

  const Command command_;
  bool maybe_done_ HOLDFAST_GUARDED_BY(mutex_) = false;  // by an earlier sending
};

}  // namespace holdfast::sync
