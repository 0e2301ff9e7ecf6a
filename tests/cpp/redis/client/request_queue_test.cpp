#include "redis/client/request_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::client {
namespace {

constexpr TimePoint kZero{std::chrono::hours(1)};
const net::Address kServer{"one.example", 6379, {}};

class SampleRequest final : public Request {
 public:
  explicit SampleRequest(TimePoint until) { deadline = until; }
  std::string_view key() const override { return "key"; }
  std::string_view subject() const override { return named; }
  std::string named = "key";
  resp::ReplyKinds encode(std::string& out, bool by_text) const override {
    out += by_text ? "text" : "?";
    return resp::ReplyKinds::any();
  }
  int preload(std::string& out) const override {
    out += loads ? "load load " : "";
    return loads ? 2 : 0;
  }
  RequestPtr follow_up() override { return behind; }
  bool loads = false;
  RequestPtr behind;
  void complete(Result<resp::Reply> /*reply*/, const Sent& /*sent*/) override {}
  void written() override { ++written_count; }
  int written_count = 0;  // that it is written
};

std::weak_ptr<Request> add(RequestQueue& line, TimePoint deadline) {
  const auto request = std::make_shared<SampleRequest>(deadline);
  line.add({request});
  return request;
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
  RequestQueue::Deliveries deliveries;
  line.drop_overdue(kZero, Status::unreachable("no server"), deliveries);
  ASSERT_EQ(deliveries.size(), 1U);
  EXPECT_EQ(deliveries.front().to.request, overdue.lock());
  EXPECT_TRUE(unwanted.expired());
  EXPECT_FALSE(wanted.expired());
}

TEST(RequestQueueTest, ADeferredRequestIsNotifiedOnceOfEachTimeThatItIsWritten) {
  RequestQueue line;
  const auto request = std::make_shared<SampleRequest>(kNever);
  request->deferred = true;
  std::string out;
  (void)add(line, kNever);
  line.send(out, kZero);
  line.add({request});
  line.send(out, kZero);
  EXPECT_EQ(request->written_count, 0);
  line.written();
  line.written();
  EXPECT_EQ(request->written_count, 1);
  EXPECT_TRUE(line.has_awaited());
  line.broken();
  line.written();
  EXPECT_EQ(request->written_count, 1);
  line.send(out, kZero);
  line.written();
  EXPECT_EQ(request->written_count, 2);
}

TEST(RequestQueueTest, WhatIsOnTheWireKeepsItsPlaceThoughItIsNotWanted) {
  RequestQueue line;
  const std::weak_ptr<Request> unwanted = add(line, kNever);
  const std::weak_ptr<Request> wanted = add(line, kNever);
  std::string out;
  line.send(out, kZero);
  abandon(unwanted);
  (void)add(line, kZero);
  RequestQueue::Deliveries deliveries;
  line.drop_overdue(kZero, Status::unreachable("no server"), deliveries);
  EXPECT_EQ(line.take(resp::Reply(nullptr), kServer, deliveries), RequestQueue::Taken::kTaken);
  ASSERT_EQ(deliveries.size(), 2U);
  EXPECT_EQ(deliveries.back().to.request, unwanted.lock());
  EXPECT_EQ(line.take(resp::Reply(nullptr), kServer, deliveries), RequestQueue::Taken::kTaken);
  EXPECT_EQ(deliveries.back().to.request, wanted.lock());
}

resp::Reply error(const std::string& text) {
  resp::Reader reader;
  const std::string bytes = "-" + text + "\r\n";
  reader.feed(bytes.data(), bytes.size());
  return std::move(*reader.next().value());
}

// The server does not know the script of a command.
class UnknownScriptTest : public ::testing::Test {
 protected:
  void add_and_send() {
    line.add({request});
    line.add({other});
    (void)sent();
  }
  std::string sent() {
    std::string out;
    (void)line.send(out, kZero);
    return out;
  }
  void reply(resp::Reply reply) {
    EXPECT_EQ(line.take(std::move(reply), kServer, deliveries), RequestQueue::Taken::kTaken);
  }
  void refuse() { reply(error("NOSCRIPT No matching script. Please use EVAL.")); }

