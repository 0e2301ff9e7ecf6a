#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "locks/engine/closing.h"
#include "locks/engine/wait_hub.h"
#include "locks/lease/keeper.h"
#include "locks/sync/operation/context.h"
#include "locks/sync/operation/operation.h"
#include "redis/client/connection.h"
#include "redis/topology/topology.h"
#include "support/network.h"

namespace holdfast::simulation {

// The settings of a client.
struct ClientPlan {
  std::string id;
  Millis watch_lease{300};
  Millis command_timeout{400};
  int retries = 3;
  int replicas = 0;  // which have to confirm a grant
  client::Connection::Driver driver = client::Connection::Driver::kLoop;  // of the calls
  bool tracks = false;  // it asks the server to say when its holds change
};

// One client of the real engine on the simulated network: all but the threads.
class Client final : public sync::Completion, public std::enable_shared_from_this<Client> {
 public:
  static std::shared_ptr<Client> make(World& world, Network& network, SteppedLoop& loop,
                                      const ClientPlan& plan);

  ~Client() override;
  const ClientPlan& plan() const { return plan_; }
  const std::shared_ptr<const sync::Context>& context() const { return context_; }
  lease::Keeper& keeper() const { return *context_->keeper; }
  void close(Millis timeout = Millis(0), bool release_held = false);
  // The same, and the calling thread waits for its end. The names of what may still be held.
  std::vector<std::string> close_and_wait(Millis timeout, bool release_held);
  bool closed() const { return closed_; }
  // After the end of close(): the names of what may still be held.
  std::optional<std::vector<std::string>> left_behind() const;
  void done(std::uint64_t /*id*/, sync::Outcome /*outcome*/) override { ended_ = true; }

  // Its connections stand, and the server sends it the messages of the channel (empty: of none).
  bool reachable(const Network& network, const std::string& channel) const;

  std::function<void(const Event&)> on_event;

 private:
  // Its watchdog may outlive it, as a closed client's does until the last hold is lost.
  class Events final : public EventSink {
   public:
    explicit Events(Client& client) : client_(&client) {}
    void post(Event event) override {
      if (client_ != nullptr) client_->on_event(event);
    }
    void end() { client_ = nullptr; }

   private:
    Client* client_;
  };

  explicit Client(ClientPlan plan)
      : plan_(std::move(plan)), events_(std::make_shared<Events>(*this)) {}
  void begin_close(Millis timeout, bool release_held);

  const ClientPlan plan_;
  const std::shared_ptr<Events> events_;
  std::shared_ptr<engine::WaitHub> hub_;
  std::shared_ptr<const sync::Context> context_;
  std::shared_ptr<engine::Closing> closing_;
  bool closed_ = false;
  bool ended_ = false;  // what close() has begun
};

}  // namespace holdfast::simulation
