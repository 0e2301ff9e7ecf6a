// A child of fork() gets copies of its parent's exchanges, and of the locks that other threads
// have.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <thread>

#include "locks/sync/call_fixture.h"

namespace holdfast::sync {
namespace {

// Holds up the thread that ends an exchange, with the exchange locked.
class HeldUp final : public Completion {
 public:
  void done(std::uint64_t /*id*/, Outcome /*outcome*/) override {
    reached.set_value();
    go_on.get_future().wait();
  }
  std::promise<void> reached;
  std::promise<void> go_on;
};

class InheritedTest : public CallFixture {
 protected:
  InheritedTest() { set_up(CallerKind::kTask, kinds_with_holds().front()); }
};

TEST_F(InheritedTest, AnExchangeThatIsLockedAtAForkIsNotWaitedForByTheEndOfTheChild) {
  const auto completion = std::make_shared<HeldUp>();
  begun = acquire_call();
  begun->finish_to(completion, kId);
  std::thread reader([this] { serve({granted}); });
  completion->reached.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    ::alarm(20);  // ends it, where it waits
    begun->end();
    _exit(begun->inherited() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  completion->go_on.set_value();
  reader.join();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(begun->inherited());
  EXPECT_EQ(count(), 1) << "the parent has its grant";
}

}  // namespace
}  // namespace holdfast::sync
