// URLs: a refusal is a status with a message, whatever the bytes; what is accepted shows no
// password.

#include <cstdlib>
#include <string>

#include "net/endpoint.h"

namespace holdfast {
namespace {

// A password may be found in the text of an endpoint by chance: as a part of what may be shown.
bool may_be_shown(const net::Endpoint& endpoint, const std::string& password) {
  constexpr std::size_t kTelling = 6;
  if (password.size() < kTelling) return true;
  net::Endpoint without = endpoint;
  without.credentials = {};
  without.sentinel_credentials = {};
  return without.text().find(password) != std::string::npos;
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string url(reinterpret_cast<const char*>(data), size);
  const auto parsed = holdfast::net::parse_url(url);
  if (!parsed.ok()) {
    if (parsed.status().message().empty()) std::abort();
    return 0;
  }
  const holdfast::net::Endpoint& endpoint = parsed.value().endpoint;
  if (endpoint.addresses.empty()) std::abort();
  const std::string& password = endpoint.credentials.password;
  const bool shown = endpoint.text().find(password) != std::string::npos;
  if (shown && !holdfast::may_be_shown(endpoint, password)) std::abort();
  return 0;
}
