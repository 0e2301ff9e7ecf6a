#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "lease/renewal.h"
#include "resp/reply.h"
#include "script/writer.h"
#include "sync/recipes/backoff.h"
#include "sync/recipes/owner_argument.h"
#include "sync/recipes/request_slots.h"

namespace holdfast::sync {

constexpr std::int64_t kHoldsGone = -3;  // the reply of the locks' scripts for Answer::Kind::kGone
constexpr Millis kWithoutTtl{-1};        // Answer::ttl of what is held without a time limit

// The server's answer to an attempt.
struct Answer {
  enum class Kind {
    kGranted,
    kHeld,  // by another owner, for `ttl` more; negative: without a time limit
    kGone,  // the caller's earlier holds are gone
  };
  Kind kind = Kind::kGranted;
  Millis ttl{0};  // of a grant: when the next waiter is to try again; 0: after the lease
  std::optional<std::int64_t>
      value{};        // the value of a grant (token); of a refusal: the number of free permits
  bool more = false;  // granted, with permits left for the next waiter
  std::optional<std::int64_t> other{};  // the number of permits, if not AcquireOptions::setup
  bool foreign = false;  // of a refusal: the key never expires, so another program wrote it
};

// The refusal of a lock whose key has that TTL.
inline Answer held(Millis ttl) {
  Answer answer{Answer::Kind::kHeld, ttl};
  answer.foreign = ttl == kWithoutTtl;
  return answer;
}

// Further options of an acquisition, for the kinds that have them.
struct AcquireOptions {
  Millis queue_timeout{0};      // how long the server keeps its place in the queue; 0: takes none
  Millis request_memory{0};     // how long the server remembers its request
  std::int64_t amount = 1;      // of permits
  Backoff backoff{};            // of polling waiters (Waiting::kBackOff)
  Millis at_least{0};           // minimum hold time from the first grant
  CounterRequestPtr request{};  // of a counter's step; its slot is the owner
  std::int64_t setup = -1;      // the permits to set up where there is no counter; -1: none

  // Without a request: the owner's only one.
  std::int64_t request_number() const { return request ? request->number : 1; }
};

// The parameters of one attempt, or one release.
struct Step {
  const LockName& name;
  std::string owner;  // the owner's field
  int count = 0;      // the hold count afterwards
  Millis lease{0};
  AcquireOptions acquire_options{};
  // Of a last release:
  std::string other{};   // another field that may have the hold by now; empty: none
  Millis stays{0};       // what remains of the minimum hold time, for kinds that have one
  std::string keeper{};  // the field that keeps the lock for that time
};

// How the waiters of a kind are notified that it may be free.
enum class Waiting {
  kInTurn,    // one channel; of a client's waiters only the first tries
  kTogether,  // one channel; all of a client's waiters try at once
  kByCount,   // one channel; as many try as the message has permits for
  kInLine,    // the server keeps the queue: each waiter has a channel, and a place to give up
  kBackOff,   // not at all: each polls. Other kinds may subscribe to the channel, as kInTurn
};

class TakingRecipe;
class HoldRecipe;
class Transferable;
class Movable;

// A kind of synchronizer: its commands, and the meaning of replies. Recipes are stateless: one
// object for each kind, shared by all. The classes below stand for the abilities of a kind; code
// for any kind checks them by taking(), holding() and so on.
class Recipe {
 public:
  virtual ~Recipe() = default;

  virtual std::vector<const script::Script*> scripts() const = 0;
  // The word for the kind, for observers.
  virtual std::string_view kind() const { return {}; }
  virtual Waiting waiting() const { return Waiting::kInTurn; }
  // The channel on which `owner` (a field) waits.
  virtual Channel channel(const LockName& name, const std::string& owner) const = 0;
  virtual void acquire(script::Writer& out, const Step& step) const = 0;
  // How its commands name an owner who acquires and releases one hold or permit.
  virtual OwnerArgument owner_argument() const { return &append_field; }
  virtual Answer acquired(const resp::Reply& reply) const = 0;

