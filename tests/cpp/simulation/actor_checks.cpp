#include <algorithm>
#include <string>

#include "simulation/actor.h"

namespace holdfast::simulation {

namespace {

using sync::Verdict;

constexpr Millis kTimerGranularity{3};
// How long a renewal and its reply are on their way where no connection breaks.
constexpr Millis kExchange{100};

}  // namespace

void Actor::acquired(Verdict verdict) {
  Hold& held = hold(asked_.lock);
  switch (verdict) {
    case Verdict::kGranted:
      held.depth = asked_.first ? 1 : held.depth + 1;
      held.in_doubt = false;
      return check_token();
    case Verdict::kGone:
      expect(held.depth > 0, "a first acquisition found earlier holds gone");
      // A client that closes may have released it.
      return expect(held.lost || client_->closed(),
                    "a reentrant acquisition found the hold gone, untold");
    case Verdict::kBusy:
      return expect(!asked_.blocking, "a blocking acquisition ended busy");
    case Verdict::kTimedOut:
      return expect(stage_.world.now() >= asked_.deadline, "timed out before its deadline");
    case Verdict::kCancelled:
      return blame("cancelled without a call of cancel()");
    case Verdict::kObjected:
      return blame("an objection without terms");
    case Verdict::kExpired:
    case Verdict::kFailed:
      return;
  }
}

void Actor::extended(const sync::Outcome& outcome) {
  expect(outcome.value != 0 || hold(asked_.lock).lost || client_->closed(),
         "an extension found nothing, but the loss was not reported");
}

// Of the grant that it has just read; nothing when that is lost meanwhile.
void Actor::check_token() {
  if (!stage_.script.kind.makes_tokens()) return;
  const auto token = client_->keeper().known(asked_.lock, number_).token;
  expect(!token || stage_.ledger.minted(asked_.lock, field(), *token),
         "has a token that the server has not given it");
  expect(token || client_->keeper().count(asked_.lock, number_) == 0, "holds without a token");
}

void Actor::released(Verdict verdict) {
  Hold& held = hold(asked_.lock);
  switch (verdict) {
    case Verdict::kGranted:
      return released_well(held);
    case Verdict::kBusy:
      expect(held.unsure() || held.lost, "its release finds nothing");
      held = {0, held.lost};
      return;
    case Verdict::kGone:
      expect(held.unsure() || held.lost || client_->closed(), "its release finds it lost, untold");
      held = {0, held.lost};
      return;
    case Verdict::kFailed:
      expect(asked_.last || client_->closed(), "a release that leaves holds needs a server");
      held.in_doubt = true;
      if (stage_.world.random.chance(500)) held.depth = 0;
      return;
    default:
      return blame(std::string("a release ended ") + word(verdict));
  }
}

void Actor::released_well(Hold& held) {
  expect(held.depth > 0 || held.in_doubt, "released what it did not hold");
  if (asked_.deferred && asked_.last) {
    held = Hold{0, held.lost, true};
    held.left = asked_.trusted;
    return;
  }
  expect(held.unsure() || !asked_.last || !held.lost, "released a hold that was reported lost");
  held.depth = asked_.last ? 0 : held.depth - 1;
  held.in_doubt = held.in_doubt && held.depth > 0;
}

// With the keeper's lock held; check_hold() sees that the next hold is not lost by it.
void Actor::lost_late(const LockName& lock) {
  const Hold& held = hold(lock);
  const bool newest = held.in_doubt && held.depth == 0 && !operation_;
  if (newest && stage_.world.now() < held.left && stage_.ledger.released(lock, field())) {
    blame("reported late that " + text(lock) + " is lost, which it has released");
  }
}

void Actor::observe(const Event& event) {
  const bool late = event.kind == Event::Kind::kLostAfterRelease;
  if (event.kind != Event::Kind::kLost && !late) return;
  const LockName lock(event.name, static_cast<Side>(event.listeners.front() - 1));
  if (late) return lost_late(lock);
  stage_.world.say(field(), " has lost ", text(lock), ": ", event.reason);
  Hold& held = hold(lock);
  if (held.lost) blame("reported twice that " + text(lock) + " is lost");
  const bool releasing = operation_ && asked_.action == Action::kRelease && asked_.lock == lock;
  if (releasing && stage_.world.now() < asked_.trusted && stage_.ledger.released(lock, field())) {
    blame("reported that " + text(lock) + " is lost, which it has released");
  }
  held.lost = true;
}

void Actor::check() {
  if (client_->left_behind()) return check_left_behind();
  if (over_ || client_->closed()) return;
  for (auto& [lock, hold] : holds_) check_hold(lock, hold);
  const Millis timeout = client_->plan().command_timeout * 4;
  if (operation_ && asked_.action == Action::kAcquire && asked_.deadline != kNever &&
      stage_.world.now() > std::max(asked_.deadline, asked_.since) + timeout) {
    blame("its acquisition goes on past its deadline");
  }
}

bool Actor::reported(const std::string& name) const {
  const auto names = client_->left_behind();
  return !names || std::find(names->begin(), names->end(), name) != names->end();
}

// What it may still have on the server is among the names that its closed client reports.
void Actor::check_left_behind() {
  if (forgotten_) return;
  for (const auto& [lock, hold] : holds_) {
    if (!reported(lock.text()) && !hold.lost && stage_.ledger.holds(lock, field())) {
      blame("holds " + text(lock) + ", which its closed client does not name");
    }
  }
}

// What is removed or cut off is found by the next renewal.
void Actor::check_trust(const LockName& lock, bool renewed) {
  Ledger& ledger = stage_.ledger;
  if (ledger.holds(lock, field())) return;
  if (!ledger.removed(lock, field()) && !ledger.cut_off(lock, field())) {
    return blame("trusts its hold of " + text(lock) + ", which the server does not have");
  }
  const Millis most = client_->plan().watch_lease / 3 + kExchange;
  if (renewed && ledger.gone_for(lock, field()) > most) {
    blame("still trusts its hold of " + text(lock) + ", which it could know to be gone");
  }
}

void Actor::check_hold(const LockName& lock, Hold& hold) {
  const int trusted = client_->keeper().count(lock, number_);
  if (trusted > 0) check_trust(lock, !hold.leased && !stage_.script.failures);
  // The reply to an extension may give a hold back its trust.
  if (trusted > 0 || settled_depth(lock) == 0) hold.unknown_since = kNever;
  if (settled_depth(lock) == 0) return;
  if (trusted == 0) {
    hold.unknown_since = std::min(hold.unknown_since, stage_.world.now());
    if (stage_.world.now() > hold.unknown_since + kTimerGranularity) {
      blame("the loss of " + text(lock) + " was not reported in time");
    }
  } else if (trusted != hold.depth) {
    blame("counts " + std::to_string(hold.depth) + " holds of " + text(lock) + ", the client " +
          std::to_string(trusted));
  }
}

}  // namespace holdfast::simulation
