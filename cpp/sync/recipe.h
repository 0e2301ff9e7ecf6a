#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "lease/hold.h"
#include "resp/reply.h"
#include "script/writer.h"
#include "sync/backoff.h"
#include "sync/request_slots.h"

namespace holdfast::sync {

// The server's answer to an attempt.
struct Answer {
  enum class Kind {
    kGranted,
    kHeld,  // by another, for `ttl` more; negative: without a time limit
    kGone,  // the caller's earlier holds are not there any more
  };
  Kind kind = Kind::kGranted;
  Millis ttl{0};  // of a grant: when the next in line is to look again; 0: after the lease
  std::optional<std::int64_t>
      value{};        // what a grant brings with it; kByCount: the number that is free
  bool more = false;  // granted, with permits left for the next waiter
};

// What a caller asks for beyond the hold itself, of the kinds that know it.
struct AcquireOptions {
  Millis queue_timeout{0};   // how long the server keeps its place in a line; 0: takes none
  Millis request_memory{0};  // how long the server remembers its request
  std::int64_t amount = 1;   // of permits
  Backoff backoff{};         // of those who ask again (Waiting::kBackOff)
  Millis at_least{0};        // that the lock stays closed from the first grant on
  RequestSlots::RequestPtr request{};  // of a counter's step; its slot is the owner

  // Null: the owner's only one.
  std::int64_t request_number() const { return request ? request->number : 1; }
};

// One attempt, or one release, as scripts need it.
struct Step {
  const LockName& name;
  std::string owner;  // the owner's field
  int count = 0;      // the holds that there are afterwards
  Millis lease{0};
  AcquireOptions acquire_options{};
  // Of a last release:
  std::string other{};  // the field that the hold may have by now; empty: none
  Millis stays{0};      // the lock stays closed for so long, of kinds that know a minimum hold time
  std::string keeper{};  // in the name of this field
};

// How the waiters of a kind learn that it may be free.
enum class Waiting {
  kInTurn,    // one channel; of a client's waiters the first tries, the others stand behind it
  kTogether,  // one channel; all of a client's waiters try at once
  kByCount,   // one channel; as many try as there are permits for, by what the message says
  kInLine,    // the server keeps the line: each waiter has a channel, and a place to be given up
  kBackOff,  // not at all: each asks again after a while. Others may listen on the channel, in turn
};

class TakingRecipe;
class HoldRecipe;
class Transferable;
class Movable;

// What can be acquired: how a kind is asked for it, and what replies mean. Recipes are stateless:
// one object for each kind, shared by all. They say what a kind can do by which of the classes
// below they are, and those who work with any kind ask for that: taking(), holding().
class Recipe {
 public:
  virtual ~Recipe() = default;

  virtual std::vector<const script::Script*> scripts() const = 0;
  // Of a lock: the word for it, as observers have it.
  virtual std::string_view kind() const { return {}; }
  virtual Waiting waiting() const { return Waiting::kInTurn; }
  // Where `owner` (a field) listens while it waits.
  virtual Channel channel(const LockName& name, const std::string& owner) const = 0;
  virtual void acquire(script::Writer& out, const Step& step) const = 0;
  virtual Answer acquired(const resp::Reply& reply) const = 0;

  // An attempt may change something on the server; null: it only looks.
  virtual const TakingRecipe* taking() const { return nullptr; }
  // A grant is a hold with a lease, which the client keeps account of.
  virtual const HoldRecipe* holding() const { return nullptr; }
  // Who waits may be handed it by its holder.
  virtual const Transferable* transferable() const { return nullptr; }
  bool takes() const { return taking() != nullptr; }
  bool makes_holds() const { return holding() != nullptr; }

  // A grant ends with its lease, whether the client keeps account of it or not.
  virtual bool grants_end() const { return makes_holds(); }
  // What release() has taken back, this owner (a request's slot) does not get with a later attempt.
  virtual bool undone_for_good() const { return false; }
  // The message that is the grant itself, whatever an attempt would find by now (kTogether).
  virtual std::optional<std::string_view> granting_message() const { return std::nullopt; }
  // Several may have it at a time, as many as there are permits.
  virtual bool has_permits() const { return false; }
  // Its acquisitions and holds are among the figures of the client's locks.
  bool counted() const { return makes_holds() && !has_permits(); }
};

// What takes something from the server, and can give it back.
class TakingRecipe : public Recipe {
 public:
  const TakingRecipe* taking() const final { return this; }
  // Replies n >= 1: free now, and n - 1 subscribers received it; 0: holds are left; nil: the
  // owner's field is not there.
  virtual void release(script::Writer& out, const Step& step) const = 0;
  // Writes once more what `owner` has taken, for replicas to confirm; never brings it back. Replies
  // 1, or 0: it is not there any more.
  virtual void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                           Millis lease) const = 0;
};

// What makes holds: each ends with a lease, which the client renews.
class HoldRecipe : public TakingRecipe, public lease::Renewal {
 public:
  const HoldRecipe* holding() const final { return this; }
  void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                   Millis lease) const final {
    renew(out, name, owner, lease);
  }
  // An owner may acquire again; else each acquisition has a new owner number.
  virtual bool owners_return() const = 0;
  // Sets the lease anew, shorter or longer (a renewal never cuts it). Replies 1, or 0: not held.
  virtual void extend(script::Writer& out, const Step& step) const = 0;
  // Its holds can be given to another owner; null: they cannot.
  virtual const Movable* movable() const { return nullptr; }
};

// A lock: what owners hold, and all clients can ask about.
class LockRecipe : public HoldRecipe {
 public:
  bool owners_return() const final { return true; }
  // Replies 1: it was held, 0: it was not.
  virtual void force_release(script::Writer& out, const Step& step) const = 0;
  // Questions; their replies are integers.
  virtual void locked(script::Writer& out, const LockName& name) const = 0;  // > 0: held
  virtual void hold_count(script::Writer& out, const Step& step) const = 0;  // nil: 0
  virtual void ttl(script::Writer& out, const LockName& name) const = 0;     // ms, -1, -2
};

// Of a lock whose last release may hand it to the first of this client's waiters (kInTurn), of
// whatever kind that is: by the heir's recipe, not the holder's.
class Transferable {
 public:
  virtual ~Transferable() = default;
  // Hands the lock to `heir`, another owner of this client. Replies nil: `owner` does not hold it.
  virtual void transfer(script::Writer& out, const Step& step, const std::string& heir) const = 0;
  virtual Answer transferred(const resp::Reply& reply) const = 0;
};

// Of a lock whose holds are passed on by tickets. It also knows Renewal::renew_either(), and a
// release whose step has `other`.
class Movable {
 public:
  virtual ~Movable() = default;
  virtual std::string_view ticket_kind() const = 0;  // what a ticket calls it
  // Gives the hold of `step.owner` to `next`, for `step.lease`. Replies the ms that were left
  // before, -1: not known; nil: neither of them holds it. A repeat means the same.
  virtual void move(script::Writer& out, const Step& step, const std::string& next) const = 0;
};

}  // namespace holdfast::sync