  // Not null: an attempt may change something on the server.
  virtual const TakingRecipe* taking() const { return nullptr; }
  // Not null: a grant is a hold with a lease, which the client records.
  virtual const HoldRecipe* holding() const { return nullptr; }
  // Not null: an owner may hand it over to a waiter.
  virtual const Transferable* transferable() const { return nullptr; }
  bool takes() const { return taking() != nullptr; }
  bool makes_holds() const { return holding() != nullptr; }

  // A grant ends with its lease, whether the client records it or not.
  virtual bool grants_end() const { return makes_holds(); }
  // After release() has taken it back, a later attempt of this owner (a request's slot) is not
  // granted.
  virtual bool undone_for_good() const { return false; }
  // The message that is itself the grant, regardless of the state by then (kTogether).
  virtual std::optional<std::string_view> granting_message() const { return std::nullopt; }
  // Several owners may have it at a time, as many as there are permits.
  virtual bool has_permits() const { return false; }
};

// A kind that takes something from the server, and can give it back.
class TakingRecipe : public Recipe {
 public:
  const TakingRecipe* taking() const final { return this; }
  // Replies n >= 1: free now, and n - 1 subscribers received the message; 0: holds are left; nil:
  // the owner's field does not exist.
  virtual void release(script::Writer& out, const Step& step) const = 0;
  // Writes the grant of `owner` once more, for replicas to confirm; never restores it. By the
  // reply to that it is there, or gone.
  virtual void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                           Millis lease) const = 0;
  virtual bool written_again(const resp::Reply& reply) const = 0;
};

// A kind with holds: each ends with a lease, which the client renews.
class HoldRecipe : public TakingRecipe, public lease::Renewal {
 public:
  const HoldRecipe* holding() const final { return this; }
  void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                   Millis lease) const final {
    renew(out, {{&name, owner}}, lease);
  }
  bool written_again(const resp::Reply& reply) const final { return renewed(reply, 1)[0] != 0; }
  // An owner may acquire again; else each acquisition has a new owner number.
  virtual bool owners_return() const = 0;
  // Sets the lease anew, shorter or longer (a renewal never cuts it). Replies 1, or 0: not held.
  virtual void extend(script::Writer& out, const Step& step) const = 0;
  // Not null: its holds can be given to another owner.
  virtual const Movable* movable() const { return nullptr; }
};

// A lock: owners hold it, and all clients can query it.
class LockRecipe : public HoldRecipe {
 public:
  bool owners_return() const final { return true; }
  // Replies 1: it was held, 0: it was not.
  virtual void force_release(script::Writer& out, const Step& step) const = 0;
  // Queries; their replies are integers.
  virtual void locked(script::Writer& out, const LockName& name) const = 0;  // > 0: held
  virtual void hold_count(script::Writer& out, const Step& step) const = 0;  // nil: 0
  virtual void ttl(script::Writer& out, const LockName& name) const = 0;     // ms, -1, -2
};

// A lock with a hand-over: its last release may hand it to the first of this client's waiters
// (kInTurn), of any kind: by the next waiter's recipe, not the owner's.
class Transferable {
 public:
  virtual ~Transferable() = default;
  // Hands the lock to `next_waiter`, another owner of this client. Replies nil: `owner` does not
  // hold it.
  virtual void transfer(script::Writer& out, const Step& step,
                        const std::string& next_waiter) const = 0;
  virtual Answer transferred(const resp::Reply& reply) const = 0;
};

// A lock with holds that tickets pass on. It also has Renewal::renew_either(), and a release for a
// step with `other`.
class Movable {
 public:
  virtual ~Movable() = default;
  virtual std::string_view ticket_kind() const = 0;  // its word in a ticket
  // Gives the hold of `step.owner` to `next`, for `step.lease`. Replies the ms that were left
  // before, -1: not known; nil: neither of them holds it. A repetition has the same effect.
  virtual void move(script::Writer& out, const Step& step, const std::string& next) const = 0;
};

}  // namespace holdfast::sync
