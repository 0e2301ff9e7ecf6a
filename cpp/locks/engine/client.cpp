#include "locks/engine/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "locks/base/types.h"
#include "locks/engine/engine.h"
#include "locks/engine/guarded.h"
#include "locks/engine/loss_signals.h"
#include "locks/engine/reauthentication.h"
#include "locks/engine/wait_hub.h"
#include "locks/lease/watchdog.h"
#include "locks/sync/operation/query_operation.h"
#include "locks/sync/recipes/keys.h"
#include "locks/sync/recipes/kinds.h"
#include "lua_scripts.h"
#include "redis/base/mutex.h"
#include "redis/base/process.h"
#include "redis/base/status.h"
#include "redis/client.h"

namespace holdfast::engine {

namespace {

// A connection for renewals is silent for so long or a third of the lease, until it is given up.
constexpr Millis kShortestRenewalTimeout{500};

// The name of all connections: "<client name>:<host>:<pid>:<the id's begin>", without what a server
// refuses in a name; empty for an empty name.
std::string connection_name(const std::optional<std::string>& given, const std::string& id) {
  if (given && given->empty()) return {};
  constexpr std::size_t kIdLength = 8;
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  std::string name = given.value_or("holdfast") + ":" + std::string(host.data()) + ":" +
                     std::to_string(::getpid()) + ":" + id.substr(0, kIdLength);
  const auto refused = [](char c) { return c < '!' || c > '~'; };
  name.erase(std::remove_if(name.begin(), name.end(), refused), name.end());
  return name;
}

// The text of the client's key, for lua/client/renew.lua.
std::string about(const ClientOptions& options) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string made = std::to_string(std::chrono::duration_cast<Millis>(now).count());
  return std::string(host.data()) + '\n' + std::to_string(::getpid()) + '\n' + made + '\n' +
         std::to_string(options.lease.time.count()) + '\n' + options.label.value_or(std::string());
}

// The owner of a lock is announced before it is acquired, on the same connection. In a cluster the
// key may be another server's: there the watchdog alone announces it.
void greet(topology::Setup& setup, const ClientOptions& options, const std::string& id,
           const std::string& about) {
  if (!options.label || options.endpoint.deployment == net::Deployment::kCluster) return;
  setup.link.label = {"EVAL",
                      script::lua::client_renew.text,
                      "1",
                      lease::Notes::key_of(id),
                      std::to_string(options.lease.time.count()),
                      about};
}

topology::Setup topology_setup(const ClientOptions& options, const std::shared_ptr<WaitHub>& hub,
                               const std::shared_ptr<lease::Keeper>& keeper,
                               const std::shared_ptr<Stats>& stats,
                               const std::string& connection_name) {
  const net::Endpoint& endpoint = options.endpoint;
  topology::Setup setup;
  setup.endpoint = endpoint;
  setup.link = {endpoint.addresses.front(), endpoint.tls,    endpoint.credentials,
                endpoint.database,          connection_name, options.connect_timeout,
                options.command_timeout,    options.retries};
  setup.link.resp3 = options.resp3;
  setup.link.stats = stats;
  setup.link.credential_source = endpoint.credential_source;
  if (!endpoint.address_table.empty() || endpoint.address_source) {
    setup.link.address_map =
        std::make_shared<net::AddressMap>(endpoint.address_table, endpoint.address_source);
  }
  setup.link.library_version = HOLDFAST_VERSION;
  setup.link.busy_poll = options.busy_poll && usable_cpus() > 1;
  using Driver = client::Connection::Driver;
  setup.driver = options.asynchronous ? Driver::kLoop : Driver::kCallers;
  setup.sink = hub;
  setup.on_lost = [weak = std::weak_ptr<lease::Keeper>(keeper)] {
    if (const auto strong = weak.lock()) strong->watchdog().verify();
  };
  setup.pubsub = options.pubsub;
  setup.tracking = options.tracking;
  setup.renewal_timeout = std::max(options.lease.time / 3, kShortestRenewalTimeout);
  setup.on_changes = [weak = std::weak_ptr<lease::Keeper>(keeper)](const auto& changes) {
    if (const auto strong = weak.lock()) strong->watchdog().changed(changes);
  };
  return setup;
}

}  // namespace

