#include "sync/operation/acquire_stats.h"

namespace holdfast::sync {

using Counter = Stats::Counter;

Counter AcquireStats::counter(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGranted:
      return Counter::kAcquired;
    case Verdict::kBusy:
    case Verdict::kTimedOut:
      return Counter::kTimedOut;
    case Verdict::kCancelled:
      return Counter::kCancelled;
    case Verdict::kGone:
    case Verdict::kExpired:
    case Verdict::kFailed:
      break;
  }
  return Counter::kFailed;
}

}  // namespace holdfast::sync
