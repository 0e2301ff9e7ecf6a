#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/mutex.h"
#include "base/parker.h"
#include "sync/operation/context.h"
#include "sync/operation/exchange.h"

namespace holdfast::sync {

// An exchange, and the one way to wait for it: a thread in wait(), a Completion, or no caller (any
// more).
class Awaited : public Exchange, public Timed {
 public:
  explicit Awaited(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  using Exchange::finish_to;
  std::optional<Outcome> wait(Interrupt* interrupt) final;
  void finish_to(std::shared_ptr<Completion> completion, std::uint64_t id, Parker* reader) final;
  // By default the loop reads for it, whichever thread waits for it beside others.
  void serve(Parker& parker, const client::ServeControl& /*until*/, TimePoint slice) override {
    parker.park(context_->clock, slice);
  }
  void stop_serving(Parker& parker) override;
  std::string_view client_id() const final { return context_->client_id; }

 protected:
  virtual std::shared_ptr<Timed> timed() = 0;  // this
  // Before any other thread knows of it. `here`: the thread in wait(); null: there is none.
  virtual void start(Parker* here) HOLDFAST_EXCLUDES(mutex_) = 0;
  // That thread waits, and reads what it can, until control() is over, or `slice` is.
  virtual void wait_in(Parker& here, TimePoint slice) HOLDFAST_EXCLUDES(mutex_) {
    serve(here, control_, slice);
  }
  // That thread has left: what it would have read is for others to read.
  virtual void left(Parker& /*here*/) HOLDFAST_EXCLUDES(mutex_) {}
  virtual void time_is_up(TimePoint now) HOLDFAST_EXCLUDES(mutex_) = 0;  // wake_at() has come
  // Asks it on the thread in wait(). It may run a signal handler, while another thread reads the
  // reply and ends the exchange.
  virtual bool stopped_by(Interrupt& interrupt) { return interrupt.pending(); }

  // For subclasses, with mutex_ held.
  void wake_at(TimePoint at) HOLDFAST_REQUIRES(mutex_);
  void finish(Outcome outcome) HOLDFAST_REQUIRES(mutex_);
  // After finish(): it goes on without its caller, and its next finish() only ends it.
  void let_caller_go() HOLDFAST_REQUIRES(mutex_) { parker_ = reader_ = nullptr; }
  bool by_thread() const HOLDFAST_REQUIRES(mutex_) { return parker_ != nullptr; }
  bool by_this_thread() const HOLDFAST_REQUIRES(mutex_) {
    return parker_ == &Parker::of_this_thread();
  }
  // Of the thread in wait(), which leaves only after finish().
  Parker* parker() const HOLDFAST_REQUIRES(mutex_) { return parker_; }
  // Of the thread that reads for this exchange among others.
  Parker* reader() const HOLDFAST_REQUIRES(mutex_) { return reader_; }
  bool finished() const HOLDFAST_REQUIRES(mutex_) { return outcome_.has_value(); }
  const std::optional<Outcome>& outcome() const HOLDFAST_REQUIRES(mutex_) { return outcome_; }
  static void wake(Parker* parker);

  client::ServeControl& control() { return control_; }  // of that thread, or of the reader
  const Context& context() const { return *context_; }
  const std::shared_ptr<const Context>& shared_context() const { return context_; }
  TimePoint now() const { return context_->clock.now(); }

  Mutex mutex_;

 private:
  void on_time() final { time_is_up(now()); }
  void wait_by(Parker& here) HOLDFAST_UNCHECKED { parker_ = &here; }
  void report_to(std::shared_ptr<Completion> completion, std::uint64_t id,
                 Parker* reader) HOLDFAST_UNCHECKED;
  // It was written before `control_.done`, and is not written again.
  std::optional<Outcome> final_outcome() const HOLDFAST_UNCHECKED { return outcome_; }
  void give_up();
  void give_up_quietly() noexcept;

  const std::shared_ptr<const Context> context_;
  client::ServeControl control_;
  bool timed_ HOLDFAST_GUARDED_BY(mutex_) = false;  // the loop has its timer
  Parker* parker_ HOLDFAST_GUARDED_BY(mutex_) = nullptr;
  Parker* reader_ HOLDFAST_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<Completion> completion_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t id_ HOLDFAST_GUARDED_BY(mutex_) = 0;
  std::optional<Outcome> outcome_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::sync
