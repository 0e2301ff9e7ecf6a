#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/client/connection.h"
#include "redis/resp/command.h"
#include "support/scripted_peer.h"
#include "support/world.h"

namespace holdfast::client {

using Strings = std::vector<std::string>;

inline constexpr Millis kTimeout{1000};

// Asks for a word, and writes down what comes.
class SampleRequest final : public Request {
 public:
  SampleRequest(std::string word, Strings& log) : word_(std::move(word)), log_(log) {}

  std::string_view key() const override { return {}; }
  resp::ReplyKinds encode(std::string& out, bool /*by_text*/) const override {
    out += resp::Command({"ASK", word_}).bytes();
    return resp::ReplyKinds::any();
  }
  void complete(Result<resp::Reply> reply, const Sent& sent) override {
    times = sent.times;
    last = sent.last;
    tracked = sent.tracked;
    if (reply.ok()) {
      log_.push_back(word_ + " = " + std::string(reply.value().text()));
    } else {
      log_.push_back(word_ + " failed");
      why = reply.status();
    }
  }

  int times = 0;
  TimePoint last{};
  Tracked tracked = Tracked::kNothing;
  Status why;

 private:
  const std::string word_;
  Strings& log_;
};

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    network.weather.slow_per_mille = 0;
    options.command_timeout = options.connect_timeout = kTimeout;
    options.retries = 3;
  }
  ~ConnectionTest() override {
    if (connection) connection->close(Status::closed("over"));
    loop.run(Millis(10));
    loop.stop();
  }

  void submit_until(const std::string& word, Millis timeout) {
    if (!connection) open();
    auto request = std::make_shared<SampleRequest>(word, log);
    request->connect_deadline = world.now() + timeout;
    submitted = connection->submit(request);
  }

  std::shared_ptr<SampleRequest> ask(const std::string& word, TimePoint deadline = kNever,
                                     bool persistent = false) {
    if (!connection) open();
    auto request = std::make_shared<SampleRequest>(word, log);
    request->deadline = deadline;
    request->persistent = persistent;
    submitted = connection->submit(request);
    return request;
  }

  void open() {
    Connection::Setup setup;
    setup.link = options;
    setup.driver = Connection::Driver::kLoop;
    setup.on_lost = [this] { ++lost; };
    setup.redirect = [this](const InFlightRequest& what, std::string_view error) {
      if (error.substr(0, 5) != "MOVED") return false;
      moved.push_back(what);
      return true;
    };
    setup.on_changes = [this](const KeyChanges& changes) {
      for (const std::string& key : changes.keys) log.push_back(key + " changed");
      if (changes.all) log.emplace_back("anything changed");
    };
    setup.open = [this](const StreamOptions&) { return network.open("client"); };
    connection = std::make_shared<Connection>(world, loop, setup);
  }

  // Until the first request was answered.
  void connect() {
    ask("hello");
    loop.run(Millis(20));
    ASSERT_EQ(log, Strings{"hello = hello"});
    log.clear();
    peer.got.clear();
  }

  void silent() {
    peer.answer = [](const std::string&) { return std::string(); };
  }
  void answering() {
    peer.answer = [](const std::string& words) { return "+" + words.substr(4) + "\r\n"; };
  }

  simulation::World world{1};
  simulation::ScriptedPeer peer;
  simulation::Network network{world, peer};
  simulation::SteppedLoop loop{world, network};
  StreamOptions options;
  std::shared_ptr<Connection> connection;
  Status submitted;
  Strings log;
  std::vector<InFlightRequest> moved;
  int lost = 0;
};

}  // namespace holdfast::client
