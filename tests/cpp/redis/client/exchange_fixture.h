#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redis/client/direct_exchange.h"
#include "redis/resp/command.h"
#include "support/scripted_stream.h"

namespace holdfast::client {

using simulation::NoLoop;
using simulation::Script;
using simulation::ScriptedStream;
using Exchanged = DirectExchange::Exchanged;
using Posted = DirectExchange::Posted;

// Asks for a word; its thread waits for the answer.
class Inquiry final : public Request {
 public:
  explicit Inquiry(std::string word) : word_(std::move(word)) {}

  std::string_view key() const override { return word_; }
  resp::ReplyKinds encode(std::string& out, bool by_text) const override {
    out += resp::Command({by_text ? "ASK BY TEXT" : "ASK", word_}).bytes();
    return replies;
  }
  void complete(Result<resp::Reply> reply, const Sent& sent) override {
    times = sent.times;
    if (reply.ok() && reply.value().is_integer()) number = reply.value().integer();
    answer = reply.ok() ? std::string(reply.value().text()) : reply.status().message();
    if (on_answer) on_answer();
    control.done.store(true);
  }
  void written() override { ++writings; }

  resp::ReplyKinds replies = resp::ReplyKinds::any();
  std::string answer;
  std::function<void()> on_answer;
  std::int64_t number = 0;
  int times = 0;
  int writings = 0;
  ServeControl control;

 private:
  const std::string word_;
};
using InquiryPtr = std::shared_ptr<Inquiry>;

class ExchangeFixture : public ::testing::Test, public ReportSink {
 protected:
  ~ExchangeFixture() override {
    if (connection) connection->close(Status::closed("over"));
  }

  void make(const std::string& service = {}) {
    Connection::Setup setup;
    setup.driver = driver;
    setup.link.service = service;
    setup.link.address = {"127.0.0.1", 6379, {}};
    setup.link.resp3 = resp3;
    setup.link.stats = stats;
    // Outlives the connection, which is a member of the fixture.
    setup.link.reports = std::shared_ptr<ReportSink>(std::shared_ptr<void>(), this);
    setup.open = [this](const StreamOptions&) { return std::make_unique<ScriptedStream>(script); };
    setup.neighbours.mine = [this](const Request&) { return mine; };
    setup.neighbours.hand_over = [](InFlightRequest, bool) { return Status::closed("elsewhere"); };
    connection = std::make_shared<Connection>(script.clock, loop, setup);
  }
  void open(const std::string& service = {}) {
    make(service);
    script.replies.push_back("+ready\r\n");
    greeted = submit("hello");
    wait(greeted);
    script.got.clear();
  }

  InquiryPtr submit(const std::string& word) {
    auto inquiry = std::make_shared<Inquiry>(word);
    inquiry->deadline = script.clock.now() + Millis(5000);
    EXPECT_TRUE(connection->submit(inquiry, &parker).ok());
    return inquiry;
  }
  std::string wait(const InquiryPtr& inquiry) {
    while (!inquiry->control.done) connection->serve(parker, inquiry->control, kNever);
    return inquiry->answer;
  }
  Exchanged exchange(const std::string& word = "word") {
    asked = std::make_shared<Inquiry>(word);
    asked->replies = kinds;
    asked->deadline = script.clock.now() + Millis(5000);
    asked->on_answer = on_answer;
    return DirectExchange(*connection, parker).exchange(asked, answer);
  }
  void report(Report report) override {
    if (report.kind == Report::Kind::kResolved) return resolved.push_back(std::move(report));
    errors.push_back(report.reason);
    script.unasked = false;
    script.clock.advance(Millis(2000));  // the rest before the next stream
  }
  // One whose reply may lie unread.
  Posted post(const std::string& word) {
    posted = std::make_shared<Inquiry>(word);
    posted->deadline = script.clock.now() + Millis(5000);
    posted->deferred = true;
    posted->replies = kinds;
    return DirectExchange(*connection, parker).post(posted);
  }

  Script script;
  NoLoop loop;
  Connection::Driver driver = Connection::Driver::kCallers;
  bool mine = true;
  bool resp3 = false;
  const std::shared_ptr<Stats> stats = std::make_shared<Stats>();
  InquiryPtr greeted;
  resp::ReplyKinds kinds = resp::ReplyKinds::any();  // of exchange() and post()
  std::vector<std::string> errors;                   // of the protocol
  std::vector<Report> resolved;                      // commands sent again
  std::shared_ptr<Connection> connection;
  Parker parker;
  InquiryPtr asked;
  std::function<void()> on_answer;
  InquiryPtr posted;
  DirectExchange::DirectReply answer;
};

}  // namespace holdfast::client
