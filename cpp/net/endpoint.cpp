#include "net/endpoint.h"

namespace holdfast::net {
namespace {

std::string scheme_of(const Endpoint& endpoint) {
  const std::string scheme = endpoint.tls.enabled ? "rediss" : "redis";
  switch (endpoint.deployment) {
    case Deployment::kSentinel:
      return scheme + "+sentinel://";
    case Deployment::kCluster:
      return scheme + "+cluster://";
    case Deployment::kStandalone:
      break;
  }
  return scheme + "://";
}

}  // namespace

std::string Address::text() const {
  if (!path.empty()) return "unix:" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Endpoint::text() const {
  const std::string db = std::to_string(database);
  if (!addresses.empty() && !addresses.front().path.empty()) {
    return "unix://" + addresses.front().path + (database == 0 ? "" : "?db=" + db);
  }
  std::string text = scheme_of(*this);
  for (const Address& address : addresses) {
    if (&address != &addresses.front()) text += ',';
    text += address.text();
  }
  if (deployment == Deployment::kSentinel) text += "/" + service;
  // Most clusters have no other.
  if (deployment != Deployment::kCluster || database != 0) text += "/" + db;
  return text;
}

}  // namespace holdfast::net
