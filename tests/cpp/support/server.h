#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/network.h"

namespace holdfast::simulation {

// An in-memory double of a Redis server, as far as the lock's scripts need one. double_test.cpp
// compares it with a real server.
class Server final : public Peer {
 public:
  // A lock's hash and when it expires, in the server's own milliseconds.
  struct Key {
    std::map<std::string, std::int64_t> holds;
    std::int64_t expires = 0;
    std::int64_t promised =
        0;  // the latest `expires` that it ever had: a waiter may sleep until then
  };
  enum class Mood {
    kWell,
    kLoading,  // refuses all commands
    kFull,     // refuses what needs memory
  };
  // What a script is asked to do: keys and arguments, in the order of lua/.
  using Parameters = std::vector<std::string>;

  // `drift`: by how many millionths its clock is fast.
  Server(World& world, std::int64_t drift);

  // Commands, in the order in which they arrive; the replies go out once it is awake.
  void arrived(const std::shared_ptr<Wire>& wire, std::vector<Command> commands) override;
  // The reply to one command that comes by no wire.
  std::string execute(const Command& command) { return run(nullptr, command); }

  // Faults.
  void pause(Duration time);
  void restart(bool with_data, Duration down, const std::vector<std::shared_ptr<Wire>>& wires);
  void flush_scripts() { scripts_.clear(); }
  void flush_data();
  void set_mood(Mood mood) { mood_ = mood; }

  bool up() const override { return up_; }
  bool well() const { return up_ && mood_ == Mood::kWell && world_.now() >= paused_until_; }

  // Questions of the one who watches the schedule.
  const Key* find(const std::string& name) { return key(name); }
  bool holds(const std::string& name, const std::string& owner);
  std::int64_t count(const std::string& name, const std::string& owner);
  // The hold was there and a fault or a forced release has removed it.
  bool removed(const std::string& name, const std::string& owner) const {
    return removed_.count({name, owner}) != 0;
  }
  // The owner's latest hold is no more because its release was carried out.
  bool released(const std::string& name, const std::string& owner) const {
    return released_.count({name, owner}) != 0;
  }
  // It is free, and no waiter may believe that somebody still holds it.
  bool known_to_be_free(const std::string& name);
  std::vector<std::pair<std::string, std::string>> all_holds();
  std::int64_t milliseconds() const;

  struct Totals {
    int attempts = 0;
    int grants = 0;
    int messages = 0;
    int renewals = 0;
    int subscriptions = 0;
  };
  const Totals& totals() const { return totals_; }

  // Told of each renewal (not: extension) that a client sends: client's id, name, owner.
  std::function<void(const std::string&, const std::string&, const std::string&)> on_renewal;
  void watch_departure(const Wire& wire, const Command& command) override;

 private:
  using Step = std::string (Server::*)(const Parameters&);

  std::string run(const std::shared_ptr<Wire>& wire, const Command& command);
  std::string answer(const Command& question);
  void describe(const Wire& wire, const Command& command, const std::string& replies);
  std::string run_script(const Command& command);
  std::string subscribe(const std::shared_ptr<Wire>& wire, const Command& command);
  std::string acquire(const Parameters& p);
  std::string release(const Parameters& p);
  std::string transfer(const Parameters& p);
  std::string renew(const Parameters& p);
  std::string extend(const Parameters& p);
  std::string force_release(const Parameters& p);
  std::string ttl(const Parameters& p);

  static std::string_view script_name(const std::string& sha1_or_text);
  static Step step_of(std::string_view name);
  void wake();
  Key* key(const std::string& name);
  void expire(Key& key, const std::string& lease);
  void set_lease(const std::string& name, const std::string& channel, const std::string& lease);
  void remove(const std::string& name, bool by_fault);
  void grant(const std::string& name, const std::string& owner, std::int64_t count);
  std::int64_t publish(const std::string& name, const std::string& channel);

  World& world_;
  const std::int64_t drift_;
  std::map<std::string, Key> keys_;
  std::set<std::string> scripts_;  // those it knows, by name
  std::set<std::pair<std::string, std::string>> removed_;
  std::set<std::pair<std::string, std::string>> released_;
  std::map<std::string, std::int64_t> silently_free_;  // until when somebody may not know
  std::vector<std::shared_ptr<Wire>> subscribers_;
  std::deque<std::pair<std::shared_ptr<Wire>, std::vector<Command>>> inbox_;
  TimePoint paused_until_{};
  bool up_ = true;
  Mood mood_ = Mood::kWell;
  Totals totals_;
};

}  // namespace holdfast::simulation
