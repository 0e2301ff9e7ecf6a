#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/cuts.h"
#include "simulation/kind.h"
#include "support/server.h"

namespace holdfast::simulation {

// What has become of each hold on the server, and why: written down while the scripts run, by what
// they leave behind, and judged by the kind's rule.
class Ledger final : public Witness {
 public:
  Ledger(Server& server, const Kind& kind, std::optional<Violation>& violation);
  ~Ledger() override;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void watch(const std::string& name);

  // Those whose time is not over.
  const Holders& holders(const std::string& name);
  bool holds(const LockName& lock, const std::string& owner);
  // The hold was there and a fault or a forced release has removed it.
  bool removed(const LockName& lock, const std::string& owner) const {
    return met(Fate::kRemoved, lock, owner);
  }
  // The hold was there, and has ended by a cut of Redisson that its client cannot foresee.
  bool cut_off(const LockName& lock, const std::string& owner) const;
  // How long ago it was removed, or cut off.
  Millis gone_for(const LockName& lock, const std::string& owner) const;
  // The owner's latest hold is no more because its release was carried out.
  bool released(const LockName& lock, const std::string& owner) const {
    return met(Fate::kReleased, lock, owner);
  }
  // The owner, who listens to the channel, could have it and cannot believe any more that it is
  // held.
  bool open_to(const LockName& lock, const std::string& owner, const std::string& channel);

  struct Totals {
    int attempts = 0;
    int grants = 0;
    int renewals = 0;
  };
  const Totals& totals() const { return totals_; }
  // The server has given the owner that token.
  bool minted(const LockName& lock, const std::string& owner, std::int64_t token) const;

  void executed(const script::Script& script, const Words& command, const Answer& answer) override;
  void published(const std::string& channel) override;
  void forgot() override;

 private:
  enum class Fate { kRemoved, kReleased };
  struct End {
    Fate fate;
    std::int64_t at;
  };
  struct Book {
    Holders holders;  // after the last script
    Line line;
    std::map<std::string, End> ends;  // of the fields that are gone
    Cuts cuts;
    // Redisson publishes nothing when it makes a lease shorter: until when it has left it so.
    std::optional<std::int64_t> unpublished;
    // Until when those who listen to a channel may believe that it is held.
    std::map<std::string, std::int64_t> beliefs;
    std::map<std::int64_t, std::string> tokens;  // token -> the field that got it
  };
  using Entry = std::pair<const std::string, Book>;

  static bool forget_ends(Book& book, const Holders& before);
  // A command by EVAL's words, and the fields of this name that it may take away or renew.
  struct Step {
    std::string_view script;
    const Words& command;
    std::vector<std::string> owned;
  };
  void renewed(const script::Script& script, const Words& command);
  void compare(Entry& entry, const Step& step);
  void gone(Entry& entry, const std::string& field, const Step& step);
  void check_order(Entry& entry, const Holders& before, std::string_view script,
                   const Words& command);
  void check_turn(Entry& entry, const Holders& before, const std::string& first,
                  const std::string& script);
  std::string first_in(const Line& line, const std::string& newcomer) const;
  bool dead(const Place& one) const { return one.alive <= server_.milliseconds(); }
  void pass_on(Entry& entry);
  void foreign(Entry& entry);
  void check_beliefs(Entry& entry, std::string_view script);
  void apply_reply(Entry& entry, const std::string& owner, const sync::Answer& said);
  void minted(Entry& entry, const std::string& field, const sync::Answer& said);
  bool met(Fate fate, const LockName& lock, const std::string& owner) const;
  void blame(const std::string& what);

  Server& server_;
  const Kind& kind_;
  std::optional<Violation>& violation_;
  std::map<std::string, Book> books_;
  std::set<std::string> published_;  // the channels, by the script that runs
  Totals totals_;
};

}  // namespace holdfast::simulation
