#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lease/lease_keeper.h"
#include "lease/shortened_lease.h"

namespace holdfast::lease {

// The reason of a loss of which no server has told.
constexpr const char* kRanOut = "its lease ran out";
// Of one whose release the server has not answered in time.
constexpr const char* kReleaseExpired = "its lease ran out before its release reached the server";

// When the watchdog renews next: a third of the lease after `sent`, less some tenths of that for
// holds that were renewed at one moment to drift apart, and on a grid, so that what is due together
// goes out together.
TimePoint renewal_after(TimePoint sent, Millis lease, std::uint64_t ticket);

// The holds that one owner has of one lock, nested: was each acquired without a lease?
class Levels {
 public:
  bool renewed_at(int level) const { return marks_[static_cast<std::size_t>(level)] == kRenewed; }
  int count() const { return static_cast<int>(marks_.size()); }
  bool renewed() const { return renewed_; }
  // The inner ones end; or, if the server knows of more holds than we do, those have a lease.
  void set_count(int count) {
    marks_.resize(static_cast<std::size_t>(count), kLeased);
    renewed_ = marks_.find(kRenewed) != std::string::npos;
  }
  void push(bool renewed) {
    marks_ += renewed ? kRenewed : kLeased;
    renewed_ = renewed_ || renewed;
  }
  void all_leased() {
    marks_.assign(marks_.size(), kLeased);
    renewed_ = false;
  }

 private:
  static constexpr char kRenewed = 'w';
  static constexpr char kLeased = 'l';
  std::string marks_;     // of a few levels it takes no memory besides itself
  bool renewed_ = false;  // one of them is
};

// One owner's hold of one lock; as a request, its renewal (or check). Its fields are guarded by the
// keeper's lock, but for what encode() reads: that stays as it is while a renewal is under way.
class Hold final : public client::Request, public std::enable_shared_from_this<Hold> {
 public:
  using State = HoldState;

  // A step that was to give it another field, and may do so yet.
  struct Move {
    const std::string other;
    Millis asked{0};     // the lease that the newest one sets
    Millis shortest{0};  // of those that any of them sets
    Millis minimum{0};   // that the lock was to stay closed when the newest one began
  };

  struct DueTimer : Timer {
    Hold* hold = nullptr;
  };

  Hold(std::weak_ptr<LeaseKeeper> of, const Grant& grant)
      : keeper(std::move(of)),
        name(grant.name),
        owner(grant.owner),
        renewal(grant.renewal),
        since(grant.at),
        counted(grant.counted) {
    persistent = true;
    timer.hold = this;
  }

  std::string_view key() const override { return name.bytes(); }

  resp::ReplyKinds encode(std::string& out) const override {
    if (asked_renewed && !asked_either && !by_text) {
      out += command;
      return command_replies;
    }
    const std::shared_ptr<LeaseKeeper> to = keeper.lock();
    const std::string field = to ? owner_field(to->client_id_, owner) : std::string();
    // A check is rare, and is not sent a second time after NOSCRIPT.
    script::Writer writer(out, by_text || !asked_renewed);
    if (asked_either) {
      renewal->renew_either(writer, name, {field, move->other}, asked_lease);
    } else if (asked_renewed) {
      renewal->renew(writer, name, field, asked_lease);
    } else {
      renewal->check(writer, name, field);
    }
    return writer.replies();
  }

  void complete(Result<resp::Reply> reply, const client::Sent& sent) override {
    if (const std::shared_ptr<LeaseKeeper> to = keeper.lock()) to->answered(*this, reply, sent);
  }

  // What is in flight next: a renewal for `asked_lease`, encoded once for all that follow, or a
  // check.
  void ask_for(Millis wanted, const std::string& client_id) {
    asked_renewed = renewed();
    asked_either = move != nullptr;
    if (wanted != asked_lease) command.clear();
    asked_lease = wanted;
    if (!asked_renewed || !command.empty()) return;
    script::Writer writer(command, false);
    renewal->renew(writer, name, owner_field(client_id, owner), wanted);
    command_replies = writer.replies();
    command.shrink_to_fit();
  }

