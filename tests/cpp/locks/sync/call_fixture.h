#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "locks/lease/overview.h"
#include "locks/lease/watchdog.h"
#include "locks/sync/recipes/kinds.h"
#include "locks/sync/recipes/permit_semaphore.h"
#include "support/calls.h"
#include "support/kept_events.h"
#include "support/one_server.h"
#include "support/scripted_stream.h"

namespace holdfast::sync {

using simulation::KeptEvents;
using simulation::NoLoop;
using simulation::NoSubscriptions;
using simulation::OneServer;
using simulation::Script;
using simulation::ScriptedStream;

inline constexpr OwnerNumber kAlice{7};
inline constexpr OwnerNumber kBob{8};
inline constexpr Lease kLease{Millis(3000), true};
inline constexpr Millis kTimeout{5000};
inline constexpr std::uint64_t kId = 1;
inline const std::string kNil = "$-1\r\n";
inline const std::string kReleased = ":1\r\n";
inline const std::string kHeld = ":2000\r\n";
inline const std::string kNoScript = "-NOSCRIPT No matching script.\r\n";

// What an event loop gets.
class KeptOutcome final : public Completion {
 public:
  void done(std::uint64_t /*id*/, Outcome outcome) override {
    ++times;
    last = std::move(outcome);
  }
  int times = 0;
  std::optional<Outcome> last;
};

// Ctrl-C, at once.
class Impatient final : public Interrupt {
 public:
  bool pending() override { return true; }
};

// Who waits for a call.
enum class CallerKind { kThread, kTask };

// A kind, by its word, and what a server replies to its first attempt when it grants.
struct CalledKind {
  std::string word;
  const Recipe* recipe;
  std::string granted;
  Side side = Side::kWhole;
};

// One synchronizer, its client and its server. The first pair has made the stream; the caller is a
// thread that reads for itself, or a task for which the loop reads.
class CallFixture : public ::testing::Test {
 protected:
  void set_up(CallerKind caller, const CalledKind& kind) {
    caller_ = caller;
    client::Connection::Setup setup;
    using Driver = client::Connection::Driver;
    setup.driver = caller == CallerKind::kThread ? Driver::kCallers : Driver::kLoop;
    setup.open = [this](const client::StreamOptions&) {
      return std::make_unique<ScriptedStream>(script);
    };
    connection = std::make_shared<client::Connection>(script.clock, loop, setup);
    const auto topology = std::make_shared<OneServer>(connection);
    const auto keeper = std::make_shared<lease::Keeper>(script.clock, loop, "client", events);
    keeper->watchdog().set_topology(topology, kTimeout);
    context = std::shared_ptr<const Context>(
        new Context{script.clock, "client", kTimeout, topology, keeper,
                    std::make_shared<wait::WaitRegistry>(subscriptions),
                    std::make_shared<Timers>(script.clock, loop)});
    granted = kind.granted;
    lock = simulation::synchronizer(*kind.recipe, LockName("the lock", kind.side));
    acquire({granted});  // the first command makes the stream
    release({kReleased});
    script.got.clear();
  }
  // A waiter, a pending release and an armed timer keep the context.
  ~CallFixture() override {
    context->waits->closed(Status::closed("over")).run();
    context->topology->close(Status::closed("over"));
    context->keeper->close();
    script.clock.advance(std::chrono::hours(1));
    (void)context->timers->step(script.clock.now());
  }

  using Replies = std::initializer_list<std::string>;

