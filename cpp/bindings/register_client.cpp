#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/shown.h"
#include "base/stats.h"
#include "bindings/errors.h"
#include "bindings/passwords.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/client.h"
#include "engine/guarded.h"
#include "sync/operation/ticket.h"

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
  figures[kCounters + 2] = histogram(stats.histogram(Stats::Timing::kHold));
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
void register_sources(py::class_<net::Endpoint>& endpoint) {
  endpoint
      .def("set_password_source",
           [](net::Endpoint& e, std::uint64_t number) {
             e.credential_source = [number] { return request_password(number); };
           })
      .def("set_address_table", &set_address_table)
      .def("set_address_source", [](net::Endpoint& e, std::uint64_t number) {
        e.address_source = [number](const net::Address& announced) {
          return request_address(number, announced);
        };
      });
}

void register_endpoint(py::module_& module) {
  py::class_<net::Endpoint> endpoint(module, "Endpoint");
  register_sources(endpoint);
  endpoint.def(py::init(&make_endpoint))
      .def_property_readonly("text", &net::Endpoint::text)
      .def_property_readonly("deployment", &deployment)
      .def_property_readonly("tls", [](const net::Endpoint& e) { return e.tls.enabled; })
      .def("set_credentials",
           [](net::Endpoint& e, const std::string& username, const std::string& password) {
             e.credentials = {username, password};
           })
      .def("set_sentinel_credentials",
           [](net::Endpoint& e, const std::string& username, const std::string& password) {
             e.sentinel_credentials = {username, password};
           })
      .def_property_readonly("username",
                             [](const net::Endpoint& e) { return e.credentials.username; })
      .def_property_readonly("password",
                             [](const net::Endpoint& e) { return e.credentials.password; })
      .def("set_tls",
           [](net::Endpoint& e, bool verify, const std::string& ca, const std::string& cert,
              const std::string& key) {
             e.tls.verify = verify;
             e.tls.ca = ca;
             e.tls.cert = cert;
             e.tls.key = key;
           })
      .def("set_system_ca",
           [](net::Endpoint& e, const std::string& file, const std::string& directory) {
             e.tls.system_ca_file = file;
             e.tls.system_ca_directory = directory;
           });
}

void register_options(py::module_& module) {
  py::class_<engine::ClientOptions>(module, "ClientOptions")
      .def(py::init<>())
      .def_readwrite("endpoint", &engine::ClientOptions::endpoint)
      .def_readwrite("id", &engine::ClientOptions::id)
      .def_property(
          "name_prefix", [](const engine::ClientOptions& o) { return py::bytes(o.name_prefix); },
          [](engine::ClientOptions& o, const py::bytes& prefix) { o.name_prefix = prefix; })
      .def_readwrite("client_name", &engine::ClientOptions::client_name)
      .def_readwrite("retries", &engine::ClientOptions::retries)
      .def_readwrite("resp3", &engine::ClientOptions::resp3)
      .def_readwrite("replicas_to_wait", &engine::ClientOptions::replicas_to_wait)
      .def_readwrite("asynchronous", &engine::ClientOptions::asynchronous)
      .def_readwrite("guard", &engine::ClientOptions::guard)
      .def("set_pubsub",
           [](engine::ClientOptions& o, const std::string& word) { o.pubsub = pubsub_of(word); })
      .def("set_reauthenticate",
           [](engine::ClientOptions& o, Millis every) { o.reauthenticate = every; })
      .def_property_readonly("tracking",
                             [](const engine::ClientOptions& o) { return word_of(o.tracking); })
      .def("set_tracking", [](engine::ClientOptions& o,
                              const std::string& word) { o.tracking = tracking_of(word); })
      .def("set_label",
           [](engine::ClientOptions& o, std::optional<std::string> label, Millis lease) {
             o.label = std::move(label);
             o.lease.time = lease;
           })
      .def("set_timeouts", [](engine::ClientOptions& o, Millis connect, Millis command) {
        o.connect_timeout = connect;
        o.command_timeout = command;
      });
}

std::shared_ptr<engine::Closing> close_client(Client& client, std::optional<Millis> timeout,
                                              bool release_held) {
  const py::gil_scoped_release released;
  return client.close(timeout.value_or(client.options().command_timeout), release_held);
}

void register_closing(py::module_& module) {
  using engine::Closing;
  py::class_<Closing, sync::Exchange, std::shared_ptr<Closing>>(module, "Closing")
      .def_property_readonly("names", [](Closing& self) {
        py::list names;
        for (const std::string& name : self.names()) names.append(py::bytes(name));
        return names;
      });
}

}  // namespace

void register_client(py::module_& module) {
  module.def("histogram_bounds", &histogram_bounds);
  // Empty: a guard can run on this system.
  module.def("guard_obstacle", [] { return engine::Guarded::possible().message(); });
  register_endpoint(module);
  register_options(module);
  py::class_<Client, std::shared_ptr<Client>>(module, "Client")
      .def(py::init<engine::ClientOptions>())
      .def("ping", &Client::ping)
      .def_property_readonly("id", [](Client& self) { return self.id(); })
      .def_property_readonly("closed", &Client::closed)
      .def_property_readonly("guard_pid", &Client::guard_pid)
      .def("read_ticket", &read_ticket)
      .def("stats",
           [](Client& self) {
             const auto context = self.context();
             return stats_to_python(*context->stats, context->keeper->watchdog().tracked());
           })
      .def("explain_loss",
           [](Client& self, const py::bytes& name, std::uint64_t owner, const std::string& reason) {
             self.context()->keeper->explain(std::string_view(name), OwnerNumber{owner}, reason);
           })
      .def("introduce", &Client::introduce)
      .def("pause_renewals", &Client::pause_renewals)
      .def("close", &close_client, py::arg("timeout_ms") = py::none(),
           py::arg("release_held") = false);
  register_closing(module);
}

}  // namespace holdfast::bindings
