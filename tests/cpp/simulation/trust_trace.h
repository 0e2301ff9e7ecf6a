#pragma once

#include <map>
#include <string>
#include <utility>

#include "locks/base/trace.h"
#include "simulation/ledger.h"
#include "support/world.h"

namespace holdfast::simulation {

// By the trace of the clients: which owner relies on which hold, and until when. At each grant,
// those that rely on a lock at that moment must be allowed to hold it together. A hold that a fault
// has removed from the server is left out: its client cannot know that yet.
class TrustTrace final : public TraceSink {
 public:
  TrustTrace(const World& world, Ledger& ledger, const Kind& kind,
             std::optional<Violation>& violation);

  // It gets the trace while this exists.
  class Scope {
   public:
    explicit Scope(TrustTrace& trace) { Trace::set_sink(&trace); }
    ~Scope() { Trace::set_sink(nullptr); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

  // An owner's field on the server, by its number.
  void add(OwnerNumber owner, const std::string& field) { fields_[owner] = field; }

  void record(const TraceEntry& entry) override;

 private:
  using Hold = std::pair<Side, OwnerNumber>;

  bool relies(const std::string& name, const Hold& hold, TimePoint until) const;
  void check(const std::string& name, OwnerNumber newcomer);

  const World& world_;
  Ledger& ledger_;
  const Kind& kind_;
  std::optional<Violation>& violation_;
  std::map<OwnerNumber, std::string> fields_;
  std::map<std::string, std::map<Hold, TimePoint>> trusted_;  // name -> hold -> its end
};

}  // namespace holdfast::simulation
