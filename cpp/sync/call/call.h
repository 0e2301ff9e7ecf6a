#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/parker.h"
#include "client/connection.h"
#include "sync/call/first_step.h"
#include "sync/operation/context.h"
#include "sync/operation/operation.h"

namespace holdfast::sync {

// One acquisition of a caller, from its first command on: request and exchange in
// one object. Its first step (FirstAcquire) is all there is as long as
// the server gives the usual reply. From the first surprise on, which is another reply, or none, or
// a reason not to send at all, an operation goes on.
//
//   fresh ──sent──> sent ──reply──> answered ──usual───> over ──cancelled──> ended
//     │               │                 └──another──> passed on
//     │               └──cancelled, interrupted─────> passed on
//     ├──not to be sent─────────────────────────────> passed on
//     └──cancelled──────────────────────────────────> ended
//
// No caller has a shorter path for the usual case: such paths drifted apart, and two owners of one
// lock came of what one of them had forgotten. The object costs a pair 12 % more instructions.
//
// A thread that waits for it, in wait(), sends and reads by itself where it can, and judges the
// reply itself. A task gets the outcome, by a Completion, from the thread that reads the reply.
// Thread-safe as an Exchange.
class Call : public Exchange, public client::Request, public std::enable_shared_from_this<Call> {
 public:
  using Exchange::finish_to;
  std::optional<Outcome> wait(Interrupt* interrupt) final;
  void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id, Parker* reader) final;
  void serve(Parker& parker, TimePoint slice) final;
  void stop_serving(Parker& parker) final;
  void cancel() final;

  std::string_view client_id() const final { return context_.client_id; }
  std::string_view key() const final { return name().bytes(); }
  void complete(Result<resp::Reply> reply, const client::Sent& sent) final;

 protected:
  // `context`: which the first step keeps.
  explicit Call(const Context& context) : context_(context) {}

  // The first step.
  virtual FirstStep first_begin(TimePoint now) = 0;
  virtual std::optional<Outcome> first_finish(const resp::Reply& reply, const client::Sent& sent,
                                              wait::Calls& calls) = 0;
  virtual OperationPtr first_operation(bool sent) = 0;
  virtual void first_take_back() const = 0;

 private:
  enum class State { kFresh, kSent, kAnswered, kOver, kPassedOn, kEnded };
  struct Answered {
    Answered(Result<resp::Reply> what, const client::Sent& when)
        : reply(std::move(what)), sent(when) {}
    Result<resp::Reply> reply;
    client::Sent sent;
  };
  struct Caller {
    Parker* thread = nullptr;  // in wait(), until the reply has come, or it has left
    std::shared_ptr<Completion> completion{};
    std::uint64_t id = 0;
    Parker* reader = nullptr;  // of a thread that reads for this call among others
  };

  // False: successor_ begins from the start. Before other threads know of the call.
  bool start(const Caller& caller, TimePoint now) HOLDFAST_UNCHECKED;
  void submit(Parker* reader) HOLDFAST_EXCLUDES(mutex_);

  // Of the thread in wait(). False: `interrupt` came first. `answered`: where the thread has read
  // the reply itself.
  bool send(Parker& parker, Interrupt* interrupt, std::optional<Answered>& answered)
      HOLDFAST_EXCLUDES(mutex_);
  bool await(Parker& parker, Interrupt* interrupt) HOLDFAST_EXCLUDES(mutex_);
  // With an answer that the thread has read itself no other thread knows of the call.
  std::optional<Outcome> judge(std::optional<Answered>& answered,
                               Interrupt* interrupt) HOLDFAST_UNCHECKED;
  std::optional<Answered> take_answer() HOLDFAST_REQUIRES(mutex_) {
    return std::exchange(answered_, std::nullopt);
  }
  void give_up() HOLDFAST_EXCLUDES(mutex_);
  void give_up_quietly() noexcept HOLDFAST_EXCLUDES(mutex_);

  std::optional<Outcome> conclude(const Answered& answered, wait::Calls& calls)
      HOLDFAST_REQUIRES(mutex_);
  OperationPtr pass_on() HOLDFAST_REQUIRES(mutex_);
  OperationPtr successor() const HOLDFAST_EXCLUDES(mutex_);
  void end_wait() HOLDFAST_REQUIRES(mutex_);

  const Context& context_;
  std::shared_ptr<client::Connection> connection_;  // set by start()
  client::ServeControl control_;                    // of the thread in wait(), or of the reader

  mutable Mutex mutex_;
  State state_ HOLDFAST_GUARDED_BY(mutex_) = State::kFresh;
  Caller caller_ HOLDFAST_GUARDED_BY(mutex_);
  std::optional<Answered> answered_ HOLDFAST_GUARDED_BY(mutex_);  // of kAnswered, by another thread
  OperationPtr successor_ HOLDFAST_GUARDED_BY(mutex_);            // of kPassedOn
};

// The call of a first step.
template <typename First>
class CallOf final : public Call {
 public:
  template <typename... Args>
  explicit CallOf(std::shared_ptr<const Context> context, Args&&... args)
      : Call(*context), first_(std::move(context), std::forward<Args>(args)...) {}

  const LockName& name() const override { return first_.name(); }
  About about() override { return first_.about(); }
  resp::ReplyKinds encode(std::string& out, bool by_text) const override {
    return first_.encode(out, by_text);
  }
  int preload(std::string& out) const override { return first_.preload(out); }

 private:
  FirstStep first_begin(TimePoint now) override { return first_.begin(now); }
  std::optional<Outcome> first_finish(const resp::Reply& reply, const client::Sent& sent,
                                      wait::Calls& calls) override {
    return first_.finish(reply, sent, calls);
  }
  OperationPtr first_operation(bool sent) override { return first_.operation(sent); }
  void first_take_back() const override { first_.take_back(); }

  First first_;
};

}  // namespace holdfast::sync
