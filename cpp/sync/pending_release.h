#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lease/lease_keeper.h"
#include "sync/context.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// What a plan says of a last release.
void add_plan(Step& step, const lease::ReleasePlan& plan, const Context& context);

// Sends a release that no caller waits for: it takes back an attempt that ended on its way, or goes
// on with a release whose caller has left or has got an error. It obeys the ledger
// (lease/release_ledger.h): it is the carrier of its entry until another one takes its place, and
// is tried until the server has answered or the lease is over. It stands in the connection's line
// behind the command that it takes back, and is sent with the script's text: a second attempt, for
// a server that does not know the script, would come later.
class PendingRelease final : public client::Request,
                             public Timed,
                             public std::enable_shared_from_this<PendingRelease> {
 public:
  using Encode = std::function<void(script::Writer& out)>;
  struct What {
    LockName name;
    OwnerNumber owner;
    Encode encode;
    // Of a counter's step: for so long after a sending the server knows it again, so that it may be
    // repeated. 0: it may be repeated at any time.
    Millis memory{0};
    bool maybe_done = false;  // an earlier sending may have been executed
  };

  // The release of a kind of lock: `remaining` holds are to be left.
  struct Of {
    LockName name;
    OwnerNumber owner;
    int remaining = 0;
    AcquireOptions acquire_options{};
    lease::ReleasePlan plan{};  // of a hold that was granted
  };
  static What release_of(std::shared_ptr<const Context> context, const TakingRecipe& recipe,
                         Of what);

  // A new entry, of what may be held for `lease` from now on.
  static void take_back(std::shared_ptr<const Context> context, What what, Millis lease);

  // Goes on with the release of that turn, unless something newer has taken it over. `rested`: the
  // server has refused it for the moment, so the first sending is after a rest.
  static void carry_on(std::shared_ptr<const Context> context, What what,
                       lease::ReleaseLedger::Turn turn, bool rested);

  // Gives back one hold of which its caller will never know; `of`: as it was acquired.
  static void give_back(const std::shared_ptr<const Context>& context, const TakingRecipe& recipe,
                        Of of, Millis lease);

  PendingRelease(std::shared_ptr<const Context> context, What what);

  std::string_view key() const override { return what_.name.bytes(); }
  void encode(std::string& out) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;

 private:
  using LateEnd = lease::LeaseKeeper::LateEnd;

  void on_time() override;
  void go();
  void rest();
  void remember(const client::Sent& sent, bool refused);
  std::string refusal(const Result<resp::Reply>& reply) const;

  const std::shared_ptr<const Context> context_;
  What what_;
  lease::ReleaseLedger::Turn turn_ = 0;
  TimePoint until_ = kNever;
};

}  // namespace holdfast::sync
