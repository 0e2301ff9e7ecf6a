#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/client.h"
#include "support/server.h"
#include "sync/operation.h"

namespace holdfast::simulation {

// What the owners of a schedule do, and what may become of it.
struct Script {
  std::vector<std::string> names;  // of the locks
  int rounds = 2;                  // acquisitions of each owner
  unsigned cancels = 0;            // per mille of the operations
  unsigned deaths = 0;             // per mille of the holds: their owner ends
  unsigned forces = 0;             // per mille of the rounds: a forced release instead
  unsigned long_holds = 100;       // per mille of the holds: longer than a third of the lease
  bool failures = false;           // operations may fail: the server can be out of reach
};

// One owner: a task that does one thing after the other, and judges what it is told.
class Actor final : public sync::Completion, public std::enable_shared_from_this<Actor> {
 public:
  struct Stage {
    World& world;
    Server& server;
    const Script& script;
    std::optional<Violation>& violation;
  };

  Actor(const Stage& stage, std::shared_ptr<Client> client, OwnerNumber number);

  void begin();
  void done(std::uint64_t id, sync::Outcome outcome) override;
  void told(const lease::Event& event);
  void check();  // what must be true at any moment

  bool over() const { return over_; }
  std::string field() const;
  std::string describe() const;
  const Client& client() const { return *client_; }
  OwnerNumber number() const { return number_; }
  // It is in a blocking acquisition of the lock.
  bool waits_for(const std::string& name) const;
  // It holds the lock, has been told nothing else, and asks for nothing at the moment.
  int settled_depth(const std::string& name) const;
  // What the server has of it may be there: it holds the lock, is about to, or knows that it is in
  // doubt.
  bool answers_for(const std::string& name) const;
  int acquisitions() const { return acquisitions_; }

 private:
  enum class Kind { kNone, kAcquire, kRelease, kExtend, kForce };
  struct Hold {
    int depth = 0;          // as many holds the owner was told of
    bool lost = false;      // and that they are gone
    bool in_doubt = false;  // its last release has failed
    TimePoint unknown_since = kNever;
    bool unsure() const { return depth == 0 || in_doubt; }
  };
  struct Asked {
    Kind kind = Kind::kNone;
    std::string name;
    bool blocking = true;
    bool all = false;
    TimePoint deadline = kNever;
    TimePoint since{};
    TimePoint trusted{};  // until when the client trusted the hold when it asked
    bool cancelled = false;
    bool last = false;   // a release: of the last hold
    bool first = false;  // by the client's reckoning there is no earlier hold
  };

  Hold& hold(const std::string& name) { return holds_[name]; }
  void blame(const std::string& what);
  void expect(bool right, const std::string& otherwise);
  void next();
  void think(Duration most);
  void start(std::shared_ptr<sync::Operation> operation, Asked asked);
  void acquire(const std::string& name, bool may_block_for_ever);
  void release(const std::string& name);
  void extend(const std::string& name);
  void force(const std::string& name);
  void hold_on(const std::string& name);
  void end();
  void cancel(std::uint64_t id);
  void read_mail(std::uint64_t id);
  bool granted_by_mail() const;
  void acquired(sync::Verdict verdict);
  void released(sync::Verdict verdict);
  void released_well(Hold& held);
  void check_hold(const std::string& name, Hold& hold);

  const Stage stage_;
  const std::shared_ptr<Client> client_;
  const OwnerNumber number_;
  int rounds_;
  int acquisitions_ = 0;
  bool over_ = false;
  std::map<std::string, Hold> holds_;
  std::shared_ptr<sync::Operation> operation_;
  Asked asked_;
  std::uint64_t id_ = 0;
  std::optional<sync::Outcome> mail_;  // reported, not yet read
};

}  // namespace holdfast::simulation
