// Commands sent as they are, for looking at a deployment: holdfast.inspect is built on them. And
// steps of the scripts in lua/ with keys and arguments of Python: see holdfast._locks.steps.

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shown.h"
#include "bindings/errors.h"
#include "bindings/members.h"
#include "bindings/register.h"
#include "bindings/waiting.h"
#include "engine/client.h"
#include "lua_scripts.h"
#include "net/transport.h"
#include "resp/reply.h"
#include "sync/operation/command_operation.h"
#include "sync/operation/query_operation.h"
#include "sync/recipes/keys.h"
#include "sync/recipes/kinds.h"
#include "sync/recipes/permit_semaphore.h"

namespace holdfast::bindings {

namespace py = pybind11;

namespace {

using engine::Client;

py::bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }

// A map comes as a list: name, value, name, value, ...
py::object converted(const resp::Reply& reply, const LockName& name, const std::string& server) {
  if (reply.is_nil()) return py::none();
  if (reply.is_error()) return exception_for(sync::error_status(reply.text(), name, server));
  if (reply.is_integer()) return py::int_(reply.integer());
  if (!reply.is_array()) return bytes_of(reply.text());
  py::list elements;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    elements.append(converted(reply.at(i), name, server));
  }
  return elements;
}

// What a caller sends, and the replies to it.
struct Sending {
  sync::ExchangePtr exchange;
  std::function<py::object()> reply;  // after its end
};

using Words = sync::CommandOperation::Words;

// `commands` is not empty.
Sending sending_of(Client& client, const std::string& name, const std::vector<Words>& commands,
                   std::optional<Duration> within) {
  const auto context = client.started();
  const auto operation =
      std::make_shared<sync::CommandOperation>(context, LockName(name), commands, within);
  return {operation, [operation, context] {
            py::list replies;
            const std::string server = context->topology->text();
            for (const std::optional<resp::Reply>& reply : operation->replies()) {
              replies.append(converted(*reply, operation->name(), server));
            }
            return replies;
          }};
}

py::object send_commands(Client& client, const std::string& name,
                         const std::vector<Words>& commands, std::optional<Duration> within) {
  if (commands.empty()) return py::list();
  const Sending sending = sending_of(client, name, commands, within);
  (void)wait_for(sending.exchange);
  return sending.reply();
}

// Null if no script has the name.
const script::Script* find_script(std::string_view name) {
  const auto& all = script::lua::all;
  const auto* const found = std::find_if(
      std::begin(all), std::end(all), [name](const script::Script* s) { return s->name == name; });
  return found == std::end(all) ? nullptr : *found;
}

const script::Script& script_for(const std::string& name, const Words& keys, const Words& args) {
  const script::Script* const script = find_script(name);
  if (script == nullptr) throw py::value_error("no script has this name: " + name);
  const bool published = args.size() + 1 == script->args;
  const bool fits = keys.size() == script->keys && (published || args.size() == script->args);
  if (keys.empty() || script->head.empty() || !fits) {
    throw py::value_error("the script has another number of parameters: " + name);
  }
  return *script;
}

// `name` says which server, and stands in errors. A last argument that is not given is the command
// by which scripts publish.
Sending step_of(Client& client, const std::string& name, const std::string& word, const Words& keys,
                const Words& args) {
  const script::Script& script = script_for(word, keys, args);
  const auto context = client.started();
  const auto reply = std::make_shared<std::optional<resp::Reply>>();
  const LockName lock(name);
  sync::Query query{lock, [&script, keys, args](script::Writer& out) {
                      script::Call call = out.call(script);
                      for (const std::string& key : keys) call << key;
                      for (const std::string& arg : args) call << arg;
                      if (args.size() < script.args) call << out.publish();
                    }};
  query.reply = reply;
  return {sync::call_of(context, std::move(query)),
          [reply, lock] { return *reply ? converted(**reply, lock, {}) : py::object(py::none()); }};
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

// None if no script has the name.
py::object script_text(const std::string& name) {
  const script::Script* const script = find_script(name);
  return script == nullptr ? py::object(py::none()) : bytes_of(script->text);
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
    all[each.word] = py::make_tuple(bytes_of(key.before), bytes_of(key.after), key.always_braced);
  }
  return all;
}

py::list kinds() {
  py::list words;
  for (const sync::LockKind& kind : sync::kLockKinds) {
    if (!kind.word.empty()) words.append(kind.word);
  }
  for (const auto kind : sync::kCounterKinds) {
    if (kind != &sync::revision) words.append(kind().word);  // by which others wait: no kind
  }
  words.append(sync::renewed_permit_recipe().kind());
  return words;
}

py::object reply_of(const Sending& sending) { return sending.reply(); }
engine::ClientOptions options_of(const Client& client) { return client.options(); }
std::string shown_name(const py::bytes& name) { return shown(std::string_view(name)); }
py::tuple versions() { return py::make_tuple(resp::hiredis_version(), net::openssl_version()); }

py::tuple tls_options(const net::Endpoint& endpoint) {
  const net::TlsOptions& tls = endpoint.tls;
  return py::make_tuple(tls.verify, tls.ca, tls.cert, tls.key);
}

template <auto member>
auto part_of(const net::Endpoint& endpoint) {
  return endpoint.*member;
}

}  // namespace

void register_commands(py::module_& module) {
  Members(py::class_<Sending>(module, "Sending"))
      .property<&Sending::exchange>("exchange")
      .method<&reply_of>("reply");
  Members(module)
      .def<&send_commands>("send_commands")
      .def<&sending_of>("sending_of")
      .def<&step_of>("step_of")
      .def<&options_of>("options_of")
      .def<&addresses>("addresses")
      .def<&server_at>("server_at")
      .def<&sentinel_at>("sentinel_at")
      .def<&part_of<&net::Endpoint::service>>("service_of")
      .def<&part_of<&net::Endpoint::database>>("database_of")
      .def<&tls_options>("tls_options")
      .def<&script_text>("script_text")
      .def<&derived_keys>("derived_keys")
      .def<&kinds>("kinds")
      .def<&shown_name>("shown")
      .def<&versions>("versions");
}

}  // namespace holdfast::bindings
