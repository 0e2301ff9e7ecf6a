#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "locks/lease/attempt.h"
#include "locks/lease/overview.h"
#include "locks/lease/watchdog.h"
#include "locks/sync/recipes/kinds.h"
#include "support/client.h"
#include "support/server.h"
#include "support/world.h"

namespace holdfast::lease {

using simulation::Client;
using simulation::Command;
using simulation::Server;
using Strings = std::vector<std::string>;

constexpr Millis kLease{3000};
constexpr OwnerNumber kAlice{1};
constexpr OwnerNumber kBob{2};
// A packet there and back, and the granularity of timers.
constexpr Millis kSoon{10};

// A keeper with its connection to a simulated server, on a simulated clock.
class LeaseKeeperTest : public ::testing::Test {
 protected:
  explicit LeaseKeeperTest(bool tracks = false) : tracks_(tracks) {
    network_.weather.slow_per_mille = 0;
    client_->on_event = [this](const Event& event) {
      events.push_back(event.name + " of " + std::to_string(event.owner) + " " + word(event.kind) +
                       event.reason);
      lost_at = world.now();
      if (event.kind == Event::Kind::kLost) cause = event.cause;
    };
    server.on_renewal = [this](const auto&, const auto&, const auto&) {
      renewals.push_back(world.now());
    };
  }
  ~LeaseKeeperTest() override {
    if (!client_->closed()) client_->close();
    loop_.run(kSoon);
    loop_.stop();
  }

  static std::string word(Event::Kind kind) {
    if (kind == Event::Kind::kLostAfterRelease) return "lost late: ";
    if (kind == Event::Kind::kUnreleased) return "not released: ";
    if (kind == Event::Kind::kReleased) return "released";
    if (kind == Event::Kind::kClosed) return "closed";
    if (kind == Event::Kind::kOverlong) return "overlong: ";
    return kind == Event::Kind::kLost ? "lost: " : "abandoned by ";
  }

  Keeper& keeper() { return client_->keeper(); }
  Client& client() { return *client_; }
  void pass(Duration time) { loop_.run(time); }

  // By what plan the owner would attempt to acquire it now, and nothing comes of it.
  AttemptPlan attempt(OwnerNumber owner) {
    Attempt begun(keeper(), name, owner);
    return begun.begin();
  }

  // What an acquisition does: on the server, and with the keeper.
  void grant(OwnerNumber owner, int count, Lease lease, std::uint64_t listener = 0) {
    const std::string field = owner_field("client", owner);
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    sync::lock_recipe().steps.acquire.write(writer, {name, field, count, lease.time});
    ASSERT_EQ(execute(bytes), "$-1\r\n");
    Attempt attempt(keeper(), name, owner);
    (void)attempt.begin();
    Grant granted{name, owner, count, lease, world.now(), &sync::lock_recipe(), listener};
    granted.at = world.now();
    ASSERT_TRUE(attempt.granted(granted));
  }
  void renewed(OwnerNumber owner, int count = 1) { grant(owner, count, {kLease, true}); }
  void fixed(OwnerNumber owner, Millis lease, int count = 1) {
    grant(owner, count, {lease, false});
  }

  // And a release.
  void release(OwnerNumber owner) {
    const ReleasePlan plan = keeper().releases.begin(name, owner, {});
    std::string bytes;
    script::Writer writer(bytes, true, "publish");
    const std::string field = owner_field("client", owner);
    sync::lock_recipe().release(writer, {name, field, plan.remaining, Millis(0)});
    execute(bytes);
    keeper().releases.done(name, owner, plan);
  }

  std::string execute(const std::string& bytes) {
    simulation::CommandParser parser;
    std::vector<Command> commands;
    parser.feed(bytes, commands);
    return server.execute(commands.at(0));
  }

  // The wire of the renewals breaks.
  void break_connection() {
    for (const auto& wire : network_.open_wires()) wire->cut(false);
  }

  std::int64_t server_ttl() { return server.data().pttl(name.text()); }

  Duration longest_pause(TimePoint since) const {
    Duration longest{};
    for (const TimePoint at : renewals) longest = std::max(longest, at - std::exchange(since, at));
    return longest;
  }

  simulation::World world{1};
  Server server{world, 0};
  Strings events;
  TimePoint lost_at{};
  Event::Cause cause = Event::Cause::kOther;  // of the newest loss
  std::vector<TimePoint> renewals;
  const LockName name{"lock"};

 private:
  simulation::ClientPlan plan() const {
    simulation::ClientPlan plan{"client", kLease, Millis(1000), 10};
    plan.tracks = tracks_;
    return plan;
  }

  const bool tracks_;
  simulation::Network network_{world, server};
  simulation::SteppedLoop loop_{world, network_};
  const std::shared_ptr<Client> client_ = Client::make(world, network_, loop_, plan());
};

}  // namespace holdfast::lease
