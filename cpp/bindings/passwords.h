#pragma once

#include <cstdint>
#include <memory>

#include "net/credential_request.h"

namespace holdfast::bindings {

// Asks the password with this number in `holdfast._passwords` for its credentials. Returns at once,
// may be called by any thread without the GIL: a thread that lives for this one call takes it. Once
// stop_passwords() was called, the answer is a failure.
std::shared_ptr<net::CredentialRequest> request_password(std::uint64_t number);

// How many threads call a password's callable now.
int passwords_requested();

}  // namespace holdfast::bindings
