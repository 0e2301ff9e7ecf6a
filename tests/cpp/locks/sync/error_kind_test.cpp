#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "locks/sync/operation/operation.h"

namespace holdfast::sync {
namespace {

// What servers before version 7 make of an error that a command of a script has met.
std::string wrapped(const std::string& error) {
  return "ERR Error running script (call to f_4ca238f611c9d0ae4e9a75a5dbac22aedc1e44ac): "
         "@user_script:7: @user_script: 7: " +
         error;
}

TEST(TemporaryError, IsTheSameInsideASentence) {
  EXPECT_TRUE(is_temporary("READONLY You can't write against a read only replica."));
  EXPECT_TRUE(is_temporary(wrapped("-READONLY You can't write against a read only replica.")));
  EXPECT_FALSE(is_temporary(wrapped("-OOM command not allowed when used memory > 'maxmemory'.")));
  EXPECT_TRUE(
      is_temporary("ERR Error running script (call to f_4ca2): @user_script:2: TRYAGAIN later"));
}

TEST(TemporaryError, PassesAtItsServerOrMeansThatAnotherOneIsThePrimary) {
  const auto judged = [](const char* word) {
    EXPECT_TRUE(is_temporary(word)) << word;
    return std::pair(resp::passes_there(word), resp::is_of_old_topology(word));
  };
  for (const char* word : {"LOADING", "BUSY", "TRYAGAIN", "NOREPLICAS", "MISCONF", "UNBLOCKED"}) {
    EXPECT_EQ(judged(word), std::pair(true, false)) << word;
  }
  for (const char* word : {"CLUSTERDOWN", "READONLY"}) {
    EXPECT_EQ(judged(word), std::pair(false, true)) << word;
  }
  EXPECT_EQ(judged("MASTERDOWN"), std::pair(true, true));
  for (const char* word : {"MOVED", "ASK"}) EXPECT_EQ(judged(word), std::pair(false, false));
}

TEST(PaceOfARelease, OutlastsWhatACallDoesNot) {
  using resp::Pace;
  for (const char* word : {"LOADING", "BUSY", "TRYAGAIN", "NOREPLICAS", "MISCONF", "MASTERDOWN",
                           "CLUSTERDOWN", "READONLY", "MOVED", "ASK", "UNBLOCKED"}) {
    EXPECT_EQ(resp::pace_of_release(word), Pace::kSoon) << word;
  }
  EXPECT_EQ(resp::pace_of_release(wrapped("-OOM command not allowed")), Pace::kSoon);
  EXPECT_FALSE(is_temporary("OOM"));
  for (const char* word : {"WRONGPASS", "NOAUTH", "DENIED"}) {
    EXPECT_EQ(resp::pace_of_release(word), Pace::kEachSecond) << word;
    EXPECT_FALSE(is_temporary(word)) << word;
  }
  for (const char* word : {"NOPERM", "WRONGTYPE", "ERR", "NOSCRIPT", ""}) {
    EXPECT_EQ(resp::pace_of_release(word), Pace::kNever) << word;
  }
}

// As Redis 6.2 and 7.0, and Valkey 9, answer.
TEST(UnknownCommand, IsOnThatLineOfItsScript) {
  const auto line = [](const std::string& text) { return resp::line_of_unknown_command(text); };
  const std::string redis = "ERR Unknown Redis command called from script";
  EXPECT_EQ(line(wrapped(redis.substr(4))), 7U);
  EXPECT_EQ(line(redis + " script: 5fd03fc3bc08cd518c64fd28290d99c5f0060791, on @user_script:3."),
            3U);
  EXPECT_EQ(line("ERR Unknown command called from script script: on @user_script:12."), 12U);
  EXPECT_EQ(line(redis), std::nullopt);
  EXPECT_EQ(line("OOM command not allowed script: on @user_script:12."), std::nullopt);
}

TEST(UnknownScript, IsNoTemporaryError) {
  constexpr const char* kText = "NOSCRIPT No matching script. Please use EVAL.";
  EXPECT_TRUE(resp::is_unknown_script(kText));
  EXPECT_FALSE(is_temporary(kText));
}

TEST(ErrorWord, IsThatOfTheErrorThatWasMet) {
  EXPECT_EQ(error_word("OOM command not allowed"), "OOM");
  EXPECT_EQ(error_word(wrapped("-OOM command not allowed")), "OOM");
  EXPECT_EQ(error_word("ERR WRONGTYPE Operation against a key"), "WRONGTYPE");
  EXPECT_EQ(error_word("ERR unknown command"), "ERR");
  EXPECT_EQ(error_word("ERR Error running script"), "ERR");
  EXPECT_EQ(error_word("ERR Error running script: @user_script"), "ERR");
  EXPECT_EQ(error_word(""), "");
}

TEST(ErrorStatus, NamesTheKeyTheServerAndWhatToDo) {
  const Status status =
      error_status(wrapped("-READONLY You can't write"), LockName("mine"), "host:6379");
  EXPECT_EQ(status.word(), "READONLY");
  EXPECT_EQ(status.message(),
            "'mine' on host:6379: READONLY You can't write; this server is a replica: name the "
            "primary in the URL");
}

// As Redis 7.0 and 7.2, and Valkey 8 and 9, answer.
TEST(ErrorStatus, SaysNothingAboutTheScript) {
  const std::string place = " script: c7874ce10244d59fa7a530394a4fade8a8dec20a, on @user_script:1.";
  const auto message = [&](const std::string& text) {
    return error_status(text + place, LockName("mine"), "host:6379").message();
  };
  const std::string hint = "; grant the user the rights that the documentation lists";
  const std::string old = "The user executing the script can't run this command or subcommand";
  EXPECT_EQ(message("ERR " + old), "'mine' on host:6379: " + old + hint);
  const std::string fresh = "ACL failure in script: User few has no permissions to run 'hset'";
  EXPECT_EQ(message("ERR " + fresh), "'mine' on host:6379: " + fresh + hint);
  EXPECT_EQ(message("OOM command not allowed").find("script"), std::string::npos);
  const std::string valkey = fresh + " script: on @user_script:12.";
  EXPECT_EQ(error_status(valkey, LockName("mine"), "host:6379").message(),
            "'mine' on host:6379: " + fresh + hint);
}

}  // namespace
}  // namespace holdfast::sync
