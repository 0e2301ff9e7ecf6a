#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "lease/debts.h"
#include "sync/context.h"
#include "sync/recipe.h"

namespace holdfast::sync {

// What a plan says of a last release, for encode_release().
void add_plan(Step& step, const lease::ReleasePlan& plan, const Context& context);

// A compensating release without a waiting caller: takes back an attempt that was cancelled on its
// way, or continues a release whose caller got an error because the server was out of reach. It
// stands in the connection's line behind the command it takes back, and is tried until the lease
// (of a place in line: its time) is over: then there is nothing left to release. Where holds are
// counted it makes those of the same owner before it unnecessary, however many attempts it stands
// for. It goes out with the script's text: a second attempt, for a server that does not know the
// script, would stand behind what the owner asks for next. Where a server refuses to work for the
// moment, it is tried again for as long as the owner has asked for nothing else.
class Undo final : public lease::Debt, public Timed, public std::enable_shared_from_this<Undo> {
 public:
  struct What {
    LockName name;
    OwnerNumber owner;
    int remaining = 0;  // the holds to leave
    AcquireOptions acquire_options{};
  };

  static void submit(std::shared_ptr<const Context> context, const Recipe& recipe, What what,
                     Millis lease);
  static void submit_late_release(std::shared_ptr<const Context> context, const Recipe& recipe,
                                  What what, lease::ReleasePlan plan);

  Undo(std::shared_ptr<const Context> context, const Recipe& recipe, What what);

  std::string_view key() const override { return what_.name.bytes(); }
  void encode(std::string& out) const override;
  void complete(Result<resp::Reply> reply, const client::Sent& sent) override;
  bool cancel() override;

 private:
  void on_time() override;
  void begin(bool covers);
  void go();
  void settle();

  const std::shared_ptr<const Context> context_;
  const Recipe& recipe_;
  const What what_;
  std::optional<lease::ReleasePlan> plan_;  // of a late release
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> again_{false};  // it has lost its place behind what it takes back
};

}  // namespace holdfast::sync
