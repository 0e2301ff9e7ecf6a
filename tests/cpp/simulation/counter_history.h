#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "locks/sync/operation/operation.h"
#include "simulation/history.h"

namespace holdfast::simulation {

// One owner of a counter: a task that does one thing after the other. What it does next, and what
// it makes of the outcome, is a subclass's.
class CounterUser : public sync::Completion, public std::enable_shared_from_this<CounterUser> {
 public:
  struct Stage {
    World& world;
    std::optional<Violation>& violation;
    LockName name{"counter"};
    unsigned cancels = 0;   // per mille of the operations
    bool failures = false;  // operations may fail: the server can be out of reach
  };

  CounterUser(const Stage& stage, std::shared_ptr<Client> client, int rounds)
      : stage_(stage), client_(std::move(client)), rounds_(rounds) {}

  void begin() { think(Millis(3)); }
  void done(std::uint64_t id, sync::Outcome outcome) final;

  bool over() const { return over_; }
  // It waits, blocking, for something to come.
  bool waits() const { return operation_ && !mail_ && waits_; }
  const Client& client() const { return *client_; }
  virtual std::string describe() const = 0;

 protected:
  virtual void next(int round) = 0;  // start() one thing, or stop()
  virtual void ended(const sync::Outcome& outcome) = 0;
  virtual void cancelled() = 0;

  void start(sync::ExchangePtr operation, bool waits, bool may_cancel);
  void stop() { over_ = true; }
  void think(Duration most);
  void blame(const std::string& what);
  void expect(bool right, const std::string& otherwise);
  World& world() { return stage_.world; }

  const Stage stage_;
  const std::shared_ptr<Client> client_;
  TimePoint since_{};  // when what is under way began

 private:
  void go_on();
  void cancel(std::uint64_t id);
  void read_mail(std::uint64_t id);

  int rounds_;
  bool over_ = false;
  bool waits_ = false;
  sync::ExchangePtr operation_;
  std::uint64_t id_ = 0;
  std::optional<sync::Outcome> mail_;  // reported, not yet read
};

// A history of one counter, in which every change belongs to a request that makes it once.
class CounterHistory : public History, private Witness {
 public:
  CounterHistory(const CounterHistory&) = delete;
  CounterHistory& operator=(const CounterHistory&) = delete;

  Report run() final;

 protected:
  CounterHistory(std::uint64_t seed, bool tracing);
  ~CounterHistory() override;

  // For a subclass's constructor, after its own plan.
  void plan_users();
  virtual std::shared_ptr<CounterUser> make_user(const std::shared_ptr<Client>& client,
                                                 int rounds) = 0;
  // The script, for that request, has changed the counter by so much.
  virtual void changed(std::string_view script, const std::string& request, const Words& command,
                       std::int64_t by) = 0;
  virtual void check_end() = 0;

  bool all_over() const final;
  void published(const std::string& /*channel*/) override {}
  bool may_lose_data() const override { return false; }

  // A request has been executed after its answer from before was forgotten: a stall was longer than
  // answers are kept. It may count twice, so sums prove nothing any more.
  bool too_late() const { return too_late_; }

  std::int64_t value();
  CounterUser::Stage stage() {
    return {world_, violation_, name_, cancels_, at_least(Climate::kCuts)};
  }

  const LockName name_{"counter"};
  std::vector<std::shared_ptr<CounterUser>> users_;

 private:
  void executed(const script::Script& script, const Words& command, const Answer& answer) final;
  void forgot() final {}
  void check_requests();

  unsigned cancels_ = 0;
  std::int64_t before_ = 0;
  bool too_late_ = false;
  std::map<std::string, std::int64_t> remembered_;  // until when, of each request
  int grants_ = 0;
};

}  // namespace holdfast::simulation
