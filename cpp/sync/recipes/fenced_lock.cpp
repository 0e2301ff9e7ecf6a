#include <charconv>

#include "lua_scripts.h"
#include "script/writer.h"
#include "sync/recipes/keys.h"
#include "sync/recipes/kinds.h"
#include "sync/recipes/lock.h"

namespace holdfast::sync {

namespace {

namespace lua = script::lua;

// A token is text; all other replies of the steps are numbers, or nil.
std::optional<std::int64_t> token(const resp::Reply& reply) {
  if (reply.is_nil() || reply.is_integer()) return std::nullopt;
  std::int64_t value = 0;
  const std::string_view text = reply.text();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class FencedLock final : public ReentrantLock {
 public:
  std::string_view kind() const override { return "fenced_lock"; }
  std::vector<const script::Script*> scripts() const override {
    return {&lua::fenced_lock_acquire, &lua::lock_release, &lua::fenced_lock_transfer,
            &lua::lock_renew,          &lua::lock_check,   &lua::lock_extend,
            &lua::lock_force_release,  &lua::lock_ttl};
  }

  std::string_view ticket_kind() const override { return "fenced_lock"; }

  void acquire(script::Writer& out, const Step& step) const override {
    out.call(lua::fenced_lock_acquire) << step.name.bytes() << token_counter(step.name)
                                       << step.owner << step.lease.count() << step.count;
  }

  Answer acquired(const resp::Reply& reply) const override {
    const std::optional<std::int64_t> minted = token(reply);
    if (minted) return {Answer::Kind::kGranted, Millis(0), minted};
    return ReentrantLock::acquired(reply);
  }

  void transfer(script::Writer& out, const Step& step,
                const std::string& next_waiter) const override {
    out.call(lua::fenced_lock_transfer)
        << step.name.bytes() << lock_channel(step.name).bytes() << token_counter(step.name)
        << step.owner << next_waiter << step.lease.count() << out.publish();
  }

  Answer transferred(const resp::Reply& reply) const override {
    Answer answer = ReentrantLock::transferred(reply);
    answer.value = token(reply);
    return answer;
  }
};

}  // namespace

const LockRecipe& fenced_lock_recipe() {
  static const FencedLock recipe;
  return recipe;
}

}  // namespace holdfast::sync
