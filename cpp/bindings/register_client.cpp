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
py::tuple figures_of(Client& client) {
  const auto context = client.context();
  const Stats& stats = *context->stats;
  // The later counters are parts of what is held.
  constexpr auto kCounters = static_cast<std::size_t>(Stats::Counter::kTaken);
  py::tuple figures(kCounters + 3);
  for (std::size_t i = 0; i < kCounters; ++i) {
    figures[i] = py::int_(stats.total(static_cast<Stats::Counter>(i)));
  }
  figures[static_cast<std::size_t>(Stats::Counter::kHeld)] = py::int_(stats.held());
  figures[kCounters] = py::int_(context->keeper->tracked());
  figures[kCounters + 1] = histogram(stats.histogram(Stats::Timing::kWait));
  figures[kCounters + 2] = histogram(stats.histogram(Stats::Timing::kHeld));
  return figures;
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

template <auto credentials>
void set_credentials(net::Endpoint& endpoint, const std::string& username,
                     const std::string& password) {
  endpoint.*credentials = {username, password};
}

template <auto part>
std::string credential(const net::Endpoint& endpoint) {
  return endpoint.credentials.*part;
}

void register_endpoint(py::module_& module) {
  using net::Credentials;
  using net::Endpoint;
  py::class_<Endpoint>(module, "Endpoint")
      .def(py::init(&make_endpoint))
      // By these Python is asked for each attempt to connect.
      .def("set_password_source",
           [](Endpoint& endpoint, std::uint64_t number) {
             endpoint.credential_source = [number] { return request_password(number); };
           })
      .def("set_address_source",
           [](Endpoint& endpoint, std::uint64_t number) {
             endpoint.address_source = [number](const net::Address& announced) {
               return request_address(number, announced);
             };
           })
      .def("set_address_table", &set_address_table)
      .def_property_readonly("text", &Endpoint::text)
      .def_property_readonly("deployment", &deployment)
      .def_property_readonly("tls", [](const Endpoint& endpoint) { return endpoint.tls.enabled; })
      .def("set_credentials", &set_credentials<&Endpoint::credentials>)
      .def("set_sentinel_credentials", &set_credentials<&Endpoint::sentinel_credentials>)
      .def_property_readonly("username", &credential<&Credentials::username>)
      .def_property_readonly("password", &credential<&Credentials::password>)
      .def("set_tls",
           [](Endpoint& endpoint, bool verify, const std::string& ca, const std::string& cert,
              const std::string& key) {
             endpoint.tls.verify = verify;
             endpoint.tls.ca = ca;
             endpoint.tls.cert = cert;
             endpoint.tls.key = key;
           })
      .def("set_system_ca",
           [](Endpoint& endpoint, const std::string& file, const std::string& directory) {
             endpoint.tls.system_ca_file = file;
             endpoint.tls.system_ca_directory = directory;
           });
}

using engine::ClientOptions;

// Unset for "auto".
void set_pubsub(ClientOptions& options, const std::string& word) {
  options.pubsub.reset();
  if (word == "sharded") options.pubsub = client::PubSub::kSharded;
  if (word == "classic") options.pubsub = client::PubSub::kClassic;
  if (word == "both") options.pubsub = client::PubSub::kBoth;
}

using Tracking = client::TrackingMode;

void set_tracking(ClientOptions& options, const std::string& word) {
  options.tracking = Tracking::kOff;
  if (word == "require") options.tracking = Tracking::kRequired;
  if (word == "auto") options.tracking = Tracking::kTried;
}

const char* tracking(const ClientOptions& options) {
  if (options.tracking == Tracking::kRequired) return "require";
  return options.tracking == Tracking::kTried ? "auto" : "off";
}

void register_options(py::module_& module) {
  py::class_<ClientOptions>(module, "ClientOptions")
      .def(py::init<>())
      .def_readwrite("endpoint", &ClientOptions::endpoint)
      .def_readwrite("id", &ClientOptions::id)
      .def_property(
          "name_prefix",
          [](const ClientOptions& options) { return py::bytes(options.name_prefix); },
          [](ClientOptions& options, const py::bytes& prefix) { options.name_prefix = prefix; })
      .def_readwrite("client_name", &ClientOptions::client_name)
      .def_readwrite("retries", &ClientOptions::retries)
      .def_readwrite("resp3", &ClientOptions::resp3)
      .def_readwrite("busy_poll", &ClientOptions::busy_poll)
      .def_readwrite("replicas_to_wait", &ClientOptions::replicas_to_wait)
      .def_readwrite("asynchronous", &ClientOptions::asynchronous)
      .def_readwrite("guard", &ClientOptions::guard)
      .def("set_pubsub", &set_pubsub)
      .def("set_reauthenticate",
           [](ClientOptions& options, Millis every) { options.reauthenticate = every; })
      .def_property_readonly("tracking", &tracking)
      .def("set_tracking", &set_tracking)
      .def("set_label",
           [](ClientOptions& options, std::optional<std::string> label, Millis lease) {
             options.label = std::move(label);
             options.lease.time = lease;
           })
      .def("set_timeouts", [](ClientOptions& options, Millis connect, Millis command) {
        options.connect_timeout = connect;
        options.command_timeout = command;
      });
}

std::shared_ptr<engine::Closing> close_client(Client& client, std::optional<Millis> timeout,
                                              bool release_held) {
  const py::gil_scoped_release released;
  return client.close(timeout.value_or(client.options().command_timeout), release_held);
}

}  // namespace

void register_client(py::module_& module) {
  module
      // The bounds of the buckets, in seconds.
      .def("histogram_bounds",
           [] {
             py::tuple bounds(Stats::kBounds);
             for (std::size_t i = 0; i < Stats::kBounds; ++i) bounds[i] = seconds(Stats::kUpTo[i]);
             return bounds;
           })
      // Empty: a guard can run on this system.
      .def("guard_obstacle", [] { return engine::Guarded::possible().message(); });
  register_endpoint(module);
  register_options(module);
  py::class_<Client, std::shared_ptr<Client>>(module, "Client")
      .def(py::init<engine::ClientOptions>())
      .def("ping", &Client::ping)
      .def_property_readonly("id", &Client::id)
      .def_property_readonly("closed", &Client::closed)
      .def_property_readonly("guard_pid", &Client::guard_pid)
      .def("read_ticket", &read_ticket)
      .def("stats", &figures_of)
      .def("explain_loss",
           [](Client& client, const py::bytes& name, std::uint64_t owner,
              const std::string& reason) {
             client.context()->keeper->explain(name, OwnerNumber{owner}, reason);
           })
      .def("pause_renewals", &Client::pause_renewals)
      .def("close", &close_client);
  using engine::Closing;
  py::class_<Closing, sync::Exchange, std::shared_ptr<Closing>>(module, "Closing")
      .def_property_readonly("names", [](Closing& closing) {
        py::list names;
        for (const std::string& name : closing.names()) names.append(py::bytes(name));
        return names;
      });
}

}  // namespace holdfast::bindings
