#pragma once

#include "guard/held_page.h"

namespace holdfast::guard {

// Releases what a client held whose program has ended, by its topology: closes the program's
// connections, where the server allows that, and sends for each hold whose lease lasts the release
// that the client would send for the last hold. What is sent in the first 50 ms is sent once more
// after them, as an acquire of the program may be on its way until then; and of a service, again to
// the next primary. Tries until all are answered, or the leases over. Blocks.
//
// `keeper`: a pipe; until all processes have closed its other end, each hold is renewed instead,
// for what was left of its lease, kLeastKept at least. A lock with `at_least` is not in the page
// and the client's own key is not renewed: they end with their leases.
constexpr Millis kLeastKept{5000};
void release_all(const HeldPageView& page, int keeper = -1);

}  // namespace holdfast::guard
