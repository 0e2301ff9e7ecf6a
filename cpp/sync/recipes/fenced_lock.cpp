#include <charconv>

#include "sync/recipes/kinds.h"
#include "sync/recipes/lock.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;
using P = Part;

constexpr Steps fenced_steps() {
  Steps of = lock_steps();
  of.acquire = {lua::fenced_lock_acquire,
                {P::kName, P::kTokenCounter, P::kOwner, P::kLease, P::kCount}};
  of.transfer = {
      lua::fenced_lock_transfer,
      {P::kName, P::kLockChannel, P::kTokenCounter, P::kOwner, P::kNext, P::kLease, P::kPublish}};
  return of;
}
constexpr Steps kFencedSteps = fenced_steps();

// A token is text; all other replies of the steps are numbers, or nil.
std::optional<std::int64_t> token(const resp::Reply& reply) {
  if (reply.is_nil() || reply.is_integer()) return std::nullopt;
  std::int64_t value = 0;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class FencedLock final : public LockRecipe {
 public:
  using LockRecipe::LockRecipe;

  Answer acquired(const resp::Reply& reply) const override {
    const std::optional<std::int64_t> minted = token(reply);
    if (minted) return {Answer::Kind::kGranted, Millis(0), minted};
    return LockRecipe::acquired(reply);
  }

  Answer transferred(const resp::Reply& reply) const override {
    Answer answer = LockRecipe::transferred(reply);
    answer.value = token(reply);
    return answer;
  }
};

}  // namespace

const LockRecipe& fenced_lock_recipe() {
  static const FencedLock recipe(
      kFencedSteps, {"fenced_lock", keys::kLockChannel, Waiting::kInTurn, "fenced_lock"});
  return recipe;
}

}  // namespace holdfast::sync
