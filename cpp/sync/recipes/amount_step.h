#pragma once

#include "script/writer.h"
#include "sync/recipes/counter.h"
#include "sync/recipes/keys.h"

namespace holdfast::sync {

// Writes a step of a semaphore's number: a request with an amount, which publishes. See
// CounterStep.
template <const script::Script& kScript>
void write_amount(script::Writer& out, const Step& step) {
  out.call(kScript) << step.name.bytes() << request_key(step.name, step.owner)
                    << semaphore_channel(step.name).bytes() << step.lease.count()
                    << step.acquire_options.request_number() << step.acquire_options.amount
                    << out.publish();
}

}  // namespace holdfast::sync
