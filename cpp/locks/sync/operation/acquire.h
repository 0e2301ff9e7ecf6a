#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "locks/lease/attempt.h"
#include "locks/sync/operation/acquire_request.h"
#include "locks/sync/operation/callers_time.h"
#include "locks/sync/operation/operation.h"

namespace holdfast::sync {

// An acquisition, from its first byte to its end: a thread waits for it, or a task. Its entry in
// the client's Keeper (locks/lease/holds.h) says from its first attempt on that it is under
// way. A grant is recorded there before it is reported.
//
//                   | fresh            | sent                 | contended     | granted
//   begun           | sent; contended, | -                    | -             | -
//                   | if not to be sent|                      |               |
//   a grant         | -                | granted              | the machine's | -
//   a grant, late,  | -                | contended: given back| the machine's | -
//   or being closed |                  |                      |               |
//   another reply,  | -                | contended            | the machine's | -
//   or none         |                  |                      |               |
//   cancelled       | =                | contended: taken back| the machine's | given back, once
//
// Contended, it has a machine, which decides from then on until the end (AcquireMachine), and a
// place in the queue: both are one piece of memory, made at the first surprise. So the usual grant
// costs a command and no more.
class Acquire final : public Operation {
 public:
  Acquire(std::shared_ptr<const Context> context, AcquireRequest request);
  ~Acquire() override;

  void cancel() override;
  About about() override;
  int preload(std::string& out) const override { return script::load(out, recipe().scripts()); }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;
  const Replies* replies() const HOLDFAST_UNCHECKED override { return reply_.get(); }

 private:
  class Contended;

  void write(script::Writer& out) const override;
  bool begin(TimePoint now) HOLDFAST_UNCHECKED override;
  void answered_here(resp::Reply&& reply, const client::Sent& sent) HOLDFAST_UNCHECKED override;
  bool stopped_by(Interrupt& interrupt) override;
  void time_is_up(TimePoint now) override;
  TimePoint latest() const override { return time_.latest(); }

  // Its slot and owner may change: Contended::take_back(). Of a lock they stay.
  const AcquireRequest& request() const HOLDFAST_UNCHECKED { return request_; }
  const Recipe& recipe() const { return request().recipe(); }
  // True: the reply is a grant, which is recorded, and the end.
  bool granted(resp::Reply& reply, const client::Sent& sent) HOLDFAST_REQUIRES(mutex_);
  // The answer may say that there is another number of permits than was sent. No warning where
  // that has been changed since: the server may have the new number by now.
  void report_other(const Answer& answer) const;
  // For a caller with terms.
  void keep_reply(resp::Reply&& reply) HOLDFAST_REQUIRES(mutex_);
  Contended& contend() HOLDFAST_REQUIRES(mutex_);

  // Its entries in the Keeper. Before each attempt:
  lease::AttemptPlan begin_attempt() HOLDFAST_REQUIRES(mutex_);
  // Its lease would be lengthened by an earlier renewal of the owner's, which is on the wire. Not
  // that of a nested hold: what it nests in has that lease, and could be lost meanwhile.
  bool held_up() const HOLDFAST_REQUIRES(mutex_);
  // Records the grant, by a command sent at `sent`, after which the owner has `count` holds. False,
  // and nothing is recorded, when the client is being closed.
  bool keep(int count, TimePoint sent, std::optional<std::int64_t> token, TimePoint now)
      HOLDFAST_REQUIRES(mutex_);

  // Where it has a purpose: what says it in the client's key, with the first attempt, and again
  // with a grant that came after others. Else null.
  client::RequestPtr note(bool granted = false) const HOLDFAST_REQUIRES(mutex_);

  // Takes back possible grants of attempts, down to `remaining` holds.
  void take_back(int remaining) HOLDFAST_REQUIRES(mutex_);
  // Gives back the grant that was recorded.
  void give_back() const HOLDFAST_REQUIRES(mutex_);
  void send_release(OwnerNumber owner, int remaining, std::int64_t amount) const
      HOLDFAST_REQUIRES(mutex_);
  Millis longest_lease() const HOLDFAST_REQUIRES(mutex_);

  AcquireRequest request_ HOLDFAST_GUARDED_BY(mutex_);
  lease::Attempt attempt_ HOLDFAST_GUARDED_BY(mutex_);
  lease::AttemptPlan plan_ HOLDFAST_GUARDED_BY(mutex_);  // the first attempt's
  bool given_back_ HOLDFAST_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Replies> reply_ HOLDFAST_GUARDED_BY(mutex_);  // kept for a caller with terms
  int count_ = 1;  // the count of the attempt that is sent
  // With the newest sending, as StepOptions::setup. Guarded by the connection's lock until the
  // reply has come.
  mutable std::int64_t sent_setup_ = -1;
  TimePoint begun_{};
  CallersTime time_;
  std::unique_ptr<Contended> contended_ HOLDFAST_GUARDED_BY(mutex_);  // from then on to the end
};

}  // namespace holdfast::sync
