#pragma once

#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "guard/held_page.h"
#include "guard/server.h"
#include "guard/settings.h"

namespace holdfast::guard {

// Releases what a program held that has ended: connects, closes the program's connections by their
// ids, where the server allows that, and sends for each hold whose lease lasts the release that its
// client would send for the last hold. Once more after 50 ms, as an acquire of the program may be
// on its way until then. Tries until the leases are over. Blocks.
void release_all(const HeldPageView& page, const Settings& settings);

// One round of releases of these holds; kUnreachable, kServer: not all were answered.
Status release_once(Server& server, const std::vector<HeldRecord>& held, const Settings& settings,
                    TimePoint deadline);

}  // namespace holdfast::guard
