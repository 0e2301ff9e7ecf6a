// URLs: a refusal is a status, whatever the bytes; what is accepted shows no password.

#include <cstdlib>
#include <string>

#include "net/endpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string url(reinterpret_cast<const char*>(data), size);
  const auto parsed = holdfast::net::parse_url(url);
  if (!parsed.ok()) return parsed.status().message().empty() ? std::abort(), 0 : 0;
  const holdfast::net::Endpoint& endpoint = parsed.value().endpoint;
  if (endpoint.addresses.empty()) std::abort();
  constexpr std::size_t kTelling = 6;  // a shorter one may be a part of a host by chance
  const std::string& password = endpoint.credentials.password;
  const bool elsewhere = endpoint.service.find(password) != std::string::npos;
  bool in_address = false;
  for (const auto& address : endpoint.addresses) {
    in_address = in_address || address.text().find(password) != std::string::npos;
  }
  if (password.size() >= kTelling && !elsewhere && !in_address &&
      std::string("redis://valkeys+sentinel://cluster").find(password) == std::string::npos &&
      endpoint.text().find(password) != std::string::npos) {
    std::abort();
  }
  return 0;
}
