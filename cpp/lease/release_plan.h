#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "lease/hold_ptr.h"

namespace holdfast::lease {

// What a release has to do, by what the client knows.
struct ReleasePlan {
  enum class Verdict {
    kNotOwned,  // the caller holds nothing
    kLost,      // it did, and its hold is gone; reported once for each loss
    kPartial,   // `remaining` holds stay
    kFinal,     // the last one
    kDone,      // an earlier release, which could not report to its caller, has got through since
    kUnderWay,  // nothing is begun: the owner is acquiring it, see Attempt
  };
  Verdict verdict = Verdict::kNotOwned;
  int remaining = 0;
  int ended = 0;             // how many holds end by it
  std::string reason;        // of kLost
  bool held_again = false;   // of kLost: the owner has got the lock since, whatever of it is left
  std::uint64_t serial = 0;  // of the hold (kPartial), or of the entry in the ledger (kFinal)
  TimePoint trusted{};       // until when the hold may be believed to be there
  bool repeated = false;     // an earlier release of this hold may have been executed
  std::string other{};       // the field that the hold may have instead of its owner's; else empty
  HoldPtr deferred{};        // by Releases::defer(): the hold
  TimePoint closed_until{};  // the lock stays closed until then
  Millis closed_for(TimePoint now) const;  // the time from now on; 0: it is freed at once
};

// The plan for a hold in the table; its loss is reported by it.
ReleasePlan plan_release(Hold& hold, bool all);

}  // namespace holdfast::lease
