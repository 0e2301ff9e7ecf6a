// Commands sent as they are, for looking at a deployment: holdfast.inspect is built on them. And
// steps of the scripts in lua/ with keys and arguments of Python: see holdfast._locks.steps.

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/conversions.h"
#include "bindings/errors.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "locks/locks.h"
#include "lua_scripts.h"
#include "redis/base/status.h"
#include "redis/client.h"
#include "redis/resp/reply.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::Client;

using Words = sync::CommandOperation::Words;

// One parameter, as it is sent: bytes, or the text of a str or an int.
std::string word_of(PyObject* given) {
  if (PyBytes_Check(given)) {
    return {PyBytes_AS_STRING(given), static_cast<std::size_t>(PyBytes_GET_SIZE(given))};
  }
  const auto text = py::reinterpret_steal<py::object>(PyObject_Str(given));
  Py_ssize_t size = 0;
  const char* const utf8 = text ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
  if (utf8 == nullptr) throw py::error_already_set();
  return {utf8, static_cast<std::size_t>(size)};
}

Words words_of(const py::handle& given) {
  const auto items = py::reinterpret_steal<py::object>(
      PySequence_Fast(given.ptr(), "parameters must be a sequence"));
  if (!items) throw py::error_already_set();
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(items.ptr());
  Words words;
  words.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    words.push_back(word_of(PySequence_Fast_GET_ITEM(items.ptr(), i)));
  }
  return words;
}

// Arguments: client, name, commands, time. `commands` is not empty.
sync::ExchangePtr commands_of(Client& client, const std::string& name, const py::object& commands,
                              const sync::CallersTime& time) {
  events_needed();
  std::vector<Words> all;
  for (const py::handle command : commands) all.push_back(words_of(command));
  return std::make_shared<sync::CommandOperation>(client.started(), LockName(name), std::move(all),
                                                  time);
}

// Null if no script has the name. They are sorted by it.
const script::Script* find_script(std::string_view name) {
  const auto& all = script::lua::all;
  const auto* const found =
      std::lower_bound(std::begin(all), std::end(all), name,
                       [](const script::Script* s, std::string_view n) { return s->name < n; });
  return found == std::end(all) || (*found)->name != name ? nullptr : *found;
}

// The writer of a step with these parameters. A last argument that is not given is the command by
// which scripts publish.
std::function<void(script::Writer&)> writer_of(std::string_view word, Words keys, Words args) {
  const script::Script* const found = find_script(word);
  if (found == nullptr) throw py::value_error("no script has this name: " + std::string(word));
  const script::Script& script = *found;
  const bool published = args.size() + 1 == script.args;
  const bool fits = keys.size() == script.keys && (published || args.size() == script.args);
  if (keys.empty() || script.head.empty() || !fits) {
    throw py::value_error("the script has another number of parameters: " + std::string(word));
  }
  return [&script, keys = std::move(keys), args = std::move(args)](script::Writer& out) {
    script::Call call = out.call(script);
    for (const std::string& key : keys) call << key;
    for (const std::string& arg : args) call << arg;
    if (args.size() < script.args) call << out.publish();
  };
}

// Adds what begins a step. The name says which server, and stands in errors; empty: it is the first
// key.
void add_steps(py::module_& module) {
  module.def("step_of",
             [](Client& client, const std::string& name, std::string_view word,
                const py::object& keys, const py::object& args, const sync::CallersTime& time) {
               events_needed();
               Words all = words_of(keys);
               const LockName about(name.empty() && !all.empty() ? all.front() : name);
               sync::Query query{about, writer_of(word, std::move(all), words_of(args))};
               query.time = time;
               query.whole_reply = true;
               return sync::call_of(client.started(), std::move(query));
             });
  // A step whose reply is a number, and which goes on in the background until that lease is over
  // where its caller has got an error.
  module.def("lasting_step_of",
             [](Client& client, const std::string& name, std::string_view word,
                const py::object& keys, const py::object& args, Millis lease) -> sync::ExchangePtr {
               events_needed();
               sync::StepRelease::Command command{writer_of(word, words_of(keys), words_of(args))};
               command.lease = lease;
               return std::make_shared<sync::StepRelease>(client.started(), LockName(name),
                                                          next_owner_number(), std::move(command));
             });
}

