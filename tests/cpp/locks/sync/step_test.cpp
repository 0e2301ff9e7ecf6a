#include "locks/sync/recipes/step.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "locks/base/types.h"
#include "locks/sync/recipes/kinds.h"
#include "lua_scripts.h"
#include "redis/script/writer.h"

namespace holdfast::sync {
namespace {

const LockName kName("myLock");

std::string released(const Step& step) {
  std::string bytes;
  script::Writer out(bytes, false, "publish");
  lock_recipe().release(out, step);
  return bytes;
}

std::string command(const script::Script& script, std::initializer_list<std::string_view> parts) {
  std::string bytes;
  {
    script::Writer out(bytes, false);
    script::Call call = out.call(script);
    for (const std::string_view part : parts) call << part;
  }
  return bytes;
}

Step last_release(std::string_view other, Millis stays) {
  Step step{kName, {"client", OwnerNumber{7}}};
  step.other = other;
  step.stays = stays;
  return step;
}

TEST(StepTest, AReleaseBeforeTheMinimumHoldTimeLeavesTheLockToItsKeeper) {
  constexpr std::string_view kChannel = "redisson_lock__channel:{myLock}";
  EXPECT_EQ(released(last_release({}, Millis(500))),
            command(script::lua::lock_retain,
                    {"myLock", kChannel, "client:7", "client:7", "client:0", "500", "publish"}));
  EXPECT_EQ(released(last_release("ticket:9", Millis(500))),
            command(script::lua::lock_retain,
                    {"myLock", kChannel, "client:7", "ticket:9", "client:0", "500", "publish"}));
}

TEST(StepTest, AReleaseOfAHoldThatMayHaveGoneNamesBothFields) {
  EXPECT_EQ(released(last_release("ticket:9", Millis(0))),
            command(script::lua::lock_release_either, {"myLock", "redisson_lock__channel:{myLock}",
                                                       "client:7", "ticket:9", "publish"}));
}

TEST(StepTest, AWaiterForAChangeSaysWhichRevisionItKnows) {
  std::string bytes;
  script::Writer out(bytes, false);
  Step step{kName};
  step.options.amount = -5;
  revision().recipe.steps.acquire.write(out, step);
  EXPECT_EQ(bytes,
            command(script::lua::revision_changed, {"myLock", "holdfast_state:{myLock}", "-5"}));
  EXPECT_EQ(revision().recipe.taking, nullptr);
}

TEST(StepTest, TheOwnerIsThatOfTheStepAfterAnyOther) {
  for (const std::string_view client : {"client", "another", "client"}) {
    for (const std::uint64_t number : {7U, 8U}) {
      const Step step{kName, {client, OwnerNumber{number}}};
      const std::string field = std::string(client) + ':' + std::to_string(number);
      EXPECT_NE(released(step).find("\r\n" + field + "\r\n"), std::string::npos) << field;
    }
  }
}

TEST(StepTest, AnEmbeddedScriptGoesAsIfItsParametersWereCounted) {
  for (const script::Script* const each : script::lua::all) {
    std::string embedded;
    std::string counted;
    script::Writer(embedded, false).call(*each);
    script::Script without_head = *each;
    without_head.head = {};
    script::Writer(counted, false).call(without_head);
    EXPECT_EQ(embedded, counted) << each->name;
  }
}

}  // namespace
}  // namespace holdfast::sync
