// The in-memory server says and does what a real one does with the same commands and scripts.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "redis/net/socket_transport.h"
#include "redis/net/support.h"
#include "redis/resp/command.h"
#include "redis/resp/reply.h"
#include "simulation/kind.h"
#include "support/commands.h"
#include "support/real_server.h"
#include "support/server.h"

namespace holdfast::simulation {
namespace {

constexpr int kCommands = 6000;
constexpr int kSteps = 3000;

// Commands with holes: K key, F field, member or item, N integer, S score, D end of an interval.
const char* const kTemplates[] = {"exists K K",
                                  "del K",
                                  "unlink K K",
                                  "type K",
                                  "pttl K",
                                  "ttl K",
                                  "pexpire K 90000",
                                  "pexpire K -1",
                                  "expire K 90",
                                  "pexpireat K 1",
                                  "persist K",
                                  "flushall",
                                  "get K",
                                  "getdel K",
                                  "set K N",
                                  "set K F px 90000",
                                  "set K N nx",
                                  "set K N xx keepttl",
                                  "set K N ex 90 nx",
                                  "set K N px 0",
                                  "set K N px",
                                  "incr K",
                                  "decr K",
                                  "incrby K N",
                                  "decrby K N",
                                  "incrby K F",
                                  "hset K F N",
                                  "hset K F N F F",
                                  "hset K F",
                                  "hsetnx K F N",
                                  "hget K F",
                                  "hmget K F F",
                                  "hgetall K",
                                  "hkeys K",
                                  "hvals K",
                                  "hdel K F F",
                                  "hexists K F",
                                  "hlen K",
                                  "hincrby K F N",
                                  "hincrby K F F",
                                  "lpush K F F",
                                  "rpush K F",
                                  "rpush K F F F",
                                  "lpop K",
                                  "rpop K",
                                  "llen K",
                                  "lindex K N",
                                  "lrange K N N",
                                  "lrange K 0 -1",
                                  "lrem K N F",
                                  "lrem K 0 F",
                                  "zadd K S F",
                                  "zadd K S F S F",
                                  "zadd K nx S F",
                                  "zadd K xx ch S F",
                                  "zadd K gt S F",
                                  "zadd K lt ch S F",
                                  "zadd K F F",
                                  "zadd K nx",
                                  "zincrby K S F",
                                  "zrem K F F",
                                  "zscore K F",
                                  "zrank K F",
                                  "zcard K",
                                  "zrange K N N",
                                  "zrange K 0 -1 withscores",
                                  "zrangebyscore K D D",
                                  "zrangebyscore K -inf +inf withscores limit 0 1",
                                  "zrangebyscore K D D limit 1 -1",
                                  "zcount K D D",
                                  "zcount K F D",
                                  "zremrangebyscore K D D",
                                  "zremrangebyrank K N N"};

// Scripts that return values as the server converts them.
const char* const kProbes[] = {"return 3.99",
                               "return -3.99",
                               "return true",
                               "return false",
                               "return nil",
                               "return {}",
                               "return {1, 'two', {3}, false, 5}",
                               "return {1, nil, 3}",
                               "return {ok = 'fine'}",
                               "return {err = 'ERR not fine'}",
                               "return redis.status_reply('fine')",
                               "return redis.error_reply('NOT fine')",
                               "return redis.call('set', KEYS[1], 1)",
                               "return redis.call('set', KEYS[1], 0.1)",
                               "return redis.call('set', KEYS[1], 2^53)",
                               "redis.call('set', KEYS[1], 2^53) return redis.call('get', KEYS[1])",
                               "return redis.call('set', KEYS[1], 'x').ok",
                               "return type(redis.call('get', 'missing'))",
                               "return type(redis.call('pttl', 'missing'))",
                               "return redis.call('hgetall', 'missing')",
                               "return #redis.call('time')",
                               "return tonumber(redis.call('time')[2]) < 1000000",
                               "redis.call('del', KEYS[1]) redis.call('rpush', KEYS[1], 'a') "
                               "return redis.call('get', KEYS[1])",
                               "redis.call('del', KEYS[1]) redis.call('rpush', KEYS[1], 'a') "
                               "return redis.pcall('get', KEYS[1]).err",
                               "return redis.call('get')",
                               "return redis.call()",
                               "return redis.call('get', {})",
                               "return redis.call('get', nil)",
                               "return #KEYS + #ARGV",
                               "return ARGV[1] .. KEYS[1]",
                               "return math.floor(7 / 2) .. string.format('%.0f', 2^53)",
                               "return 1 .. ''",
                               "return 1e15 .. ''",
                               "return tostring(nil)",
                               "return redis.call('publish', 'c', 'm')"};

// Scripts that both must refuse, each with a different message.
const char* const kRefused[] = {"return missing", "made = 1", "error('mine')", "return nil .. 'x'",
                                "this is no Lua"};

std::string bytes_of(const std::vector<std::string>& words) {
  return resp::Command(std::vector<std::string_view>(words.begin(), words.end())).bytes();
}

class DoubleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!net::RealServer::installed()) GTEST_SKIP() << "no redis-server or valkey-server on PATH";
    server_ = std::make_unique<net::RealServer>();
    real_ = std::make_unique<net::SocketTransport>(server_->address(), Millis(5000));
    ASSERT_EQ(net::connect(*real_).io, net::Io::kDone);
  }

  // Both servers get the same bytes; the real one's time runs by itself, the double's follows it.
  std::string ask_double(const std::string& bytes) {
    world_.advance_to(start_ + (std::chrono::steady_clock::now() - real_start_));
    CommandParser parser;
    std::vector<Command> commands;
    parser.feed(bytes, commands);
    return double_.execute(commands.at(0));
  }

  std::string ask_real(const std::string& bytes) {
    (void)net::write_all(*real_, bytes);
    std::string reply;
    for (resp::Reader reader;;) {
      reply += net::read_exactly(*real_, 1);
      reader.feed(&reply.back(), 1);
      if (reader.next().value()) return reply;
    }
  }

  // Remaining times may differ in their last digits, errors in what follows their code, and tokens
  // altogether: they are the server's clock, microseconds in 16 digits. Some steps of a kind are no
  // command at all.
  void compare(const std::string& bytes) {
    if (bytes.empty()) return;
    const std::string expected = ask_real(bytes);
    const std::string got = ask_double(bytes);
    if (expected[0] == '-') {
      ASSERT_EQ(code(got), code(expected)) << bytes;
    } else if (expected.substr(0, 4) == "$16\r") {
      ASSERT_EQ(got[0], '$') << bytes;
    } else {
      ASSERT_EQ(without_times(got), without_times(expected)) << bytes;
    }
    answers_.insert(expected.substr(0, 4));
  }

  // Of a reply, with the numbers above a second in steps of ten seconds.
  static std::string without_times(const std::string& reply) {
    std::istringstream lines(reply);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      const std::int64_t number = line[0] == ':' ? std::stoll(line.substr(1)) : 0;
      text += number > 1000 ? ":about " + std::to_string((number + 5000) / 10'000) : line;
    }
    return text;
  }

  static std::string code(const std::string& error) { return error.substr(0, error.find(' ')); }

  std::vector<std::string> filled(const std::string& command) {
    std::istringstream holes(command);
    std::vector<std::string> words;
    for (std::string word; holes >> word;) words.push_back(filled_hole(word));
    return words;
  }

  std::string filled_hole(const std::string& hole) {
    const std::uint64_t which = random_.below(4);
    if (hole == "K") return "key" + std::to_string(which);
    if (hole == "F") return "field" + std::to_string(which);
    if (hole == "N") return std::to_string(static_cast<int>(which) - 1);
    if (hole == "S") return which == 3 ? "1.5" : std::to_string(which);
    if (hole == "D") return which == 3 ? "(1" : std::to_string(which);
    return hole;
  }

  std::vector<std::string> random_command() {
    return filled(kTemplates[random_.below(std::size(kTemplates))]);
  }

  // The same, by a script.
  static std::string by_script(std::vector<std::string> words) {
    words.insert(words.begin(), {"EVAL", "return redis.call(unpack(ARGV))", "0"});
    return bytes_of(words);
  }

  void set_full(bool full) {
    double_.set_mood(full ? Server::Mood::kFull : Server::Mood::kWell);
    (void)ask_real(bytes_of({"CONFIG", "SET", "maxmemory", full ? "1" : "0"}));
  }

  void set_up(const Kind& kind) {
    for (const std::string& name : {std::string("lock0"), std::string("lock1")}) {
      kind.set_up(double_.data(), name);
      const std::string* text = double_.data().get<std::string>(name);
      if (text != nullptr) ask_real(bytes_of({"SET", name, *text}));
    }
  }

  std::string random_step(const Kind& kind) {
    const Side side = kind.sides()[random_.below(kind.sides().size())];
    const LockName name("lock" + std::to_string(random_.below(2)), side);
    const std::string owner = "me:" + std::to_string(random_.below(3));
    const int count = static_cast<int>(random_.below(3));
    const sync::HoldRecipe& recipe = kind.recipe(name);
    const sync::StepOptions options{kLease};
    sync::Step step{name, owner, count, kLease, options};
    const sync::Step attempt{name, owner, 1 + count / 2, kLease, options};
    std::string bytes;
    script::Writer out(bytes, true, "publish");
    switch (random_.below(9)) {
      case 0:
      case 1:
        recipe.steps.acquire.write(out, attempt);
        break;
      case 2:
      case 3:
        recipe.release(out, step);
        break;
      case 4:
        if (recipe.steps.transfer) {
          step.next = "me:3";
          recipe.steps.transfer.write(out, step);
          break;
        }
        [[fallthrough]];
      case 5:
        renew_some(out, recipe, name, owner);
        break;
      case 6:
        recipe.steps.extend.write(out, {name, owner, 0, kLease / 2, options});
        break;
      default:
        ask_something(out, step, kind);
    }
    return bytes;
  }

  // A batch of one to three.
  void renew_some(script::Writer& out, const sync::HoldRecipe& recipe, const LockName& name,
                  const std::string& owner) {
    const LockName other("lock2", name.side());
    lease::HoldFields holds{{&name, owner}, {&other, "me:0"}, {&name, "me:1"}};
    holds.resize(1 + random_.below(3), holds.front());
    recipe.renew(out, holds, kLease);
  }

  // And of a lock, what any client may do.
  void ask_something(script::Writer& out, const sync::Step& step, const Kind& kind) {
    const sync::LockRecipe* const lock = kind.lock_recipe(step.name);
    switch (lock == nullptr ? 0 : random_.below(6)) {
      case 0:
        return kind.recipe(step.name).steps.check.write(out, step);
      case 1:
        return lock->steps.locked.write(out, step);
      case 2:
        return lock->steps.ttl.write(out, step);
      case 3:
        return lock->steps.hold_count.write(out, step);
      default:
        return lock->steps.force_release.write(out, step);
    }
  }

  // Long, so that nothing expires and only the last digits of a remaining time may differ.
  static constexpr Millis kLease{100000};

  Random random_{7};
  World world_{1};
  Server double_{world_, 0};
  const TimePoint start_ = world_.now();
  const std::chrono::steady_clock::time_point real_start_ = std::chrono::steady_clock::now();
  std::unique_ptr<net::RealServer> server_;
  std::unique_ptr<net::SocketTransport> real_;
  std::set<std::string> answers_;
};

