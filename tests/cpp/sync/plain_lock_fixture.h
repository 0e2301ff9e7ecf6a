#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/one_server.h"
#include "support/scripted_stream.h"
#include "sync/kinds.h"
#include "sync/plain_lock.h"

namespace holdfast::sync {

using simulation::NoLoop;
using simulation::NoSubscriptions;
using simulation::OneServer;
using simulation::Script;
using simulation::ScriptedStream;

inline constexpr OwnerNumber kAlice{7};
inline constexpr OwnerNumber kBob{8};
inline constexpr Lease kLease{Millis(3000), true};
inline constexpr Millis kPatience{5000};
inline const std::string kGranted = "$-1\r\n";
inline const std::string kReleased = ":1\r\n";

class KeptEvents final : public lease::EventSink {
 public:
  void post(lease::Event event) override { all.push_back(std::move(event)); }
  std::vector<lease::Event> all;
};

// Ctrl-C, at once.
class Impatient final : public Interrupt {
 public:
  bool pending() override { return true; }
};

// One lock of a kind, its client and its server. The first pair has made the stream.
class PlainLockFixture : public ::testing::Test {
 protected:
  explicit PlainLockFixture(const LockRecipe& kind = lock_recipe(), Side side = Side::kWhole,
                            const std::string& granted = kGranted)
      : recipe(kind), name("the lock", side), lock(kind, name) {
    client::Connection::Setup setup;
    setup.open = [this](const client::StreamOptions&) {
      return std::make_unique<ScriptedStream>(script);
    };
    const auto connection = std::make_shared<client::Connection>(script.clock, loop, setup);
    const auto topology = std::make_shared<OneServer>(connection);
    const auto keeper = std::make_shared<lease::LeaseKeeper>(script.clock, loop, "client", events);
    keeper->set_topology(topology);
    context = std::shared_ptr<const Context>(
        new Context{script.clock, "client", kPatience, topology, keeper,
                    std::make_shared<wait::WaitRegistry>(subscriptions),
                    std::make_shared<Timers>(script.clock, loop)});
    script.replies = {granted, kReleased};  // the first command makes the stream
    acquire();
    release();
    script.got.clear();
  }
  // A pending release and an armed timer keep the context.
  ~PlainLockFixture() override {
    context->topology->close(Status::closed("over"));
    context->keeper->close();
    (void)context->timers->step(script.clock.now() + std::chrono::hours(1));
  }

  // As an engine::Lock does it.
  void acquire(OwnerNumber owner = kAlice, Interrupt* interrupt = nullptr, bool blocking = false) {
    const auto make = [&](TimePoint begun) {
      AcquireRequest request{name, owner, kLease, blocking, begun};
      return std::make_shared<AcquireOperation>(context, recipe, std::move(request));
    };
    waited = lock.acquire(context, {owner, kLease, 0}, make, interrupt);
  }
  void release(OwnerNumber owner = kAlice, Interrupt* interrupt = nullptr) {
    const auto make = [&] {
      return std::make_shared<ReleaseOperation>(context, recipe,
                                                ReleaseOperation::What{name, owner, false});
    };
    waited = lock.release(context, owner, make, interrupt);
  }

  void release_deferred(OwnerNumber owner = kAlice, Interrupt* interrupt = nullptr) {
    const auto make = [&] {
      return std::make_shared<ReleaseOperation>(context, recipe,
                                                ReleaseOperation::What{name, owner, false, true});
    };
    waited = lock.release_deferred(context, owner, make, interrupt);
  }

  bool plain() const { return waited && !waited->exchange; }
  Verdict verdict() const { return waited->outcome.value().verdict; }
  lease::LeaseKeeper& keeper() { return *context->keeper; }
  std::int64_t total(Stats::Counter counter) const { return context->stats->total(counter); }

  Script script;
  NoLoop loop;
  NoSubscriptions subscriptions;
  const std::shared_ptr<KeptEvents> events = std::make_shared<KeptEvents>();
  const LockRecipe& recipe;
  const LockName name;
  std::shared_ptr<const Context> context;
  PlainLock lock;
  std::optional<Waited> waited;
};

}  // namespace holdfast::sync
