#pragma once

#include "guard/held_page.h"

namespace holdfast::guard {

// Releases what a client held whose program has ended, by its topology: closes the program's
// connections, where the server allows that, and sends for each hold whose lease lasts the release
// that the client would send for the last hold. What is sent in the first 50 ms is sent once more
// after them, as an acquire of the program may be on its way until then; and of a service, again to
// the next primary. Tries until all are answered, or the leases over. Blocks.
void release_all(const HeldPageView& page);

}  // namespace holdfast::guard
