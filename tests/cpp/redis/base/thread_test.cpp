#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>

#include "redis/base/process.h"

namespace holdfast {
namespace {

TEST(StartThread, BlocksTheThreadsSignalsButNotTheCallers) {
  sigset_t caller_before;
  pthread_sigmask(SIG_SETMASK, nullptr, &caller_before);
  ASSERT_EQ(sigismember(&caller_before, SIGINT), 0);

  sigset_t inside;
  start_thread("test", [&inside] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }).join();
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGPIPE}) {
    EXPECT_EQ(sigismember(&inside, signal), 1) << signal;
  }
  sigset_t caller_after;
  pthread_sigmask(SIG_SETMASK, nullptr, &caller_after);
  EXPECT_EQ(sigismember(&caller_after, SIGINT), 0);
}

TEST(StartThread, NamesTheThread) {
  char name[64] = {};
  start_thread("a-name-longer-than-allowed", [&name] {
    pthread_getname_np(pthread_self(), name, sizeof name);
  }).join();
  EXPECT_STREQ(name, "a-name-longer-t");
}

}  // namespace
}  // namespace holdfast
