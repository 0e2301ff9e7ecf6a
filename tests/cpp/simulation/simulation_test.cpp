#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulation/latch_history.h"
#include "simulation/permits_history.h"
#include "simulation/schedule.h"
#include "simulation/semaphore_history.h"
#include "simulation/transfer_history.h"

namespace holdfast::simulation {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kUsualCount = 3000;
#else
constexpr std::uint64_t kUsualCount = 200000;
#endif

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What a history is of.
struct Subject {
  std::string word;
  std::function<std::unique_ptr<History>(std::uint64_t seed, bool tracing)> make;
  bool same_words = true;  // the same seed writes the same diary, word by word
};

template <typename Of>
Subject counter(const std::string& word) {
  return {word,
          [](std::uint64_t seed, bool tracing) { return std::make_unique<Of>(seed, tracing); },
          false};
}

Subject locks(const Kind& kind, const std::string& suffix, const Schedule::Variant& variant) {
  return {kind.word() + suffix, [&kind, variant](std::uint64_t seed, bool tracing) {
            return std::make_unique<Schedule>(kind, seed, tracing, variant);
          }};
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Kind* kind : kinds()) {
    all.push_back(locks(*kind, "", {}));
    all.push_back(locks(*kind, "_that_a_replica_confirms", {1}));
    all.push_back(locks(*kind, "_of_callers_that_leave", {0, 0, true}));
    const bool returns = !kind->recipe(LockName("a")).traits.has_permits;
    if (returns) all.push_back(locks(*kind, "_of_deferred_releases", {0, 700}));
    using Beside = Schedule::Beside;
    if (RedissonSteps::has(*kind)) {
      all.push_back(locks(*kind, "_beside_redisson", {0, 0, false, Beside::kRedisson}));
    }
    if (kind->sides().size() > 1) {
      all.push_back(locks(*kind, "_beside_shorter_readers_of_redisson",
                          {0, 0, false, Beside::kShorterReaders}));
    }
  }
  all.push_back(counter<SemaphoreHistory>("semaphore"));
  all.push_back(counter<PermitsHistory>("several_permits"));
  all.push_back(counter<LatchHistory>("count_down_latch"));
  all.push_back(counter<TransferHistory>("passing_on"));
  return all;
}

std::string diary_of(const Subject& subject, std::uint64_t seed) {
  std::string lines;
  for (const std::string& line : subject.make(seed, true)->run().diary) lines += line + '\n';
  return lines;
}

std::string word_of(const ::testing::TestParamInfo<Subject>& subject) { return subject.param.word; }

class Simulation : public ::testing::TestWithParam<Subject> {};

// HOLDFAST_SIM_COUNT schedules from HOLDFAST_SIM_SEED on.
TEST_P(Simulation, RandomSchedulesKeepTheInvariants) {
  const Subject& subject = GetParam();
  const std::uint64_t first = from_environment("HOLDFAST_SIM_SEED", 1);
  const std::uint64_t count =
      from_environment("HOLDFAST_SIM_COUNT", kUsualCount / subjects().size());
  std::uint64_t grants = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Report report = subject.make(seed, false)->run();
    grants += static_cast<std::uint64_t>(report.grants);
    steps += report.steps;
    ASSERT_FALSE(report.violation)
        << "seed " << seed << ": " << report.violation->what << '\n'
        << diary_of(subject, seed) << "again: HOLDFAST_SIM_SEED=" << seed
        << " HOLDFAST_SIM_COUNT=1 test_simulation --gtest_filter='*/" << subject.word << "'";
  }
  RecordProperty("grants", std::to_string(grants));
  RecordProperty("steps", std::to_string(steps));
  EXPECT_GE(grants, count);
}

TEST_P(Simulation, ASeedGivesTheSameHistoryAgain) {
  const Subject& subject = GetParam();
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    if (subject.same_words) {
      EXPECT_EQ(diary_of(subject, seed), diary_of(subject, seed)) << seed;
    }
    EXPECT_EQ(subject.make(seed, false)->run().steps, subject.make(seed, false)->run().steps);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Simulation, ::testing::ValuesIn(subjects()), word_of);

}  // namespace
}  // namespace holdfast::simulation