py::list addresses(const net::Endpoint& endpoint) {
  py::list all;
  for (const net::Address& address : endpoint.addresses) {
    all.append(py::make_tuple(address.host, address.port, address.path));
  }
  return all;
}

net::Endpoint server_at(const net::Endpoint& endpoint, const std::string& host,
                        std::uint16_t port) {
  net::Endpoint server = endpoint;
  server.deployment = net::Deployment::kStandalone;
  net::Address address{host, port, {}};
  const auto& given = endpoint.addresses;
  address.announced = std::find(given.begin(), given.end(), address) == given.end();
  server.addresses = {address};
  server.service.clear();
  return server;
}

net::Endpoint sentinel_at(const net::Endpoint& endpoint, const std::string& host,
                          std::uint16_t port) {
  net::Endpoint sentinel = server_at(endpoint, host, port);
  sentinel.database = 0;
  sentinel.credentials = endpoint.sentinel_credentials;
  return sentinel;
}

struct NamedKey {
  const char* word;
  sync::Key key;
};

constexpr NamedKey kKeys[] = {{"lock_channel", sync::keys::kLockChannel},
                              {"semaphore_channel", sync::keys::kSemaphoreChannel},
                              {"latch_channel", sync::keys::kLatchChannel},
                              {"sides_channel", sync::keys::kSidesChannel},
                              {"token_counter", sync::keys::kTokenCounter},
                              {"fair_queue", sync::keys::kFairQueue},
                              {"fair_timeouts", sync::keys::kFairTimeouts},
                              {"permit_timeouts", sync::keys::kPermitTimeouts},
                              {"read_timeout", sync::keys::kReadTimeout},
                              {"state", sync::keys::kState},
                              {"changed_channel", sync::keys::kChangedChannel},
                              {"request", sync::keys::kRequest}};

py::dict derived_keys() {
  py::dict all;
  for (const NamedKey& each : kKeys) {
    const sync::Key& key = each.key;
    all[each.word] =
        py::make_tuple(py::bytes(key.before.data(), key.before.size()),
                       py::bytes(key.after.data(), key.after.size()), key.always_braced);
  }
  return all;
}

py::list kinds() {
  py::list words;
  for (const sync::LockKind& kind : sync::kLockKinds) {
    if (!kind.word.empty() && !kind.part) words.append(kind.word);
  }
  for (const auto kind : sync::kCounterKinds) {
    const bool waits = kind == &sync::revision || kind == &sync::observation;
    if (!waits) words.append(kind().word);  // by these what is built on others waits
  }
  words.append(sync::permit_kind().word);
  return words;
}

template <auto member>
auto part_of(const net::Endpoint& endpoint) {
  return endpoint.*member;
}

}  // namespace

void register_commands(py::module_& module) {
  const py::class_<sync::CallersTime> time(module, "CallersTime");
  add_steps(module);
  module.def("callers_time", &Client::time)
      .def("time_over", &Client::late)
      .def("commands_of", &commands_of)
      .def("options_of", [](const Client& client) { return client.options(); })
      .def("addresses", &addresses)
      .def("server_at", &server_at)
      .def("sentinel_at", &sentinel_at)
      .def("service_of", &part_of<&net::Endpoint::service>)
      .def("database_of", &part_of<&net::Endpoint::database>)
      .def("tls_options",
           [](const net::Endpoint& endpoint) {
             const net::TlsOptions& tls = endpoint.tls;
             return py::make_tuple(tls.verify, tls.ca, tls.cert, tls.key);
           })
      // None if no script has the name.
      .def("script_text",
           [](const std::string& name) -> py::object {
             const script::Script* const script = find_script(name);
             if (script == nullptr) return py::none();
             return py::bytes(script->text.data(), script->text.size());
           })
      .def("derived_keys", &derived_keys)
      .def("kinds", &kinds)
      .def("shown", [](const py::bytes& name) { return shown(std::string_view(name)); })
      .def("versions",
           [] { return py::make_tuple(resp::hiredis_version(), net::openssl_version()); });
}

}  // namespace holdfast::bindings
