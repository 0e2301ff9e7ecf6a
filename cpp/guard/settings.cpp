#include "guard/settings.h"

#include <charconv>
#include <string_view>

namespace holdfast::guard {

Result<Settings> read_settings(const resp::Reply& message) {
  const auto text = [&message](std::string_view name) { return std::string(message.field(name)); };
  Settings settings;
  settings.address.host = text("host");
  settings.address.path = text("path");
  const std::string port = text("port");
  std::from_chars(port.data(), port.data() + port.size(), settings.address.port);
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
  if (settings.publish.empty() ||
      (settings.address.host.empty() && settings.address.path.empty())) {
    return Status::invalid("the guard's settings lack an address, or how to publish");
  }
  return settings;
}

}  // namespace holdfast::guard
