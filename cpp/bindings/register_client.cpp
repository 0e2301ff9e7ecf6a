#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/conversions.h"
#include "bindings/errors.h"
#include "bindings/passwords.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/locks.h"
#include "redis/base/stats.h"
#include "redis/base/status.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::Client;

double seconds(std::int64_t nanos) { return static_cast<double>(nanos) / kNanos; }

py::tuple histogram(const Stats::Histogram& from) {
  py::tuple counts(from.counts.size());
  for (std::size_t i = 0; i < from.counts.size(); ++i) counts[i] = py::int_(from.counts[i]);
  return py::make_tuple(counts, seconds(from.sum.count()));
}

// The figures of a client, for holdfast._engine.stats: the counters in the order of Stats::Counter,
// the number of tracked holds, then for each Stats::Timing a tuple (counts, sum in seconds).
py::tuple stats_to_python(const Stats& stats, std::size_t tracked) {
  // What comes after it is a part of what is held.
  constexpr auto kCounters = static_cast<std::size_t>(Stats::Counter::kTaken);
  py::tuple figures(kCounters + 3);
  for (std::size_t i = 0; i < kCounters; ++i) {
    figures[i] = py::int_(stats.total(static_cast<Stats::Counter>(i)));
  }
  figures[static_cast<std::size_t>(Stats::Counter::kHeld)] = py::int_(stats.held());
  figures[kCounters] = py::int_(tracked);
  figures[kCounters + 1] = histogram(stats.histogram(Stats::Timing::kWait));
  figures[kCounters + 2] = histogram(stats.histogram(Stats::Timing::kHeld));
  return figures;
}

// The bounds of the buckets, in seconds.
py::tuple histogram_bounds() {
  py::tuple bounds(Stats::kBounds);
  for (std::size_t i = 0; i < Stats::kBounds; ++i) bounds[i] = seconds(Stats::kUpTo[i]);
  return bounds;
}

// The kind of a ticket's lock, the name without the client's prefix, and the ticket's owner.
py::tuple read_ticket(const Client& client, const std::string& text) {
  const Result<sync::Ticket> ticket = sync::parse_ticket(text);
  if (!ticket.ok()) raise(exception_for(ticket.status()));
  const std::string& prefix = client.options().name_prefix;
  const std::string& name = ticket.value().name;
  if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0) {
    raise(exception_for(Status::invalid("ticket is for " + quoted(name) +
                                        ", which is outside this client's name_prefix " +
                                        quoted(prefix) +
                                        "; attach() it with a client whose "
                                        "name_prefix the name begins with")));
  }
  return py::make_tuple(ticket.value().kind, py::bytes(name.substr(prefix.size())),
                        ticket.value().field);
}

// Nothing for "auto".
std::optional<client::PubSub> pubsub_of(const std::string& word) {
  if (word == "sharded") return client::PubSub::kSharded;
  if (word == "classic") return client::PubSub::kClassic;
  if (word == "both") return client::PubSub::kBoth;
  return std::nullopt;
}

client::TrackingMode tracking_of(const std::string& word) {
  using Mode = client::TrackingMode;
  if (word == "require") return Mode::kRequired;
  return word == "auto" ? Mode::kTried : Mode::kOff;
}

const char* word_of(client::TrackingMode mode) {
  using Mode = client::TrackingMode;
  if (mode == Mode::kRequired) return "require";
  return mode == Mode::kTried ? "auto" : "off";
}

// Host, port and path of a unix socket.
using AddressEntry = std::tuple<std::string, std::uint16_t, std::string>;

// The servers of a URL, for Python to complete with keywords.
net::Endpoint make_endpoint(const std::string& deployment, bool tls,
                            const std::vector<AddressEntry>& addresses, const std::string& service,
                            int database) {
  net::Endpoint endpoint;
  if (deployment == "sentinel") endpoint.deployment = net::Deployment::kSentinel;
  if (deployment == "cluster") endpoint.deployment = net::Deployment::kCluster;
  endpoint.tls.enabled = tls;
  for (const auto& [host, port, path] : addresses) {
    endpoint.addresses.push_back(net::Address{host, port, path});
  }
  endpoint.service = service;
  endpoint.database = database;
  return endpoint;
}

std::string deployment(const net::Endpoint& endpoint) {
  switch (endpoint.deployment) {
    case net::Deployment::kSentinel:
      return "sentinel";
    case net::Deployment::kCluster:
      return "cluster";
    case net::Deployment::kStandalone:
      break;
  }
  return "standalone";
}

using MapEntry = std::tuple<std::string, std::uint16_t, std::string, std::uint16_t>;

void set_address_table(net::Endpoint& endpoint, const std::vector<MapEntry>& entries) {
  endpoint.address_table.clear();
  for (const auto& [announced, port, reachable, reachable_port] : entries) {
    endpoint.address_table.emplace_back(net::Address{announced, port, {}},
                                        net::Address{reachable, reachable_port, {}});
  }
}

// What Python supplies for each attempt to connect.
void set_password_source(net::Endpoint& endpoint, std::uint64_t number) {
  endpoint.credential_source = [number] { return request_password(number); };
}

void set_address_source(net::Endpoint& endpoint, std::uint64_t number) {
  endpoint.address_source = [number](const net::Address& announced) {
    return request_address(number, announced);
  };
}

template <auto credentials>
void set_credentials(net::Endpoint& endpoint, const std::string& username,
                     const std::string& password) {
  endpoint.*credentials = {username, password};
}

