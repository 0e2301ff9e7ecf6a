#include "redis/base/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace holdfast {
namespace {

TEST(Status, IsFineByDefault) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), Code::kOk);
}

TEST(Status, KnowsWhatFailed) {
  EXPECT_EQ(Status::unreachable("no way").code(), Code::kUnreachable);
  EXPECT_EQ(Status::invalid("no number").code(), Code::kInvalid);
  EXPECT_EQ(Status::closed("gone").code(), Code::kClosed);
  const Status status = Status::server("WRONGTYPE", "not a hash");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kServer);
  EXPECT_EQ(status.word(), "WRONGTYPE");
  EXPECT_EQ(status.message(), "not a hash");
}

TEST(Status, APrefixChangesTheMessageOnly) {
  const Status status = Status::server("OOM", "no memory").prefixed("release of 'a': ");
  EXPECT_EQ(status.code(), Code::kServer);
  EXPECT_EQ(status.word(), "OOM");
  EXPECT_EQ(status.message(), "release of 'a': no memory");
}

TEST(Result, HoldsAValueOrTheReason) {
  Result<std::unique_ptr<int>> value(std::make_unique<int>(7));
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value.value(), 7);
  const Result<int> none(Status::closed("closed"));
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::kClosed);
}

}  // namespace
}  // namespace holdfast