  RequestQueue line;
  RequestQueue::Deliveries deliveries;
  const std::shared_ptr<SampleRequest> request = std::make_shared<SampleRequest>(kNever);
  const std::shared_ptr<SampleRequest> other = std::make_shared<SampleRequest>(kNever);
};

TEST_F(UnknownScriptTest, ItIsSentWithItsTextBehindWhatIsInLine) {
  add_and_send();
  const auto third = std::make_shared<SampleRequest>(kNever);
  line.add({third});
  refuse();
  EXPECT_TRUE(deliveries.empty());
  EXPECT_EQ(sent(), "?text");
  for (int i = 0; i < 3; ++i) reply(resp::Reply(nullptr));
  ASSERT_EQ(deliveries.size(), 3U);
  EXPECT_EQ(deliveries[0].to.request, other);
  EXPECT_EQ(deliveries[1].to.request, third);
  EXPECT_EQ(deliveries[2].to.request, request);
  EXPECT_EQ(deliveries[2].to.sent.times, 1) << "what the server did not execute does not count";
}

TEST_F(UnknownScriptTest, AServerThatDoesNotKnowTheTextEitherHasAnswered) {
  add_and_send();
  refuse();
  reply(resp::Reply(nullptr));
  (void)sent();
  refuse();
  ASSERT_EQ(deliveries.size(), 2U);
  EXPECT_TRUE(deliveries[1].reply.value().is_error());
  EXPECT_TRUE(line.empty());
}

TEST_F(UnknownScriptTest, WhoseCallerHasLeftItIsNotSentAgain) {
  add_and_send();
  request->abandon();
  refuse();
  ASSERT_EQ(deliveries.size(), 1U);
  EXPECT_TRUE(deliveries[0].reply.value().is_error());
  EXPECT_EQ(sent(), "");
}

TEST_F(UnknownScriptTest, ALaterCommandOfItsOwnerGoesFirst) {
  add_and_send();
  request->revoke();
  refuse();
  ASSERT_EQ(deliveries.size(), 1U);
  EXPECT_EQ(deliveries[0].reply.status().code(), Code::kRevoked);
  EXPECT_EQ(deliveries[0].to.sent.times, 0);
  EXPECT_EQ(sent(), "");
}

TEST_F(UnknownScriptTest, OfACommandWithoutATextItIsTheAnswer) {
  request->sends_text = Request::SendsText::kNever;
  add_and_send();
  refuse();
  ASSERT_EQ(deliveries.size(), 1U);
  EXPECT_TRUE(deliveries[0].reply.value().is_error());
}

TEST_F(UnknownScriptTest, RevokedOnceItIsInLineItEntersNoOtherLine) {
  add_and_send();
  refuse();
  EXPECT_EQ(sent(), "text");
  request->revoke();
  const std::vector<InFlightRequest> all = line.take_all();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].barred());
  EXPECT_TRUE(all[1].barred());
}

TEST_F(UnknownScriptTest, TheRepliesToWhatIsLoadedWithItAreDropped) {
  request->loads = true;
  line.add({request});
  EXPECT_EQ(sent(), "?");
  refuse();
  EXPECT_EQ(sent(), "load load text");
  reply(resp::Reply(nullptr));
  reply(error("NOPERM no rights"));
  EXPECT_TRUE(deliveries.empty());
  reply(resp::Reply(nullptr));
  ASSERT_EQ(deliveries.size(), 1U);
  EXPECT_TRUE(deliveries[0].reply.ok());
  EXPECT_TRUE(line.empty());
}

TEST_F(UnknownScriptTest, WhatHasToFollowItIsSentAgainBehindIt) {
  add_and_send();
  request->behind = std::make_shared<SampleRequest>(kNever);
  refuse();
  EXPECT_EQ(sent(), "text?");
}

class KeptReports final : public ReportSink {
 public:
  void report(Report report) override { all.push_back(std::move(report)); }
  std::vector<Report> all;
};

class ResolvedTest : public ::testing::Test {
 protected:
  void send() {
    std::string out;
    line.send(out, kZero);
  }
  void reply(resp::Reply reply) {
    EXPECT_EQ(line.take(std::move(reply), kServer, deliveries), RequestQueue::Taken::kTaken);
  }

  const std::shared_ptr<KeptReports> reports = std::make_shared<KeptReports>();
  RequestQueue line{reports};
  RequestQueue::Deliveries deliveries;
  const std::shared_ptr<SampleRequest> request = std::make_shared<SampleRequest>(kNever);
};

TEST_F(ResolvedTest, AReplyToACommandSentAgainIsReportedOnceWithItsKeyAndTheServer) {
  line.add({request});
  send();
  line.broken();
  send();
  line.broken();
  send();
  reply(resp::Reply(nullptr));
  ASSERT_EQ(reports->all.size(), 1U);
  EXPECT_EQ(reports->all[0].kind, Report::Kind::kResolved);
  EXPECT_EQ(reports->all[0].key, "key");
  EXPECT_EQ(reports->all[0].server, "one.example:6379");
}

TEST_F(ResolvedTest, AReplyToACommandSentOnceIsNotReported) {
  line.add({request});
  line.broken();  // before it was sent
  send();
  reply(resp::Reply(nullptr));
  EXPECT_EQ(deliveries.size(), 1U);
  EXPECT_TRUE(reports->all.empty());
}

TEST_F(ResolvedTest, ACommandThatOnlyServesOthersIsNotReported) {
  request->named.clear();
  line.add({request});
  send();
  line.broken();
  send();
  reply(resp::Reply(nullptr));
  EXPECT_TRUE(reports->all.empty());
}

TEST_F(ResolvedTest, ARedirectedCommandIsReportedByTheServerThatExecutesIt) {
  line.add({request});
  send();
  line.broken();
  send();
  reply(error("MOVED 1 two.example:6379"));
  EXPECT_TRUE(reports->all.empty());
  line.add(std::move(deliveries.front().to));
  send();
  reply(resp::Reply(nullptr));
  EXPECT_EQ(reports->all.size(), 1U);
}

TEST_F(ResolvedTest, ACommandThatIsGivenUpIsNotReported) {
  request->deadline = kZero;
  line.add({request});
  send();
  line.broken();
  send();
  line.drop_overdue(kZero, Status::unreachable("too late"), deliveries);
  reply(resp::Reply(nullptr));
  EXPECT_TRUE(reports->all.empty());
}

}  // namespace
}  // namespace holdfast::client
