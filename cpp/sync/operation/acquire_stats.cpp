#include "sync/operation/acquire_stats.h"

namespace holdfast::sync {

using Counter = Stats::Counter;

void AcquireStats::ended(Verdict verdict, Duration took) {
  if (!what_.counted) return;
  if (waiting_) stats_.add(Counter::kWaiting, -1);
  if (verdict == Verdict::kGranted) {
    stats_.granted(waiting_, took, what_.amount);
    if (what_.lasting) stats_.add(Counter::kTaken, what_.amount);
    return;
  }
  if (!what_.part) stats_.add(counter(verdict));
}

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
