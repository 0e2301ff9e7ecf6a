#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lease/lease_keeper.h"
#include "sync/operation/context.h"
#include "sync/recipes/recipe.h"
#include "sync/recipes/request_slots.h"

namespace holdfast::sync {

// The step of a last release, from its plan.
void add_plan(Step& step, const lease::ReleasePlan& plan, const Context& context);

// Sends a release that no caller waits for: it takes back an attempt without a caller, or continues
// a release after its caller has left or got an error. Its entry (lease/holds.h) controls it: it is
// the command of that until another one resumes it, and is tried until the server has answered or
// the lease is over. It is queued behind the command that it takes back.
class PendingRelease final : public client::Request,
                             public Timed,
                             public std::enable_shared_from_this<PendingRelease> {
 public:
  using Encode = std::function<void(script::Writer& out)>;
  struct What {
    LockName name;
    OwnerNumber owner;
    Encode encode;
    // Of a counter's step: how long after a sending the server recognizes a repetition. 0: it may
    // be repeated at any time.
    Millis memory{0};
    bool maybe_done = false;  // an earlier sending may have been executed
  };

  // The release of a kind of lock, which leaves `remaining` holds.
  struct Of {
    LockName name;
    OwnerNumber owner;
    int remaining = 0;
    StepOptions options{};
    lease::ReleasePlan plan{};  // of a hold that was granted
    CounterRequestPtr slot{};   // of a request: kept for as long as this may be sent
  };
  static What release_of(std::shared_ptr<const Context> context, const TakingRecipe& recipe,
                         Of what);

  // Makes a new entry, for a possible hold with this lease from now on.
  static void take_back(std::shared_ptr<const Context> context, What what, Millis lease);

  // Continues the release of that serial, unless a newer command has taken it over. It backs off
  // before the first sending if the server has refused it for now.
  static void resume(std::shared_ptr<const Context> context, What what,
                     lease::Releases::Serial serial, bool refused_for_now);

  // Gives back one hold that its caller never gets; `of`: as it was acquired.
  static void give_back(const std::shared_ptr<const Context>& context, const TakingRecipe& recipe,
                        Of of, Millis lease);

  PendingRelease(std::shared_ptr<const Context> context, What what);

  std::string_view key() const override { return what_.name.bytes(); }
  resp::ReplyKinds encode(std::string& out, bool by_text) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  using End = lease::Releases::End;

  void on_time() override;
  void send();
  void back_off();
  void remember(const client::Sent& sent, bool refused);
  std::string refusal(const Result<resp::Reply>& reply) const;

  const std::shared_ptr<const Context> context_;
  What what_;
  lease::Releases::Serial serial_ = 0;
  TimePoint until_ = kNever;
};

}  // namespace holdfast::sync
