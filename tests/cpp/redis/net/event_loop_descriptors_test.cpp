#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <vector>

#include "redis/net/event_loop.h"
#include "redis/net/scripted.h"

namespace holdfast::net {
namespace {

TEST(EventLoopDescriptors, AReopenedDescriptorOfTheSameNumberIsWatched) {
  auto sockets = std::make_unique<SocketPair>();
  int number = -1;
  const auto pollable = scripted([&](TimePoint, int step) {
    if (step == 2) {
      sockets.reset();
      sockets = std::make_unique<SocketPair>();
      EXPECT_EQ(sockets->near.get(), number);
    }
    number = sockets->near.get();
    while (sockets->receive()) continue;
    return readable(number);
  });
  EventLoop loop(kClock, "test");
  loop.drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 1));
  loop.drive(pollable);
  ASSERT_TRUE(reaches(*pollable, 2));
  settle(loop);
  sockets->send();
  EXPECT_TRUE(reaches(*pollable, 3));
}

TEST(EventLoopDescriptors, ANumberPassesFromOnePollableToAnother) {
  EventLoop loop(kClock, "test");
  auto sockets = std::make_unique<SocketPair>();
  const int number = sockets->near.get();
  const auto loser = scripted([&](TimePoint, int step) {
    if (step == 1) return readable(number);
    if (step == 2) sockets.reset();
    return step < 3 ? Interest() : done();
  });
  loop.drive(loser);
  ASSERT_TRUE(reaches(*loser, 1));
  loop.drive(loser);
  ASSERT_TRUE(reaches(*loser, 2));

  const SocketPair next;
  ASSERT_EQ(next.near.get(), number);
  const auto winner = scripted([&](TimePoint, int) {
    while (next.receive()) continue;
    return readable(next.near.get());
  });
  loop.drive(winner);
  ASSERT_TRUE(reaches(*winner, 1));
  loop.drive(loser);
  ASSERT_TRUE(reaches(*loser, 3));
  next.send();
  EXPECT_TRUE(reaches(*winner, 2));
  loop.stop();
}

TEST(EventLoopDescriptors, KeepsSteppingAPollableWhoseDescriptorCannotBeWatched) {
  EventLoop loop(kClock, "test");
  const int closed = SocketPair().near.get();
  const auto pollable = scripted([&](TimePoint, int) { return readable(closed); });
  loop.drive(pollable);
  EXPECT_TRUE(reaches(*pollable, 3));
}

// A token goes round through sockets; each station often closes its socket and opens another.
class Station final : public Pollable {
 public:
  void connect_to(Station& next) { next_ = &next; }

  Interest step(TimePoint) override {
    char byte = 0;
    while (read(sockets_->near.get(), &byte, 1) == 1) {
      ++passed_;
      next_->sockets_->send();
    }
    if (++steps_ % 3 == 0 && !token_is_near()) sockets_ = std::make_unique<SocketPair>();
    return readable(sockets_->near.get());
  }

  void begin() const { sockets_->send(); }
  int passed() const { return passed_; }

 private:
  bool token_is_near() const {
    char byte = 0;
    return recv(sockets_->near.get(), &byte, 1, MSG_PEEK) == 1;
  }

  std::unique_ptr<SocketPair> sockets_ = std::make_unique<SocketPair>();
  Station* next_ = nullptr;
  std::atomic<int> passed_{0};
  int steps_ = 0;
};

TEST(EventLoopDescriptors, ServesManyWhoseDescriptorsChange) {
  std::vector<std::shared_ptr<Station>> ring;
  for (int i = 0; i < 40; ++i) ring.push_back(std::make_shared<Station>());
  for (std::size_t i = 0; i < ring.size(); ++i) ring[i]->connect_to(*ring[(i + 1) % ring.size()]);
  ring[0]->begin();
  EventLoop loop(kClock, "test");
  for (const auto& station : ring) loop.drive(station);
  EXPECT_TRUE(eventually([&] { return ring[7]->passed() >= 200; }));
  loop.stop();
}

}  // namespace
}  // namespace holdfast::net
