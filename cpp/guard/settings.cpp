#include "guard/settings.h"

#include <array>
#include <cstddef>
#include <functional>
#include <sstream>
#include <utility>

#include "redis/client/request.h"
#include "redis/resp/reply.h"

namespace holdfast::guard {

namespace {

// "port announced host path", of which a path may have spaces, and one of the last two is empty.
std::string address_text(const net::Address& address) {
  return std::to_string(address.port) + (address.announced ? " 1 " : " 0 ") +
         (address.host.empty() ? "-" : address.host) + ' ' + address.path;
}

net::Address read_address(std::string_view text) {
  std::istringstream words{std::string(text)};
  net::Address address;
  words >> address.port >> address.announced >> address.host;
  words.get();
  std::getline(words, address.path);
  if (address.host == "-") address.host.clear();
  return address;
}

// "host port host port".
std::string entry_text(const std::pair<net::Address, net::Address>& entry) {
  return entry.first.host + ' ' + std::to_string(entry.first.port) + ' ' + entry.second.host + ' ' +
         std::to_string(entry.second.port);
}

std::pair<net::Address, net::Address> read_entry(std::string_view text) {
  std::istringstream words{std::string(text)};
  net::Address announced;
  net::Address reachable;
  words >> announced.host >> announced.port >> reachable.host >> reachable.port;
  return {announced, reachable};
}

// The texts of the settings, each by its name.
template <typename S, typename Visit>
void visit_texts(S& settings, Visit visit) {
  auto& endpoint = settings.endpoint;
  visit("service", endpoint.service);
  visit("username", endpoint.credentials.username);
  visit("password", endpoint.credentials.password);
  visit("sentinel_username", endpoint.sentinel_credentials.username);
  visit("sentinel_password", endpoint.sentinel_credentials.password);
  visit("tls_ca", endpoint.tls.ca);
  visit("tls_cert", endpoint.tls.cert);
  visit("tls_key", endpoint.tls.key);
  visit("tls_system_ca_file", endpoint.tls.system_ca_file);
  visit("tls_system_ca_directory", endpoint.tls.system_ca_directory);
  visit("publish", settings.publish);
}

std::string numbers_text(const net::Endpoint& endpoint) {
  return std::to_string(static_cast<int>(endpoint.deployment)) + ' ' +
         std::to_string(endpoint.database) + (endpoint.tls.enabled ? " 1" : " 0") +
         (endpoint.tls.verify ? " 1" : " 0");
}

bool read_numbers(std::string_view text, net::Endpoint& endpoint) {
  std::istringstream words{std::string(text)};
  int deployment = -1;
  words >> deployment >> endpoint.database >> endpoint.tls.enabled >> endpoint.tls.verify;
  endpoint.deployment = static_cast<net::Deployment>(deployment);
  return words && deployment >= 0 && deployment <= static_cast<int>(net::Deployment::kCluster);
}

}  // namespace

std::string settings_text(const Settings& settings) {
  std::vector<std::pair<std::string_view, std::string>> fields;
  fields.emplace_back("numbers", numbers_text(settings.endpoint));
  visit_texts(settings, [&](std::string_view name, const std::string& text) {
    if (!text.empty()) fields.emplace_back(name, text);
  });
  for (const net::Address& each : settings.endpoint.addresses) {
    fields.emplace_back("address", address_text(each));
  }
  for (const auto& entry : settings.endpoint.address_table) {
    fields.emplace_back("map", entry_text(entry));
  }
  if (settings.primary) fields.emplace_back("primary", address_text(*settings.primary));
  for (const std::string& each : settings.connections) fields.emplace_back("connection", each);
  std::vector<std::string_view> words;
  for (const auto& [name, text] : fields) words.insert(words.end(), {name, text});
  return resp::Command(words).bytes();
}

Result<Settings> read_settings(std::string_view text) {
  resp::Reader reader;
  reader.feed(text.data(), text.size());
  auto next = reader.next();
  if (!next.ok()) return next.status();
  Settings settings;
  net::Endpoint& endpoint = settings.endpoint;
  bool complete = false;
  const std::size_t size = next.value() ? next.value()->size() : 0;
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    const std::string_view name = next.value()->text_at(i);
    const std::string_view value = next.value()->text_at(i + 1);
    if (name == "numbers") complete = read_numbers(value, endpoint);
    if (name == "address") endpoint.addresses.push_back(read_address(value));
    if (name == "map") endpoint.address_table.push_back(read_entry(value));
    if (name == "primary") settings.primary = read_address(value);
    if (name == "connection") settings.connections.emplace_back(value);
    visit_texts(settings, [&](std::string_view field, std::string& into) {
      if (field == name) into = value;
    });
  }
  if (complete && !endpoint.addresses.empty() && !settings.publish.empty()) return settings;
  return Status::invalid("the settings for the guard are not complete");
}

}  // namespace holdfast::guard
