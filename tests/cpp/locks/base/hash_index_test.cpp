#include "locks/base/hash_index.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace holdfast {
namespace {

using Index = HashIndex<const int*>;

auto is(const int& value) {
  return [&value](const int* other) { return other == &value; };
}
bool any(const int* /*value*/) { return true; }

TEST(HashIndex, FindsAValueByItsHashUntilItIsErased) {
  Index index;
  const int value = 1;
  EXPECT_EQ(index.find(7, is(value)), nullptr);
  index.add(7, &value);
  EXPECT_EQ(index.find(8, is(value)), nullptr);
  const int* const* const found = index.find(7, is(value));
  ASSERT_NE(found, nullptr);
  index.erase(found);
  EXPECT_EQ(index.find(7, any), nullptr);
  EXPECT_TRUE(index.empty());
}

TEST(HashIndex, KeepsSeveralValuesOfOneHashApart) {
  Index index;
  const std::vector<int> values(100);
  for (const int& value : values) index.add(0, &value);
  for (const int& value : values) {
    const int* const* const found = index.find(0, is(value));
    ASSERT_NE(found, nullptr);
    index.erase(found);
    EXPECT_EQ(index.find(0, is(value)), nullptr);
  }
}

// Hashes that are close together, so that entries stand away from their homes.
TEST(HashIndex, HasWhatAMapHasAfterAnyChanges) {
  std::mt19937_64 random(1);
  Index index;
  std::multimap<std::uint64_t, const int*> model;
  std::vector<int> values(3000);
  for (int round = 0; round < 40'000; ++round) {
    // It grows for a while, then shrinks.
    const bool grows = round % 8000 < 4000;
    if (model.empty() || random() % 4 < (grows ? 3U : 1U)) {
      const std::uint64_t hash = random() % 200;
      const int* const value = &values[random() % values.size()];
      index.add(hash, value);
      model.emplace(hash, value);
    } else {
      const auto one = model.lower_bound(random() % 200);
      if (one == model.end()) continue;
      const int* const* const found = index.find(one->first, is(*one->second));
      ASSERT_NE(found, nullptr);
      index.erase(found);
      model.erase(one);
    }
    ASSERT_EQ(index.size(), model.size());
  }
  std::multiset<const int*> seen;
  index.each([&](const int* value) { seen.insert(value); });
  std::multiset<const int*> expected;
  for (const auto& [hash, value] : model) {
    EXPECT_NE(index.find(hash, is(*value)), nullptr);
    expected.insert(value);
  }
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace holdfast
