#include "client/request_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::client {
namespace {

constexpr TimePoint kZero{std::chrono::hours(1)};

class Question final : public Request {
 public:
  explicit Question(TimePoint until) { deadline = until; }
  std::string_view key() const override { return "key"; }
  resp::ReplyKinds encode(std::string& out) const override {
    out += "?";
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> /*reply*/, const Sent& /*sent*/) override {}
  void written() override { ++heard; }
  int heard = 0;  // that it is written
};

std::weak_ptr<Request> add(RequestQueue& line, TimePoint deadline) {
  const auto question = std::make_shared<Question>(deadline);
  line.add({question});
  return question;
}

void abandon(const std::weak_ptr<Request>& request) {
  const std::shared_ptr<Request> there = request.lock();
  ASSERT_NE(there, nullptr);
  there->abandon();
}

TEST(RequestQueueTest, WhatIsNotWantedAndWasNeverSentLeavesWhenOthersAreOverdue) {
  RequestQueue line;
  const std::weak_ptr<Request> overdue = add(line, kZero);
  const std::weak_ptr<Request> unwanted = add(line, kNever);
  const std::weak_ptr<Request> wanted = add(line, kNever);
  abandon(unwanted);
  RequestQueue::Answers answers;
  line.drop_overdue(kZero, Status::unreachable("no server"), answers);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.front().to.request, overdue.lock());
  EXPECT_TRUE(unwanted.expired());
  EXPECT_FALSE(wanted.expired());
}

TEST(RequestQueueTest, ADeferredRequestHearsOnceOfEachTimeThatItIsWritten) {
  RequestQueue line;
  const auto question = std::make_shared<Question>(kNever);
  question->deferred = true;
  std::string out;
  (void)add(line, kNever);
  line.send(out, kZero);
  line.add({question});
  line.send(out, kZero);
  EXPECT_EQ(question->heard, 0);
  line.written();
  line.written();
  EXPECT_EQ(question->heard, 1);
  EXPECT_TRUE(line.has_awaited());
  line.broken();
  line.written();
  EXPECT_EQ(question->heard, 1);
  line.send(out, kZero);
  line.written();
  EXPECT_EQ(question->heard, 2);
}

TEST(RequestQueueTest, WhatIsOnTheWireKeepsItsPlaceThoughItIsNotWanted) {
  RequestQueue line;
  const std::weak_ptr<Request> unwanted = add(line, kNever);
  const std::weak_ptr<Request> wanted = add(line, kNever);
  std::string out;
  line.send(out, kZero);
  abandon(unwanted);
  (void)add(line, kZero);
  RequestQueue::Answers answers;
  line.drop_overdue(kZero, Status::unreachable("no server"), answers);
  EXPECT_EQ(line.take(resp::Reply(nullptr), answers), RequestQueue::Taken::kTaken);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers.back().to.request, unwanted.lock());
  EXPECT_EQ(line.take(resp::Reply(nullptr), answers), RequestQueue::Taken::kTaken);
  EXPECT_EQ(answers.back().to.request, wanted.lock());
}

}  // namespace
}  // namespace holdfast::client
