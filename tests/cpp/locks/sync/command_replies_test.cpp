#include "locks/sync/operation/command_replies.h"

#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lua_scripts.h"

namespace holdfast::sync {
namespace {

using Words = std::vector<std::string>;

Words words_in(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool allows(const std::string& command, std::string_view bytes) {
  resp::Reader reader;
  reader.feed(bytes.data(), bytes.size());
  return replies_to(words_in(command)).allow(*reader.next().value());
}

void expect_allowed(const std::string& command, const std::vector<std::string_view>& replies) {
  for (const std::string_view bytes : replies) EXPECT_TRUE(allows(command, bytes)) << bytes;
  EXPECT_TRUE(allows(command, "-ERR any\r\n"));
}

void expect_refused(const std::string& command, const std::vector<std::string_view>& replies) {
  for (const std::string_view bytes : replies) EXPECT_FALSE(allows(command, bytes)) << bytes;
}

TEST(CommandRepliesTest, AValueIsATextOrNone) {
  expect_allowed("GET k", {"$1\r\na\r\n", "$-1\r\n", "_\r\n", "+a\r\n", "$2\r\nOK\r\n"});
  expect_refused("get k", {"+OK\r\n", ":1\r\n", "*0\r\n"});
}

TEST(CommandRepliesTest, ANumberOfKeysIsAtMostThoseThatWereNamed) {
  expect_allowed("EXISTS a", {":0\r\n", ":1\r\n"});
  expect_refused("EXISTS a", {":2\r\n", ":-1\r\n", "$-1\r\n", "+OK\r\n"});
  expect_allowed("DEL a b", {":2\r\n"});
  expect_refused("DEL a b", {":3\r\n"});
  expect_allowed("HDEL a f g", {":2\r\n"});
  expect_refused("HDEL a f g", {":3\r\n"});
  expect_refused("PEXPIRE a 1", {":2\r\n"});
  expect_allowed("PTTL a", {":-2\r\n", ":9\r\n"});
  expect_refused("PTTL a", {":-3\r\n", "$1\r\n1\r\n"});
}

TEST(CommandRepliesTest, AHashIsAMapOrAListOfFieldsAndValues) {
  expect_allowed("HGETALL h", {"*0\r\n", "%0\r\n", "*2\r\n$1\r\na\r\n$1\r\n1\r\n",
                               "%1\r\n$1\r\na\r\n$1\r\n1\r\n"});
  expect_refused("HGETALL h", {"*1\r\n$1\r\na\r\n", "*2\r\n$1\r\na\r\n:1\r\n", "$-1\r\n",
                               "*2\r\n$1\r\na\r\n$-1\r\n"});
}

TEST(CommandRepliesTest, EachFieldHasAnElement) {
  expect_allowed("HMGET h f g", {"*2\r\n$-1\r\n$1\r\n1\r\n", "*2\r\n_\r\n_\r\n"});
  expect_refused("HMGET h f g", {"*1\r\n$-1\r\n", "*3\r\n_\r\n_\r\n_\r\n", "*2\r\n:1\r\n_\r\n",
                                 "*2\r\n-ERR x\r\n_\r\n"});
}

TEST(CommandRepliesTest, MembersHaveScoresInListsOrPairs) {
  const std::string command = "ZRANGE z 0 -1 withscores";
  EXPECT_TRUE(has_scores(words_in(command)));
  expect_allowed(command, {"*0\r\n", "*2\r\n$1\r\na\r\n$3\r\n1.5\r\n", "*2\r\n$1\r\na\r\n,1.5\r\n",
                           "*1\r\n*2\r\n$1\r\na\r\n,1.5\r\n", "*1\r\n*2\r\n$1\r\na\r\n,inf\r\n",
                           "*2\r\n$1\r\na\r\n$5\r\n1e+20\r\n", "*2\r\n$1\r\na\r\n$4\r\n-inf\r\n"});
  expect_refused(command, {"*1\r\n$1\r\na\r\n", "*2\r\n$1\r\na\r\n$2\r\n1.\r\n",
                           "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*1\r\n*1\r\n$1\r\na\r\n",
                           "*2\r\n$1\r\na\r\n$0\r\n\r\n", "*2\r\n$1\r\na\r\n$3\r\n1-2\r\n"});
  EXPECT_FALSE(has_scores(words_in("ZRANGE z 0 -1")));
  expect_allowed("ZRANGE z 0 -1", {"*1\r\n$1\r\na\r\n"});
  expect_refused("ZRANGE z 0 -1", {"*1\r\n:1\r\n", "$-1\r\n"});
  expect_refused("LRANGE l 0 -1", {"*1\r\n$-1\r\n", ":1\r\n"});
}

TEST(CommandRepliesTest, TheClockHasTwoNumbers) {
  expect_allowed("TIME", {"*2\r\n$1\r\n1\r\n$1\r\n2\r\n"});
  expect_refused("TIME", {"*1\r\n$1\r\n1\r\n", "*2\r\n$1\r\n1\r\n$1\r\nx\r\n", "$-1\r\n"});
}

TEST(CommandRepliesTest, ServersHaveHostsAndPorts) {
  const std::string_view range =
      "*1\r\n*4\r\n:0\r\n:9\r\n*4\r\n$1\r\nh\r\n:6379\r\n$1\r\ni\r\n*0\r\n*2\r\n$-1\r\n:1\r\n";
  expect_allowed("CLUSTER SLOTS", {"*0\r\n", range});
  expect_refused("CLUSTER SLOTS", {"*1\r\n*1\r\n:0\r\n", "*1\r\n:0\r\n",
                                   "*1\r\n*3\r\n:0\r\n:9\r\n*1\r\n$1\r\nh\r\n", "+OK\r\n"});
  const std::string address = "SENTINEL get-master-addr-by-name s";
  expect_allowed(address, {"$-1\r\n", "*2\r\n$1\r\nh\r\n$4\r\n6379\r\n"});
  expect_refused(address, {"*1\r\n$1\r\nh\r\n", "*2\r\n$1\r\nh\r\n$1\r\nx\r\n"});
}

TEST(CommandRepliesTest, AScriptHasTheRepliesOfItsHeader) {
  Words words = {"EVAL", "\n" + std::string(script::lua::slots_acquire.text) + "\n", "0"};
  EXPECT_EQ(replies_to(words), script::lua::slots_acquire.replies);
  words[1] = script::lua::lock_renew.text;  // about a number of locks that only its caller knows
  EXPECT_EQ(replies_to(words), resp::ReplyKinds::any());
  words[1] = "return 1";
  EXPECT_EQ(replies_to(words), resp::ReplyKinds::any());
}

TEST(CommandRepliesTest, OtherCommandsAndFormsCanHaveAnyReply) {
  for (const char* command :
       {"TYPE k", "GET", "GET a b", "CLIENT", "CLIENT GETNAME", "ZRANGE z 0 1 REV", "ZADD z NX 1 a",
        "PEXPIRE k 1 NX", "SET k v", "SET k v NX GET"}) {
    EXPECT_EQ(replies_to(words_in(command)), resp::ReplyKinds::any()) << command;
  }
  EXPECT_EQ(replies_to({""}), resp::ReplyKinds::any());
  expect_refused("SET k v PX 1", {"$-1\r\n", "$2\r\nOK\r\n"});
  expect_allowed("SET k v PX 1", {"+OK\r\n"});
}

}  // namespace
}  // namespace holdfast::sync
