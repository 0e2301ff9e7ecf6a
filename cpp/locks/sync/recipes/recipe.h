#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "locks/base/types.h"
#include "locks/lease/renewal.h"
#include "locks/sync/recipes/backoff.h"
#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/step.h"
#include "locks/wait/wait_registry.h"
#include "redis/resp/reply.h"
#include "redis/script/writer.h"

namespace holdfast::sync {

constexpr std::int64_t kHoldsGone = -3;  // the reply of the locks' scripts for Answer::Kind::kGone
constexpr Millis kWithoutTtl{-1};        // Answer::ttl of what is held without a time limit

// The server's answer to an attempt.
struct Answer {
  enum class Kind {
    kGranted,
    kHeld,      // by another owner, for `ttl` more; negative: without a time limit
    kGone,      // the caller's earlier holds are gone
    kObjected,  // its terms are not the server's
  };
  Kind kind = Kind::kGranted;
  Millis ttl{0};  // with a grant: when the next waiter is to try again; 0: after the lease
  std::optional<std::int64_t>
      value{};        // the value of a grant (token); of a refusal: the number of free permits
  bool more = false;  // granted, with permits left for the next waiter
  std::optional<std::int64_t> other{};  // the number of permits, if not AcquireOptions::setup
  bool foreign = false;  // with a refusal: the key never expires, so another program wrote it
};

// The refusal of a lock whose key has that TTL.
inline Answer held(Millis ttl) {
  Answer answer{Answer::Kind::kHeld, ttl};
  answer.foreign = ttl == kWithoutTtl;
  return answer;
}

// Further options of an acquisition, for the kinds that have them.
struct AcquireOptions {
  Millis queue_timeout{0};  // how long the server keeps its place in the queue; 0: takes none
  Backoff backoff{};        // polling waiters' (Waiting::kBackOff)
  Millis at_least{0};       // minimum hold time from the first grant
  Purpose purpose{};        // for acquires that have none
};

using wait::Waiting;

// A plain command.
inline constexpr script::Script kHashGet{
    "HGET", {}, {}, script::kNumberReplies, 1, 1, "*3\r\n$4\r\nHGET\r\n"};

// The commands of a kind, each with its replies; empty: the kind has no such step.
struct Steps {
  Row acquire{};  // see Recipe::acquired()
  // Replies n >= 1: free now, and n - 1 subscribers received the message; 0: holds are left; nil:
  // the owner's field does not exist.
  Row release{};
  Row release_either{};  // releases a last hold that may be under Step::other by now
  Row retain{};          // the same, and the lock stays closed for Step::stays
  // Writes the grant of the owner once more, for replicas to confirm; never restores it. Of
  // holds: see lease::Renewal, as of the next two.
  Row write_again{};
  Row renew{};  // Row::write_each()
  Row check{};
  Row extend{};  // sets the lease anew, shorter or longer. Replies 1, or 0: not held
  // Hands the lock to Step::next, another owner of this client and a waiter (kInTurn) for any such
  // kind: by the next waiter's recipe, not the owner's. Not of a kind whose grant or release says
  // more. Replies nil: the owner does not hold it.
  Row transfer{};
  // Gives the hold of the owner, a ticket or not, to Step::next, for Step::lease. Replies the ms
  // that were left before, -1: not known; nil: neither of them holds it. A repetition has the same
  // effect.
  Row move{};
  Row force_release{};  // replies 1: it was held, 0: it was not
  Row locked{};         // replies > 0: held
  Row hold_count{};     // replies a number, or nil: 0
  Row ttl{};            // replies ms, -1, or -2
};

// The traits of a kind beside its commands.
struct Traits {
  std::string_view kind{};  // the word for it, for observers
  Key channel{};            // on which owners wait
  Waiting waiting = Waiting::kInTurn;
  std::string_view ticket{};  // its word in a ticket; empty: its holds cannot be moved
  bool has_permits = false;   // several owners may have it at a time, as many as there are permits
  bool grants_end = false;    // with their lease, also of a kind without holds
  // After release() has taken it back, a later attempt of this owner (a request's slot) is not
  // granted.
  bool undone_for_good = false;
  // The message that is itself the grant, regardless of the state by then (kTogether); empty: none.
  std::string_view granting_message{};
  // A further channel, whose messages concern its waiters as well, in the slot of the first one;
  // null: none.
  const Key* beside = nullptr;
};

class TakingRecipe;
class HoldRecipe;

// A kind of synchronizer: its commands, and the meaning of replies. Recipes are stateless: one
// object for each kind, shared by all. The classes below stand for the abilities of a kind; code
// for any kind checks them by `taking` and `holding`.
class Recipe {
 public:
  Recipe(const Steps& its_steps, const Traits& its_traits) : steps(its_steps), traits(its_traits) {}
  virtual ~Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;

  // The scripts that a caller waits for.
  virtual std::vector<const script::Script*> scripts() const;
  // Empty: there is none.
  std::string channel_beside(const LockName& name) const {
    return traits.beside == nullptr ? std::string() : traits.beside->of(name);
  }
  // The channel on which `owner` (a field) waits.
  virtual std::string channel(const LockName& name, const std::string& owner) const;
  virtual Answer acquired(const resp::Reply& reply) const = 0;
  // By the reply to Steps::transfer.
  virtual Answer transferred(const resp::Reply& reply) const;

  // A grant ends with its lease, whether the client records it or not.
  bool grants_end() const { return holding != nullptr || traits.grants_end; }

  const Steps& steps;
  const Traits traits;
  // Not null: an attempt may change something on the server.
  const TakingRecipe* taking = nullptr;
  // Not null: a grant is a hold with a lease, which the client records.
  const HoldRecipe* holding = nullptr;
};

// A kind that takes something from the server, and can give it back.
class TakingRecipe : public Recipe {
 public:
  TakingRecipe(const Steps& its_steps, const Traits& its_traits) : Recipe(its_steps, its_traits) {
    taking = this;
  }
  // Chosen by the step's data, here only: Steps::release, release_either or retain.
  void release(script::Writer& out, const Step& step) const;
  // By the reply to Steps::write_again: it is there, or gone.
  virtual void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                           Millis lease) const;
  virtual bool written_again(const resp::Reply& reply) const = 0;
};

// A kind with holds: each ends with a lease, which the client renews.
class HoldRecipe : public TakingRecipe, public lease::Renewal {
 public:
  HoldRecipe(const Steps& its_steps, const Traits& its_traits)
      : TakingRecipe(its_steps, its_traits) {
    holding = this;
  }
  void write_again(script::Writer& out, const LockName& name, const std::string& owner,
                   Millis lease) const final {
    renew(out, {{&name, owner}}, lease);
  }
  bool written_again(const resp::Reply& reply) const final { return renewed(reply, 1)[0] != 0; }
  std::string_view word() const final { return traits.kind; }

  void renew(script::Writer& out, const lease::HoldFields& holds, Millis lease) const final {
    steps.renew.write_each(out, holds, lease);
  }
  std::size_t renewed_keys() const final { return steps.renew.keys_of_each(); }
  void check(script::Writer& out, const LockName& name, const std::string& owner) const final {
    steps.check.write(out, {name, owner});
  }
};

// A lock: owners hold it, and all clients can query it.
class LockRecipe : public HoldRecipe {
 public:
  using HoldRecipe::HoldRecipe;
  Answer acquired(const resp::Reply& reply) const override;
};

}  // namespace holdfast::sync
