#include "locks/sync/recipes/permit_semaphore.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "locks/sync/acquire_machine_fixture.h"

namespace holdfast::sync {
namespace {

const std::string kClient = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2";
const std::string kOther = "c0ffee00-0000-4000-8000-00000000000a";

TEST(PermitIdTest, ShowsTheNumberToItsClient) {
  for (const std::uint64_t number : {0ULL, 1ULL, 255ULL, 256ULL, ~0ULL}) {
    const std::string permit = permit_id(kClient, OwnerNumber{number});
    EXPECT_EQ(permit.size(), 16U);
    EXPECT_EQ(permit_number(kClient, permit), OwnerNumber{number});
    EXPECT_EQ(permit_number(kOther, permit), std::nullopt);
  }
}

TEST(PermitIdTest, IsAnotherForEachNumberAndClient) {
  std::set<std::string> permits;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    permits.insert(permit_id(kClient, OwnerNumber{number}));
    permits.insert(permit_id(kOther, OwnerNumber{number}));
  }
  EXPECT_EQ(permits.size(), 2000U);
}

TEST(PermitIdTest, IsWhatTheStepsSend) {
  const LockName name("s");
  const std::string permit = permit_id(kClient, OwnerNumber{7});
  const Step step{name, {kClient, OwnerNumber{7}}, 0, Millis(1)};
  std::string acquire;
  script::Writer acquires(acquire, false, "publish");
  permit_kind().renewed.steps.acquire.write(acquires, step);
  EXPECT_NE(acquire.find(permit), std::string::npos);
  std::string renew;
  script::Writer renews(renew, false);
  permit_kind().renewed.renew(renews, {{&name, step.owner}}, Millis(1));
  EXPECT_NE(renew.find(permit), std::string::npos);
}

class PermitGrantTest : public AcquireMachineTest {};

TEST_F(PermitGrantTest, LetsTheNextInLineTryWhenSomeAreLeft) {
  Answer answer{Answer::Kind::kGranted, Millis(500)};
  answer.more = true;
  start();
  EXPECT_EQ(answered({answer}), "granted");
  EXPECT_TRUE(machine().unsettled());
}

TEST_F(PermitGrantTest, SaysWhenTheNextInLineIsToLookAgain) {
  start();
  EXPECT_EQ(answered({{Answer::Kind::kGranted, Millis(500)}}), "granted");
  EXPECT_FALSE(machine().unsettled());
  EXPECT_EQ(last().until, at(502));
}

}  // namespace
}  // namespace holdfast::sync