  bool by_thread() const { return caller_ == CallerKind::kThread; }
  ExchangePtr acquire_call(OwnerNumber owner = kAlice, bool blocking = false) const {
    return simulation::acquire_call(context, {lock, AcquireArguments{owner, kLease, blocking}});
  }
  ExchangePtr release_call(OwnerNumber owner = kAlice, bool deferred = false) const {
    return simulation::release_call(context, lock, {owner, {}, deferred});
  }
  // Its caller waits for it, and gets these replies, one after the other.
  void run(ExchangePtr exchange, Replies replies) {
    begin(std::move(exchange), replies);
    if (by_thread()) {
      outcome = begun->wait(nullptr);
      return;
    }
    serve(replies);
    outcome = kept->last;
  }
  // Its caller leaves before the reply.
  void leave(ExchangePtr exchange) {
    begin(std::move(exchange), {});
    if (by_thread()) {
      Impatient impatient;
      outcome = begun->wait(&impatient);
      return;
    }
    serve({});
    begun->cancel();
  }
  void acquire(Replies replies, OwnerNumber owner = kAlice) { run(acquire_call(owner), replies); }
  void release(Replies replies, OwnerNumber owner = kAlice) { run(release_call(owner), replies); }
  // An attempt behind a command that is answered first.
  void acquire_behind(const std::string& pending, const std::string& reply) {
    if (by_thread()) return acquire({pending + reply});
    acquire({pending, reply});
  }
  // What is still to come is read by an attempt of another owner, which is refused.
  void read(const std::string& replies) {
    if (!by_thread()) return serve({replies});
    script.replies = {replies + kHeld};
    run_again(acquire_call(kBob));
  }
  // The connection's reader: it sends what there is, and takes these replies.
  void serve(Replies replies) {
    for (int i = 0; i < 3; ++i) (void)connection->step(script.clock.now());
    for (const std::string& reply : replies) {
      (void)connection->step(script.clock.now());  // what the reply before it has led to is sent
      script.replies = {reply};
      (void)connection->step(script.clock.now());
    }
  }
  // While the command is on its way; of a thread, right before it reads.
  void meanwhile(const std::function<void()>& event, ExchangePtr exchange, Replies replies) {
    if (by_thread()) {
      script.on_reading = event;
      return run(std::move(exchange), replies);
    }
    begin(std::move(exchange), {});
    serve({});
    event();
    serve(replies);
    outcome = kept->last;
  }

  Verdict verdict() const { return outcome.value().verdict; }
  lease::Keeper& keeper() const { return *context->keeper; }
  int count(OwnerNumber owner = kAlice) const { return keeper().count(lock->name, owner); }
  std::int64_t total(Stats::Counter counter) const { return context->stats->total(counter); }
  // The commands that the recipe writes, by `owner`.
  std::string acquire_command(OwnerNumber owner = kAlice, int holds = 1) const {
    std::string command;
    script::Writer writer(command, false, "publish");
    lock->recipe.steps.acquire.write(
        writer, {lock->name, {"client", owner}, holds, kLease.time, {lock->options.queue_timeout}});
    return command;
  }
  std::string release_command(OwnerNumber owner = kAlice, int left = 0) const {
    std::string command;
    script::Writer writer(command, false, "publish");
    lock->recipe.taking->release(writer, {lock->name, {"client", owner}, left});
    return command;
  }

  Script script;
  NoLoop loop;
  NoSubscriptions subscriptions;
  const std::shared_ptr<KeptEvents> events = std::make_shared<KeptEvents>();
  std::shared_ptr<client::Connection> connection;
  std::shared_ptr<const Context> context;
  SynchronizerPtr lock;
  std::string granted;
  std::shared_ptr<KeptOutcome> kept;
  ExchangePtr begun;
  std::optional<Outcome> outcome;

 private:
  void begin(ExchangePtr exchange, Replies replies) {
    outcome.reset();
    begun = std::move(exchange);
    if (by_thread()) {
      script.replies.assign(replies.begin(), replies.end());
      return;
    }
    kept = std::make_shared<KeptOutcome>();
    begun->finish_to(kept, kId);
  }
  void run_again(const ExchangePtr& exchange) { outcome = exchange->wait(nullptr); }

  CallerKind caller_ = CallerKind::kThread;
};

// All kinds whose grants are holds.
inline std::vector<CalledKind> kinds_with_holds() {
  return {{"lock", &lock_recipe(), kNil},
          {"fair_lock", &fair_lock_recipe(), kNil},
          {"fenced_lock", &fenced_lock_recipe(), "$2\r\n17\r\n"},
          {"spin_lock", &spin_lock_recipe(), kNil},
          {"read_lock", &read_lock_recipe(), kNil, Side::kRead},
          {"write_lock", &write_lock_recipe(), kNil, Side::kWrite},
          {"permit", &permit_kind().renewed, "*2\r\n:1\r\n:3000\r\n"}};
}

}  // namespace holdfast::sync
