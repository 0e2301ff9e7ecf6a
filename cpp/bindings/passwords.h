#pragma once

#include <cstdint>
#include <memory>

#include "redis/client.h"

namespace holdfast::bindings {

// Asks the password with this number in `holdfast._clients.callables` for its credentials. Returns
// at once, may be called by any thread without the GIL: a thread that lives for this one call takes
// it. Once stop_passwords() was called, the answer is a failure.
std::shared_ptr<net::CredentialRequest> request_password(std::uint64_t number);

// Asks the map with this number in `holdfast._clients.callables` for what an announced address
// leads to. As request_password().
std::shared_ptr<net::AddressRequest> request_address(std::uint64_t number,
                                                     const net::Address& announced);

// No more calls: the interpreter is ending.
void stop_passwords();

// How many threads call a callable now.
int passwords_requested();

}  // namespace holdfast::bindings