// The parts of its program that an open client keeps.
struct Client::Part {
  explicit Part(Engine& engine) : usage(engine) {}
  ~Part() {
    if (reauthentication) reauthentication->stop();
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // At once, if the system allows it: else with the first operation.
  void watch_guard() {
    try {
      usage.start();
    } catch (const LimitReached&) {
    }
  }

  // For the topology to be made, and with it.
  void prepare(topology::Setup& setup) const {
    if (guarded) guarded->prepare(setup);
    if (!reauthentication) return;
    setup.link.reauthenticates = true;
    setup.link.credential_source = reauthentication->source();
  }
  void attach(const std::shared_ptr<topology::Topology>& topology, lease::Keeper& keeper) const {
    if (guarded) guarded->attach(topology, keeper);
    if (reauthentication) reauthentication->set_topology(topology);
  }

  Engine::Usage usage;
  std::unique_ptr<Guarded> guarded;                    // null: without a guard
  std::shared_ptr<Reauthentication> reauthentication;  // null: not while connected
};

struct Client::Core {
  Core(std::unique_ptr<Part> its_part, std::shared_ptr<const sync::Context> its_context,
       std::shared_ptr<WaitHub> its_hub)
      : context(std::move(its_context)),
        hub(std::move(its_hub)),
        guard_pid(its_part->guarded ? its_part->guarded->pid() : nullptr),
        part(std::move(its_part)) {}

  std::unique_ptr<Part> take_part() HOLDFAST_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    return std::move(part);
  }

  const std::uint64_t epoch = fork_epoch();
  const std::shared_ptr<const sync::Context> context;
  const std::shared_ptr<WaitHub> hub;
  const Guarded::Pid guard_pid;  // null: without a guard

  Mutex mutex;
  std::unique_ptr<Part> part HOLDFAST_GUARDED_BY(mutex);  // until it is closed
  std::atomic<bool> started{false};
};

Client::Client(ClientOptions options) : options_(std::move(options)), core_(make_core(true)) {}

Client::~Client() {
  (void)close(options_.command_timeout);  // the engine's thread finishes what is pending
  // An ancestor's core is left alone: its threads do not exist here.
  if (Core* core = core_.load(); core->epoch == fork_epoch()) delete core;
}

Client::Core* Client::make_core(bool first) {
  Engine& engine = Engine::instance();
  auto part = std::make_unique<Part>(engine);
  const topology::Loops loops = part->usage.loops();
  const std::string id = first && !options_.id.empty() ? options_.id : fresh_uuid();
  const auto stats = std::make_shared<Stats>();
  const auto events = std::make_shared<ClientEvents>(engine.events(), id);
  const auto hub = std::make_shared<WaitHub>();
  const auto signals = std::make_shared<LossSignals>(events, hub, loops.io);
  const auto keeper =
      std::make_shared<lease::Keeper>(engine.clock(), loops.renewals, id, signals, stats);
  topology::Setup setup =
      topology_setup(options_, hub, keeper, stats, connection_name(options_.client_name, id));
  setup.link.reports = events;
  const std::string text = about(options_);
  greet(setup, options_, id, text);
  keeper->notes.set_up({text, options_.lease.time, sync::client_key_recipe().holding,
                        options_.command_timeout, options_.label.has_value()});
  part->guarded = Guarded::begin({options_.guard, id}, events, loops.io);
  if (part->guarded) part->watch_guard();
  const net::CredentialSource& source = options_.endpoint.credential_source;
  if (source && options_.reauthenticate != Millis(0)) {
    part->reauthentication = std::make_shared<Reauthentication>(
        engine.clock(), loops.io,
        Reauthentication::Setup{source, options_.reauthenticate, options_.connect_timeout}, events);
  }
  part->prepare(setup);
  const auto topology = topology::make(engine.clock(), loops, setup);
  part->attach(topology, *keeper);
  hub->set_up(topology, setup.on_lost);
  keeper->watchdog().set_topology(topology, options_.command_timeout);
  if (options_.tracking != client::TrackingMode::kOff) keeper->watchdog().track();
  engine.add(keeper);
  const std::shared_ptr<wait::WaitRegistry> waits(hub, &hub->registry);
  const auto timers = std::make_shared<sync::Timers>(engine.clock(), loops.io);
  std::shared_ptr<sync::ReplicaAcknowledger> acknowledger;
  if (options_.replicas_to_wait > 0) {
    acknowledger = std::make_shared<sync::ReplicaAcknowledger>(
        engine.clock(), topology,
        sync::ReplicationPolicy{options_.replicas_to_wait, options_.command_timeout});
  }
  return new Core(std::move(part),
                  std::shared_ptr<const sync::Context>(new sync::Context{
                      engine.clock(), id, options_.command_timeout, topology, keeper, waits, timers,
                      acknowledger, stats, setup.link.busy_poll}),
                  hub);
}