TEST_F(DoubleTest, CarriesOutEachCommandAsARealServerDoes) {
  std::set<std::string> tried{"time"};  // which is compared by a probe
  for (const char* command : kTemplates) tried.insert(filled(command)[0]);
  for (const auto& [name, command] : data_commands()) EXPECT_EQ(tried.count(name), 1U) << name;
  for (int i = 0; i < kCommands && !HasFatalFailure(); ++i) {
    const std::vector<std::string> command = random_command();
    compare(random_.chance(500) ? bytes_of(command) : by_script(command));
  }
  EXPECT_GT(answers_.size(), 15U);
}

TEST_F(DoubleTest, RefusesWhatARealServerWithoutMemoryRefuses) {
  for (int i = 0; i < kCommands && !HasFatalFailure(); ++i) {
    if (i % 20 == 0) set_full(i % 40 == 0);
    const std::vector<std::string> command = random_command();
    compare(random_.chance(500) ? bytes_of(command) : by_script(command));
  }
  set_full(true);
  compare(bytes_of({"EVAL", "return redis.call('set', 'a', 'b')", "0"}));
  compare(bytes_of({"EVAL", "redis.call('get', 'a') return redis.call('set', 'a', 'b')", "0"}));
  compare(bytes_of({"EVAL", "redis.call('del', 'a') return redis.call('set', 'a', 'b')", "0"}));
  compare(bytes_of({"EVAL", "return redis.pcall('set', 'a', 'b').err", "0"}));
}

TEST_F(DoubleTest, ConvertsValuesAsARealServerDoes) {
  for (const char* probe : kProbes) compare(bytes_of({"EVAL", probe, "1", "key", "argument"}));
  for (const char* probe : kRefused) {
    const std::string bytes = bytes_of({"EVAL", probe, "1", "key", "argument"});
    EXPECT_EQ(ask_real(bytes).substr(0, 4), "-ERR") << probe;
    EXPECT_EQ(ask_double(bytes).substr(0, 4), "-ERR") << probe;
  }
}

TEST_F(DoubleTest, RunsTheScriptsOfEachKindAsARealServerDoes) {
  for (const Kind* kind : kinds()) {
    ask_real(bytes_of({"FLUSHALL"}));
    ask_double(bytes_of({"FLUSHALL"}));
    set_up(*kind);
    for (int i = 0; i < kSteps && !HasFatalFailure(); ++i) compare(random_step(*kind));
  }
  EXPECT_GT(answers_.size(), 6U);
}

}  // namespace
}  // namespace holdfast::simulation
