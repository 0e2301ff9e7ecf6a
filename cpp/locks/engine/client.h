#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "locks/engine/closing.h"
#include "locks/sync/operation/callers_time.h"
#include "locks/sync/operation/context.h"
#include "locks/sync/recipes/recipe.h"
#include "redis/client.h"

namespace holdfast::engine {

// The options of a client.
struct ClientOptions {
  net::Endpoint endpoint;
  Lease lease;     // the watchdog's
  std::string id;  // empty: a fresh UUID
  std::string name_prefix;
  std::optional<std::string> label{};        // what the program is, for those who look at its holds
  std::optional<std::string> client_name{};  // how connections are called; empty: not at all
  Millis connect_timeout{5000};
  Millis command_timeout{5000};
  int retries = 10;
  std::optional<client::PubSub> pubsub;  // a cluster's; unset: depends on its servers
  bool resp3 = false;
  bool busy_poll = false;  // callers may look for a reply before they sleep, if there are two CPUs
  client::TrackingMode tracking =
      client::TrackingMode::kOff;  // whether servers track the keys of holds
  int replicas_to_wait = 0;        // the number of replicas that have to confirm a grant
  bool asynchronous = false;       // operations are awaited by event loops, not by threads
  Millis reauthenticate{0};        // how often credentials are renewed; 0: not while connected
  std::string guard{};             // the path of the guard's executable; empty: no guard
};

// A client of one deployment, thread-safe. It connects on first use. In a fork()ed child it starts
// anew, with a new id and without holds.
class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const ClientOptions& options() const { return options_; }
  std::string id() { return context()->client_id; }

  // The state that all operations of the client share, in this process.
  std::shared_ptr<const sync::Context> context();

  // The context for an operation, with the threads that it depends on: throws LimitReached, with
  // nothing begun, where they cannot be started; a later call tries it again.
  std::shared_ptr<const sync::Context> started();

  // The time that a caller gives to a call that begins now; and that of a caller whose time is
  // over.
  sync::CallersTime time(bool blocking, Duration timeout) {
    return {blocking, timeout, context()->clock.now()};
  }
  sync::CallersTime late() { return sync::CallersTime::over(context()->clock.now()); }

  // Whether a lock or synchronizer may have this name (without the prefix): in a cluster, all keys
  // and channels of it have to be in one slot. `recipe`: has its channel.
  Status check_name(const std::string& name, const sync::Recipe& recipe) const;

  sync::ExchangePtr ping();

  // For tests of programs: while `on`, its holds are not renewed.
  void pause_renewals(bool on);

  // The process of its guard; 0: it was made without one, is closed, or its guard has ended.
  int guard_pid();

  // Begins to close it: see Closing. `timeout`: at most the command timeout. Only the first call
  // has an effect.
  std::shared_ptr<Closing> close(Millis timeout, bool release_held = false);
  bool closed() const { return closed_.load(); }

 private:
  struct Core;
  struct Part;

  Core& core();

  Core* make_core(bool first);

  const ClientOptions options_;
  std::atomic<Core*> core_;
  std::atomic<bool> closed_{false};
};

}  // namespace holdfast::engine