Client::Core& Client::core() {
  Core* core = core_.load(std::memory_order_acquire);
  if (core->epoch == fork_epoch()) return *core;
  Core* fresh = make_core(false);
  if (core_.compare_exchange_strong(core, fresh)) {
    if (closed_) {
      fresh->context->topology->close(Status::closed("the client was closed"));
      (void)fresh->take_part();
    }
    return *fresh;
  }
  delete fresh;
  return *core;
}

std::shared_ptr<const sync::Context> Client::context() { return core().context; }

std::shared_ptr<const sync::Context> Client::started() {
  Core& mine = core();
  if (!mine.started.load(std::memory_order_acquire)) {
    {
      const MutexLock lock(mine.mutex);
      // A closed client starts nothing: its operations end at once.
      if (mine.part) mine.part->usage.start();
      mine.started.store(true, std::memory_order_release);
    }
    if (options_.label) (void)mine.context->keeper->notes.keep_client_key();
  }
  return mine.context;
}

Status Client::check_name(const std::string& name, const sync::Recipe& recipe) const {
  if (options_.endpoint.deployment != net::Deployment::kCluster) return {};
  const LockName whole(options_.name_prefix + name);
  const std::string channel = recipe.channel(whole, {});
  const std::string request = sync::keys::kRequest.of(whole);
  const std::string_view tag = topology::hash_tag(whole.bytes());
  const bool together = topology::hash_tag(channel) == tag && topology::hash_tag(request) == tag;
  if (together) return {};
  // A channel that adds braces in any case hides the name's.
  const bool keeps_tags = topology::hash_tag(recipe.channel(LockName("{a}b"), {})) == "a";
  return Status::invalid(quoted(whole.bytes()) +
                         " cannot be a name in a cluster: its keys would be in different slots; "
                         "use a name without braces" +
                         (keeps_tags ? ", or with one tag in them, such as 'order:{42}'" : ""));
}

sync::ExchangePtr Client::ping() {
  return sync::call_of(started(), {LockName("PING"), [](script::Writer& out) {
                                     out.command({"PING"}, resp::ReplyKind::kStatus);
                                   }});
}

void Client::pause_renewals(bool on) { context()->keeper->watchdog().pause(on); }

int Client::guard_pid() {
  const Guarded::Pid& pid = core().guard_pid;
  return pid ? pid->load() : 0;
}

std::shared_ptr<Closing> Client::close(Millis timeout, bool release_held) {
  const bool first = !closed_.exchange(true);
  Core* core = core_.load();
  const bool ours = core->epoch == fork_epoch();
  std::unique_ptr<Part> part = first && ours ? core->take_part() : nullptr;
  if (!part) return Closing::nothing(core->context);  // another thread may just make it, as closed
  auto reports =
      std::make_shared<Engine::Reports>(Engine::instance(), part->usage.loops().renewals);
  return Closing::begin(core->context, {std::min(timeout, options_.command_timeout), release_held,
                                        std::move(part), std::move(reports)});
}

}  // namespace holdfast::engine
