#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/status.h"
#include "net/endpoint.h"
#include "resp/reply.h"

namespace holdfast::guard {

// One server of a client, or a sentinel of its service, and how to reach it.
struct Settings {
  static constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

  net::Address address;  // "host" and "port", or "path"
  // How other servers call it: "announced_host" and "announced_port"; without, as `address`.
  net::Address announced;
  net::AddressTable address_map;  // where others are reachable: "address_map"
  net::Credentials credentials;
  std::string database;          // empty: 0
  net::TlsOptions tls;           // "tls" not empty: enabled; "tls_verify" empty: not verified
  std::string publish;           // the command by which scripts publish, as script::Writer has it
  bool cluster = false;          // not the client's only server
  std::size_t place = kNoPlace;  // in the client's page: its connection to this server
  std::string service;           // of a sentinel: what it is queried for
};

// What a program sends its guard about one of its clients: an array of names and values, in RESP,
// all texts. "client": its number. Without more, the client is new, and its page comes along.
struct Message {
  std::string client;
  bool ends = false;               // "ends" not empty: it has been closed
  std::optional<Settings> server;  // to which it has connected; or a sentinel
};

std::string join_message(const std::string& client);
std::string end_message(const std::string& client);
std::string server_message(const std::string& client, const Settings& server);

// kInvalid: the message is none of these, or an address or "publish" is missing.
Result<Message> read_message(const resp::Reply& message);

}  // namespace holdfast::guard
