#pragma once

#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "guard/held_page.h"
#include "guard/server.h"
#include "guard/settings.h"

namespace holdfast::guard {

// Releases what a client held whose program has ended: connects, closes the program's connections
// by their numbers, where the server allows that, and sends for each hold whose lease lasts the
// release that the client would send for the last hold. Once more after 50 ms, as an acquire of the
// program may be on its way until then. The same again where the sentinels of a service name
// another primary after that. Tries until the leases are over, if a server is known. Blocks.
void release_all(const HeldPageView& page, std::vector<Settings> servers,
                 const std::vector<Settings>& sentinels);

// One round of releases of these holds, each at the server that has its key. kUnreachable, kServer:
// not all were answered.
Status release_once(Servers& servers, const std::vector<HeldRecord>& held);

}  // namespace holdfast::guard
