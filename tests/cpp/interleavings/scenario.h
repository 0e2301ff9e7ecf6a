#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interleavings/lock_group.h"
#include "interleavings/scheduler.h"
#include "support/calls.h"
#include "support/client.h"
#include "support/network.h"
#include "support/server.h"

namespace holdfast::interleavings {

using simulation::Client;
using simulation::Network;
using simulation::Server;
using simulation::SteppedLoop;
using simulation::Violation;

// Who waits for the operations of a scenario's owners.
enum class Callers {
  kThreads,           // threads, which read for themselves and are interrupted now and then
  kTasks,             // tasks, for which the loop reads, and which are cancelled now and then
  kDeferringThreads,  // the same, and many releases are deferred
  kDeferringTasks,
  kBatchingThreads,  // threads that send and read for themselves, beside one that sends in batches
};

struct Report {
  std::optional<Violation> violation;
  std::uint64_t points = 0;
  int grants = 0;
  std::vector<std::string> diary;
};

// A few owners, of one client or two, acquire and release one lock, each in a thread of the
// Scheduler, in some beside a thread that acquires and releases several other locks at once; two
// more threads are the engine's loop and the network with the server, a last one
// closes the client. The server refuses to work for a while, connections break, callers leave and
// release again: all by a seed. No lease ends during a scenario.
class Scenario final : private simulation::Witness {
 public:
  Scenario(Callers callers, std::uint64_t seed, bool tracing);
  ~Scenario() override;
  Scenario(const Scenario&) = delete;
  Scenario& operator=(const Scenario&) = delete;

  Report run(const std::string& heading);

 private:
  struct Owner {
    std::shared_ptr<Client> client;
    OwnerNumber number;
    std::string field;
    Random random;
    bool inside = false;  // it was granted the lock, and has not begun to release it
  };
  class Mail;
  class Interruptions;

  void plan();
  void plan_faults();
  void cut(bool executed);
  void add_owner(const std::shared_ptr<Client>& client);
  void start_threads();

  // Bodies of threads.
  void live(Owner& owner);
  void live_with_group();
  void drive_loop();
  void drive_network();
  void close_all();

  bool acquire(Owner& owner);
  void stay(Owner& owner);
  void rest(Owner& owner);
  void release(Owner& owner);
  std::optional<sync::Outcome> ask_for(Owner& owner, const sync::AcquireArguments& request);
  std::optional<sync::Outcome> give_up(Owner& owner);
  void notified(const Event& event);
  std::optional<sync::Outcome> await(Owner& owner, const sync::ExchangePtr& exchange);
  void sleep(Duration time);
  void await_rest(const Client& client);
  void close(Client& client);

  void executed(const script::Script& script, const simulation::Words& command,
                const simulation::Answer& answer) override;
  void published(const std::string& /*channel*/) override {}
  void forgot() override {}
  bool on_server(const std::string& field);
  void check_owners();
  void blame(const std::string& what);

  const bool threads_;  // are the callers
  const bool batches_;  // one of them does
  const bool defer_;    // they do, many releases
  const sync::LockRecipe& recipe_;
  const LockName name_;
  const sync::SynchronizerPtr lock_;
  Random random_;
  World world_;
  Server server_;
  Network network_;
  SteppedLoop loop_;
  Scheduler scheduler_;
  std::vector<std::shared_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Owner>> owners_;
  std::optional<LockGroup> group_;  // of the first client
  std::size_t living_ = 0;
  TimePoint closes_at_ = kNever;  // kNever: when all owners have ended
  bool closing_ = false;
  std::optional<Violation> violation_;
  int grants_ = 0;
};

}  // namespace holdfast::interleavings