  bool held() const { return state == State::kHeld; }
  // Until when the hold may be believed to be there.
  TimePoint trusted() const { return renewed() ? std::min(set_until, relied_until) : set_until; }
  bool trusted_at(TimePoint now) const { return held() && now < trusted(); }
  bool lost_at(TimePoint now) const {
    return state == State::kLost || (held() && now >= trusted());
  }
  bool renewed() const { return levels.renewed(); }

  // What a lease that the server has confirmed is good for: a move may still cut it.
  Millis sure(Millis confirmed) const {
    return move ? std::min(confirmed, move->shortest) : confirmed;
  }

  bool asked_before_move() const { return move && !asked_either; }

  // A renewal that was sent then has been confirmed by this reply.
  void renewed_at(TimePoint sent, std::int64_t reply, TimePoint now) {
    // A lease that extend() has set since may have cut the renewed one on the server.
    if (asked_extensions == extensions) {
      const Millis given = sure(asked_lease);
      const std::optional<Millis> found = renewal->found(reply);
      if (found && after(now, *found) < asked_until) shortened.observe(*found, now, lease);
      set_lease(sent, given, now);
    }
    next_renewal = renewal_after(sent, shortened.part_of(sure(lease), now), ticket);
  }

  // A command that was sent then has set a lease of `given`; a longer one on the server stays.
  void set_lease(TimePoint sent, Millis given, TimePoint now) {
    set_until = std::max(set_until, trusted_until(sent, given));
    const Millis part = shortened.part_of(given, now);
    if (part < given) {
      relied_until = trusted_until(sent, part);
    } else if (!shortened.lasts(now)) {
      relied_until = kNever;
    }
  }

  void listen(std::uint64_t listener) {
    forget(listener);
    if (listener != 0) listeners.push_back(listener);
  }
  void forget(std::uint64_t listener) {
    listeners.erase(std::remove(listeners.begin(), listeners.end(), listener), listeners.end());
  }

  const std::weak_ptr<LeaseKeeper> keeper;
  const LockName name;
  const OwnerNumber owner;
  const Renewal* const renewal;
  const TimePoint since;                 // the first of its grants arrived
  const bool counted;                    // among the figures of the client's locks
  std::vector<std::uint64_t> listeners;  // each once
  std::uint64_t ticket = 0;
  Levels levels;
  std::unique_ptr<const std::string> reason;  // of the loss
  std::int64_t token = 0;  // of the newest grant that brought one (they are positive)
  Millis lease{0};         // of the renewed holds
  Millis fixed_lease{0};   // the newest one that is not renewed
  TimePoint set_until{};   // the end of the lease that this client's commands have set
  // The end of the part of it that other programs leave, while it is renewed.
  TimePoint relied_until = kNever;
  ShortenedLease shortened;
  TimePoint next_renewal = kNever;
  DueTimer timer;
  std::uint32_t extensions = 0;  // that have begun
  std::unique_ptr<Move> move;    // once one was begun: the hold may be under its field
  bool detaching = false;        // whether that is under way
  TimePoint granted{};           // the first time
  TimePoint closed_until{};      // the lock, whenever it is released
  State state = State::kHeld;
  bool told = false;  // of the loss, by a release
  bool in_flight = false;
  bool by_text = false;
  std::uint32_t asked_extensions = 0;  // those that had begun before what is in flight
  bool asked_renewed = false;          // what is in flight: a renewal, or a check
  bool asked_either = false;           // the renewal is good for the field of `move`, too
  Millis asked_lease{0};
  TimePoint asked_until{};  // `set_until` when it was sent
  std::string command;      // the renewal for `asked_lease`
  resp::ReplyKinds command_replies = resp::ReplyKind::kInteger;
};

}  // namespace holdfast::lease
