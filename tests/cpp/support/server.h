#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/commands.h"
#include "support/interpreter.h"
#include "support/keyspace.h"
#include "support/network.h"
#include "support/tracking_table.h"

namespace holdfast::simulation {

// Notified what a server does to its data, just after it.
class Witness {
 public:
  virtual ~Witness() = default;
  // `command`: EVAL's words. A script that failed has perhaps done a part.
  virtual void executed(const script::Script& script, const Words& command,
                        const Answer& answer) = 0;
  virtual void published(const std::string& channel) = 0;
  virtual void forgot() = 0;  // all its data
};

// An in-memory double of a Redis server, which runs the real scripts. double_test.cpp compares it
// with a real server.
class Server final : public Peer, private ScriptHost {
 public:
  enum class Mood {
    kWell,
    kLoading,  // refuses all commands
    kFull,     // refuses what needs memory
  };

  // `drift`: by how many millionths its clock is fast.
  Server(World& world, std::int64_t drift);

  // Commands, in the order in which they arrive; the replies go out once it is awake.
  void arrived(const std::shared_ptr<Wire>& wire, std::vector<Command> commands) override;
  // The reply to one command that comes by no wire.
  std::string execute(const Command& command) { return run(nullptr, command).bytes(); }
  // The same of another library's script. `command`: EVAL's words.
  Answer execute(const script::Script& foreign, const Words& command);

  // Faults.
  void pause(Duration time);
  void restart(bool with_data, Duration down, const std::vector<std::shared_ptr<Wire>>& wires);
  void flush_scripts() { scripts_.clear(); }
  void flush_data();
  void evict_tracked(const std::string& key) { tracking_.evict(key); }
  void forget_tracked(const std::string& key) { tracking_.forget(key); }
  // The version that it names. It tracks what scripts read, whatever that is.
  void set_version(const std::string& version) { version_ = version; }
  // Whether CLIENT TRACKING is allowed.
  void allow_tracking(bool on) { allows_tracking_ = on; }
  void set_mood(Mood mood) { mood_ = mood; }
  // As a proxy in front of a cluster: whether it refuses scripts with keys of several slots.
  void divide(bool on) { divided_ = on; }
  // How many of a thousand requests its replica fails to acknowledge in time.
  void set_lag(unsigned per_mille) { lag_per_mille_ = per_mille; }

  bool up() const override { return up_; }
  bool well() const { return up_ && mood_ == Mood::kWell && world_.now() >= paused_until_; }

  // Its data at this moment.
  Keyspace& data();
  std::int64_t milliseconds() const { return microseconds() / 1000; }

  struct Totals {
    int messages = 0;
    int subscriptions = 0;
  };
  const Totals& totals() const { return totals_; }
  // How many scripts it has refused, as it is divided.
  int refused() const { return refused_; }
  // How often the script of that name has run.
  int runs(const std::string& script) const;

  Witness* witness = nullptr;
  // Notified of each renewal (not: extension) that a client sends: client's id, name, owner.
  std::function<void(const std::string&, const std::string&, const std::string&)> on_renewal;
  void watch_departure(const Wire& wire, const Command& command) override;

 private:
  Answer run(const std::shared_ptr<Wire>& wire, const Command& command);
  Answer subscribe(const std::shared_ptr<Wire>& wire, const Command& command);
  Answer run_script(const Words& command);
  Answer evaluate(const script::Script& script, const Words& command);
  Answer load(const Words& command);
  Answer greet(const std::shared_ptr<Wire>& wire, const Words& command);
  void track(const DataCommand& known, const Words& command);
  Answer wait(const Words& command);
  Answer carry_out(const Words& command);
  Answer call(const Words& command) override;
  Answer publish_or_refuse(const Words& command);
  Answer publish(const std::string& channel, const std::string& message);
  void describe(const Wire& wire, const Command& command, const Answer& answer);
  void wake();
  std::int64_t microseconds() const;

  World& world_;
  const std::int64_t drift_;
  Keyspace data_;
  std::set<std::string_view> scripts_;  // those it knows, by name
  bool in_script_ = false;
  bool has_written_ = false;  // the script that runs
  TrackingTable tracking_;
  bool allows_tracking_ = true;
  std::string version_ = "7.2.0";
  std::shared_ptr<Wire> caller_;  // of the command that runs
  std::vector<std::shared_ptr<Wire>> subscribers_;
  std::deque<std::pair<std::shared_ptr<Wire>, std::vector<Command>>> inbox_;
  TimePoint paused_until_{};
  bool up_ = true;
  Mood mood_ = Mood::kWell;
  bool divided_ = false;
  int refused_ = 0;
  unsigned lag_per_mille_ = 0;
  Totals totals_;
  std::map<std::string_view, int> runs_;
};

}  // namespace holdfast::simulation
