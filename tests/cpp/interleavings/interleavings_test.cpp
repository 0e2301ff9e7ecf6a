#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "interleavings/scenario.h"

namespace holdfast::interleavings {
namespace {

constexpr std::uint64_t kUsualCount = 2000;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Interleavings : public ::testing::TestWithParam<Callers> {};

std::string word_of(Callers callers) {
  switch (callers) {
    case Callers::kThreads:
      return "threads";
    case Callers::kTasks:
      return "tasks";
    case Callers::kDeferringThreads:
      return "deferring_threads";
    case Callers::kDeferringTasks:
      return "deferring_tasks";
    case Callers::kBatchingThreads:
      return "batching_threads";
  }
  return {};
}

std::string heading(Callers callers, std::uint64_t seed) {
  return "again: HOLDFAST_SIM_SEED=" + std::to_string(seed) +
         " HOLDFAST_SIM_COUNT=1 test_interleavings --gtest_filter='*/" + word_of(callers) + "'";
}

Report report_of(Callers callers, std::uint64_t seed, bool tracing) {
  return Scenario(callers, seed, tracing).run(heading(callers, seed));
}

std::string diary_of(Callers callers, std::uint64_t seed) {
  std::string lines;
  for (const std::string& line : report_of(callers, seed, true).diary) lines += line + '\n';
  return lines;
}

// HOLDFAST_SIM_COUNT scenarios from HOLDFAST_SIM_SEED on.
TEST_P(Interleavings, NoneLeaksOrDoublesALock) {
  const std::uint64_t first = from_environment("HOLDFAST_SIM_SEED", 1);
  const std::uint64_t count = from_environment("HOLDFAST_SIM_COUNT", kUsualCount);
  std::uint64_t points = 0;
  std::uint64_t grants = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (from_environment("HOLDFAST_SIM_TRACE", 0) != 0) std::cout << diary_of(GetParam(), seed);
    const Report report = report_of(GetParam(), seed, false);
    ASSERT_FALSE(report.violation) << "seed " << seed << ": " << report.violation->what << '\n'
                                   << diary_of(GetParam(), seed) << heading(GetParam(), seed);
    points += report.points;
    grants += static_cast<std::uint64_t>(report.grants);
  }
  RecordProperty("points", std::to_string(points));
  RecordProperty("grants", std::to_string(grants));
  EXPECT_GE(grants, count);
}

// But for the numbers of objects: another one may lie where one has been.
std::vector<std::string> order_of(Callers callers, std::uint64_t seed) {
  std::vector<std::string> lines = report_of(callers, seed, true).diary;
  for (std::string& line : lines) line = line.substr(0, line.find(" #"));
  return lines;
}

TEST_P(Interleavings, ASeedGivesTheSameOrderAgain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(order_of(GetParam(), seed), order_of(GetParam(), seed)) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Interleavings,
                         ::testing::Values(Callers::kThreads, Callers::kTasks,
                                           Callers::kDeferringThreads, Callers::kDeferringTasks,
                                           Callers::kBatchingThreads),
                         [](const auto& of) { return word_of(of.param); });

}  // namespace
}  // namespace holdfast::interleavings