template <auto part>
std::string credential(const net::Endpoint& endpoint) {
  return endpoint.credentials.*part;
}

bool uses_tls(const net::Endpoint& endpoint) { return endpoint.tls.enabled; }

void set_tls(net::Endpoint& endpoint, bool verify, const std::string& ca, const std::string& cert,
             const std::string& key) {
  endpoint.tls.verify = verify;
  endpoint.tls.ca = ca;
  endpoint.tls.cert = cert;
  endpoint.tls.key = key;
}

void set_system_ca(net::Endpoint& endpoint, const std::string& file, const std::string& directory) {
  endpoint.tls.system_ca_file = file;
  endpoint.tls.system_ca_directory = directory;
}

void register_endpoint(py::module_& module) {
  using net::Credentials;
  using net::Endpoint;
  py::class_<Endpoint>(module, "Endpoint")
      .def(py::init(&make_endpoint))
      .def("set_password_source", &set_password_source)
      .def("set_address_table", &set_address_table)
      .def("set_address_source", &set_address_source)
      .def_property_readonly("text", &Endpoint::text)
      .def_property_readonly("deployment", &deployment)
      .def_property_readonly("tls", &uses_tls)
      .def("set_credentials", &set_credentials<&Endpoint::credentials>)
      .def("set_sentinel_credentials", &set_credentials<&Endpoint::sentinel_credentials>)
      .def_property_readonly("username", &credential<&Credentials::username>)
      .def_property_readonly("password", &credential<&Credentials::password>)
      .def("set_tls", &set_tls)
      .def("set_system_ca", &set_system_ca);
}

using engine::ClientOptions;

void set_pubsub(ClientOptions& options, const std::string& word) {
  options.pubsub = pubsub_of(word);
}

void set_tracking(ClientOptions& options, const std::string& word) {
  options.tracking = tracking_of(word);
}

const char* tracking(const ClientOptions& options) { return word_of(options.tracking); }

void set_reauthenticate(ClientOptions& options, Millis every) { options.reauthenticate = every; }

void set_label(ClientOptions& options, std::optional<std::string> label, Millis lease) {
  options.label = std::move(label);
  options.lease.time = lease;
}

void set_timeouts(ClientOptions& options, Millis connect, Millis command) {
  options.connect_timeout = connect;
  options.command_timeout = command;
}

py::bytes name_prefix(const ClientOptions& options) { return options.name_prefix; }

void set_name_prefix(ClientOptions& options, const py::bytes& prefix) {
  options.name_prefix = prefix;
}

void register_options(py::module_& module) {
  py::class_<ClientOptions>(module, "ClientOptions")
      .def(py::init<>())
      .def_readwrite("endpoint", &ClientOptions::endpoint)
      .def_readwrite("id", &ClientOptions::id)
      .def_property("name_prefix", &name_prefix, &set_name_prefix)
      .def_readwrite("client_name", &ClientOptions::client_name)
      .def_readwrite("retries", &ClientOptions::retries)
      .def_readwrite("resp3", &ClientOptions::resp3)
      .def_readwrite("busy_poll", &ClientOptions::busy_poll)
      .def_readwrite("replicas_to_wait", &ClientOptions::replicas_to_wait)
      .def_readwrite("asynchronous", &ClientOptions::asynchronous)
      .def_readwrite("guard", &ClientOptions::guard)
      .def("set_pubsub", &set_pubsub)
      .def("set_reauthenticate", &set_reauthenticate)
      .def_property_readonly("tracking", &tracking)
      .def("set_tracking", &set_tracking)
      .def("set_label", &set_label)
      .def("set_timeouts", &set_timeouts);
}

std::shared_ptr<engine::Closing> close_client(Client& client, std::optional<Millis> timeout,
                                              bool release_held) {
  const py::gil_scoped_release released;
  return client.close(timeout.value_or(client.options().command_timeout), release_held);
}

py::tuple stats(Client& client) {
  const auto context = client.context();
  return stats_to_python(*context->stats, context->keeper->tracked());
}

void explain_loss(Client& client, const py::bytes& name, std::uint64_t owner,
                  const std::string& reason) {
  client.context()->keeper->explain(name, OwnerNumber{owner}, reason);
}

// Empty: a guard can run on this system.
std::string guard_obstacle() { return engine::Guarded::possible().message(); }

py::list names_of(engine::Closing& closing) {
  py::list names;
  for (const std::string& name : closing.names()) names.append(py::bytes(name));
  return names;
}

}  // namespace

void register_client(py::module_& module) {
  module.def("histogram_bounds", &histogram_bounds).def("guard_obstacle", &guard_obstacle);
  register_endpoint(module);
  register_options(module);
  py::class_<Client, std::shared_ptr<Client>>(module, "Client")
      .def(py::init<engine::ClientOptions>())
      .def("ping", &Client::ping)
      .def_property_readonly("id", &Client::id)
      .def_property_readonly("closed", &Client::closed)
      .def_property_readonly("guard_pid", &Client::guard_pid)
      .def("read_ticket", &read_ticket)
      .def("stats", &stats)
      .def("explain_loss", &explain_loss)
      .def("pause_renewals", &Client::pause_renewals)
      .def("close", &close_client);
  using engine::Closing;
  py::class_<Closing, sync::Exchange, std::shared_ptr<Closing>>(module, "Closing")
      .def_property_readonly("names", &names_of);
}

}  // namespace holdfast::bindings
