#include "guard/settings.h"

#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "resp/command.h"

namespace holdfast::guard {

namespace {

std::string flag(bool on) { return on ? "1" : ""; }

template <typename Number>
Number number(const std::string& text, Number otherwise) {
  Number value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "host port host port", one entry on each line.
net::AddressTable read_map(const std::string& text) {
  std::istringstream words(text);
  net::AddressTable table;
  net::Address announced;
  net::Address reachable;
  while (words >> announced.host >> announced.port >> reachable.host >> reachable.port) {
    table.emplace_back(announced, reachable);
  }
  return table;
}

std::string map_text(const net::AddressTable& table) {
  std::string text;
  for (const auto& [announced, reachable] : table) {
    text += announced.host + ' ' + std::to_string(announced.port) + ' ' + reachable.host + ' ' +
            std::to_string(reachable.port) + '\n';
  }
  return text;
}

Settings read_server(const resp::Reply& message) {
  const auto text = [&message](std::string_view name) { return std::string(message.field(name)); };
  Settings settings;
  settings.address.host = text("host");
  settings.address.path = text("path");
  settings.address.port = number<std::uint16_t>(text("port"), 0);
  settings.announced = settings.address;
  if (!text("announced_host").empty()) {
    settings.announced.host = text("announced_host");
    settings.announced.port = number<std::uint16_t>(text("announced_port"), 0);
  }
  settings.address_map = read_map(text("address_map"));
  settings.credentials = {text("username"), text("password")};
  settings.database = text("database");
  settings.tls.enabled = !text("tls").empty();
  settings.tls.verify = !text("tls_verify").empty();
  settings.tls.ca = text("tls_ca");
  settings.tls.cert = text("tls_cert");
  settings.tls.key = text("tls_key");
  settings.tls.system_ca_file = text("tls_system_ca_file");
  settings.tls.system_ca_directory = text("tls_system_ca_directory");
  settings.publish = text("publish");
  settings.cluster = !text("cluster").empty();
  settings.place = number(text("place"), Settings::kNoPlace);
  settings.service = text("service");
  return settings;
}

bool names_server(const resp::Reply& message) {
  return !message.field("host").empty() || !message.field("path").empty();
}

}  // namespace

std::string join_message(const std::string& client) {
  return resp::Command{"client", client}.bytes();
}

std::string end_message(const std::string& client) {
  return resp::Command{"client", client, "ends", flag(true)}.bytes();
}

std::string server_message(const std::string& client, const Settings& server) {
  const net::TlsOptions& tls = server.tls;
  const std::pair<std::string_view, std::string> fields[] = {
      {"client", client},
      {"host", server.address.host},
      {"port", std::to_string(server.address.port)},
      {"path", server.address.path},
      {"announced_host", server.announced.host},
      {"announced_port", std::to_string(server.announced.port)},
      {"address_map", map_text(server.address_map)},
      {"username", server.credentials.username},
      {"password", server.credentials.password},
      {"database", server.database},
      {"tls", flag(tls.enabled)},
      {"tls_verify", flag(tls.verify)},
      {"tls_ca", tls.ca},
      {"tls_cert", tls.cert},
      {"tls_key", tls.key},
      {"tls_system_ca_file", tls.system_ca_file},
      {"tls_system_ca_directory", tls.system_ca_directory},
      {"publish", server.publish},
      {"cluster", flag(server.cluster)},
      {"place", std::to_string(server.place)},
      {"service", server.service},
  };
  std::vector<std::string_view> words;
  for (const auto& [name, value] : fields) words.insert(words.end(), {name, value});
  return resp::Command(words).bytes();
}

Result<Message> read_message(const resp::Reply& message) {
  Message read{std::string(message.field("client")), !message.field("ends").empty(), {}};
  if (read.client.empty()) return Status::invalid("a message for the guard lacks its client");
  const bool joins = message.size() == 2;
  if (joins || read.ends) return read;
  read.server = read_server(message);
  const bool complete = !read.server->publish.empty() || !read.server->service.empty();
  if (names_server(message) && complete) return read;
  return Status::invalid("a message for the guard lacks an address, or how to publish");
}

}  // namespace holdfast::guard
