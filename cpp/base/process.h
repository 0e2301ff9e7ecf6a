#pragma once

#include <cstdint>

namespace holdfast {

// Grows with each fork(), in the child: what was made under another epoch belongs to an ancestor.
// Any thread; as cheap as reading an integer.
std::uint64_t fork_epoch();

// Has `forget` called in every child, right after fork(), where only async-signal-safe steps are
// allowed.
void call_in_child(void (*forget)());

}  // namespace holdfast
