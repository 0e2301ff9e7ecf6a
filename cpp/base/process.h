#pragma once

#include <cstdint>

namespace holdfast {

// Grows with each fork(), in the child: objects of another epoch belong to an ancestor. Any thread;
// as cheap as reading an integer.
std::uint64_t fork_epoch();

// `forget` is called in every child, right after fork(), where only async-signal-safe steps are
// allowed.
void call_in_child(void (*forget)());

}  // namespace holdfast
