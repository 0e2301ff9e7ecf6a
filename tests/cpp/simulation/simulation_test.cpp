#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "simulation/schedule.h"

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

std::string diary_of(const Kind& kind, std::uint64_t seed, int replicas) {
  std::string lines;
  const Report report = Schedule(kind, seed, true, replicas).run();
  for (const std::string& line : report.diary) lines += line + '\n';
  return lines;
}

std::string word_of(const ::testing::TestParamInfo<const Kind*>& kind) {
  return kind.param->word();
}

class Simulation : public ::testing::TestWithParam<const Kind*> {
 protected:
  void run_schedules(int replicas);
};

// HOLDFAST_SIM_COUNT schedules from HOLDFAST_SIM_SEED on.
void Simulation::run_schedules(int replicas) {
  const Kind& kind = *GetParam();
  const std::uint64_t first = from_environment("HOLDFAST_SIM_SEED", 1);
  const std::uint64_t count = from_environment("HOLDFAST_SIM_COUNT", kUsualCount / kinds().size());
  std::uint64_t grants = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Report report = Schedule(kind, seed, false, replicas).run();
    grants += static_cast<std::uint64_t>(report.grants);
    steps += report.steps;
    ASSERT_FALSE(report.violation)
        << "seed " << seed << ": " << report.violation->what << '\n'
        << diary_of(kind, seed, replicas) << "again: HOLDFAST_SIM_SEED=" << seed
        << " HOLDFAST_SIM_COUNT=1 test_simulation --gtest_filter='*/" << kind.word() << "'";
  }
  RecordProperty("grants", std::to_string(grants));
  RecordProperty("steps", std::to_string(steps));
  EXPECT_GE(grants, count);
}

TEST_P(Simulation, RandomSchedulesKeepTheInvariants) { run_schedules(0); }

TEST_P(Simulation, SoTheyDoWhereAReplicaConfirmsEachGrantOrNot) { run_schedules(1); }

TEST_P(Simulation, ASeedGivesTheSameHistoryAgain) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    EXPECT_EQ(diary_of(*GetParam(), seed, 1), diary_of(*GetParam(), seed, 1)) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Simulation, ::testing::ValuesIn(kinds()), word_of);

}  // namespace
}  // namespace holdfast::simulation
