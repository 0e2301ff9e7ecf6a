#pragma once

#include "redis/base/clock.h"
#include "redis/base/mutex.h"
#include "redis/net/pollable.h"

namespace holdfast::client {

// The calling thread waits until `interest` comes true, `parker`, its own, is notified, or for so
// long; true: something has come for the interest.
bool poll_for(const net::Interest& interest, Parker& parker, Duration longest);

}  // namespace holdfast::client
