#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hex.h"
#include "net/endpoint.h"

// Messages quote only the scheme of the URL: a '/', '?', '#' or '@' in a password that was not
// percent-encoded makes pieces of the password look like a port, a path or an option.
namespace holdfast::net {
namespace {

constexpr std::uint16_t kServerPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
const char kEncodeHint[] =
    " (in a user or password, write '/', '?', '#', '@', ':' and '%' percent-encoded: %2F, %3F, "
    "%23, %40, %3A, %25)";

Status bad(const std::string& fault) { return Status::invalid("bad URL: " + fault); }

// Decodes `text` into `into`; the fault if it is not percent-encoded.
Status decode(std::string_view text, const char* what, std::string& into) {
  auto decoded = percent_decoded(text);
  if (!decoded) {
    return bad(std::string("'%' in the ") + what + " is not followed by two hex digits" +
               kEncodeHint);
  }
  into = std::move(*decoded);
  return {};
}

// A whole number of digits only; nullopt beyond `most`.
std::optional<int> number(std::string_view text, int most) {
  int value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value > most) return std::nullopt;
  return value;
}

// Cuts the part before the first `mark`, and the mark, from `text`. Without a mark: all of `text`,
// and `found` is false.
std::string_view cut(std::string_view& text, char mark, bool& found) {
  const std::size_t at = text.find(mark);
  found = at != std::string_view::npos;
  const std::string_view head = text.substr(0, at);
  text = found ? text.substr(at + 1) : std::string_view();
  return head;
}

bool plain_host(std::string_view host) {
  static constexpr std::string_view kMarks = "[]:/@?#\\";
  return std::none_of(host.begin(), host.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7F || kMarks.find(c) != std::string_view::npos;
  });
}

// An address, with a zone ("%eth0") or without.
bool is_ipv6(std::string_view host) {
  bool has_zone = false;
  const std::string address(cut(host, '%', has_zone));
  in6_addr parsed{};
  return inet_pton(AF_INET6, address.c_str(), &parsed) == 1 && plain_host(host);
}

// A URL, cut at its marks. Everything except the scheme is still encoded.
struct Parts {
  std::string scheme;
  std::string_view user_info;
  bool has_user_info = false;
  std::string_view hosts;
  std::string_view path;  // without its leading '/'
  bool has_path = false;
  std::string_view query;
};

Result<Parts> split(std::string_view url) {
  Parts parts;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) {
    return bad("it has no scheme; write redis://host:port/db, for example");
  }
  for (const char c : url.substr(0, colon)) {
    const bool known = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-';
    if (!known) return bad("unknown scheme");
    parts.scheme += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  std::string_view rest = url.substr(colon + 3);
  if (rest.find('#') != std::string_view::npos) {
    return bad(std::string("a fragment (#...) is not supported") + kEncodeHint);
  }
  bool found = false;
  std::string_view before_query = cut(rest, '?', found);
  parts.query = rest;
  std::string_view authority = cut(before_query, '/', parts.has_path);
  parts.path = before_query;
  const std::size_t at = authority.rfind('@');
  parts.has_user_info = at != std::string_view::npos;
  if (parts.has_user_info) parts.user_info = authority.substr(0, at);
  parts.hosts = parts.has_user_info ? authority.substr(at + 1) : authority;
  return parts;
}

Status read_credentials(const Parts& parts, Credentials& into) {
  if (!parts.has_user_info) return {};
  bool has_password = false;
  std::string_view password = parts.user_info;
  const std::string_view user = cut(password, ':', has_password);
  if (Status fault = decode(user, "user", into.username); !fault.ok()) return fault;
  return decode(password, "password", into.password);
}

Status check_host(std::string_view host, bool bracketed) {
  if (host.empty()) return bad(std::string("the host is empty") + kEncodeHint);
  if (bracketed && !is_ipv6(host)) return bad("the text in brackets is not an IPv6 address");
  if (!bracketed && !plain_host(host)) {
    return bad("a host name must not contain spaces, control characters or brackets");
  }
  return {};
}

// Cuts the host of "host", "host:port", "[v6]" or "[v6]:port" from `text`.
Status read_host(std::string_view& text, std::string& into) {
  const bool bracketed = !text.empty() && text.front() == '[';
  if (bracketed) text.remove_prefix(1);
  const std::size_t end = text.find(bracketed ? ']' : ':');
  if (bracketed && end == std::string_view::npos) {
    return bad("an IPv6 address begins with '[' but has no ']'");
  }
  const std::string_view host = text.substr(0, end);
  text.remove_prefix(host.size() + (bracketed ? 1 : 0));
  if (Status fault = decode(host, "host", into); !fault.ok()) return fault;
  return check_host(into, bracketed);
}

Result<Address> read_address(std::string_view text, std::uint16_t port) {
  if (text.find('[') != 0 && std::count(text.begin(), text.end(), ':') > 1) {
    return bad(std::string("an IPv6 address is written in brackets, as in redis://[::1]:6379") +
               kEncodeHint);
  }
  Address address;
  address.port = port;
  if (Status fault = read_host(text, address.host); !fault.ok()) return fault;
  if (text.empty()) return address;
  const auto given = text.front() == ':' ? number(text.substr(1), 65535) : std::nullopt;
  if (!given || *given == 0) {
    return bad(std::string("the port is not a number from 1 to 65535") + kEncodeHint);
  }
  address.port = static_cast<std::uint16_t>(*given);
  return address;
}

Status read_addresses(const Parts& parts, Endpoint& into) {
  const bool one = into.deployment == Deployment::kStandalone;
  if (one && parts.hosts.find(',') != std::string_view::npos) {
    return bad(
        "several hosts, but the scheme names one server (redis+sentinel:// and "
        "redis+cluster:// take several)");
  }
  const auto port = into.deployment == Deployment::kSentinel ? kSentinelPort : kServerPort;
  std::string_view rest = parts.hosts;
  for (bool more = true; more;) {
    auto address = read_address(cut(rest, ',', more), port);
    if (!address.ok()) return address.status();
    into.addresses.push_back(std::move(address.value()));
  }
  return {};
}

Status read_database(std::string_view text, int& into) {
  const auto database = number(text, std::numeric_limits<int>::max());
  if (!database) return bad(std::string("the database is not a number from 0 up") + kEncodeHint);
  into = *database;
  return {};
}

// The path after the hosts: [/db], or /service[/db].
Status read_path(const Parts& parts, Endpoint& into) {
  std::string_view rest = parts.path;
  bool has_database = parts.has_path && !rest.empty();
  if (into.deployment == Deployment::kSentinel) {
    const std::string_view service = cut(rest, '/', has_database);
    if (Status fault = decode(service, "service", into.service); !fault.ok()) return fault;
    if (into.service.empty()) {
      return bad(
          "the service is missing: redis+sentinel://host:port/service, with the name that "
          "the sentinels use for the primary");
    }
    has_database = has_database && !rest.empty();
  }
  if (!has_database) return {};
  return read_database(rest, into.database);
}

bool option_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

Result<std::vector<UrlOption>> read_options(std::string_view query) {
  std::vector<UrlOption> options;
  while (!query.empty()) {
    bool more = false;
    std::string_view value = cut(query, '&', more);
    if (value.empty()) continue;
    bool has_value = false;
    const std::string_view name = cut(value, '=', has_value);
    if (!has_value || !option_name(name)) {
      return bad(std::string("the query after '?' does not consist of options like name=value") +
                 kEncodeHint);
    }
    UrlOption option{std::string(name), {}};
    if (Status fault = decode(value, "value of an option", option.value); !fault.ok()) return fault;
    options.push_back(std::move(option));
  }
  return options;
}

Status read_unix(const Parts& parts, ParsedUrl& into) {
  if (!parts.hosts.empty() || parts.path.empty()) {
    return bad("write a unix socket as unix:///path/to.sock, with three slashes");
  }
  Address address;
  if (Status fault = decode(parts.path, "path", address.path); !fault.ok()) return fault;
  address.path.insert(0, 1, '/');
  if (address.path.size() >= sizeof sockaddr_un{}.sun_path ||
      address.path.find('\0') != std::string::npos) {
    return bad("a unix socket's path has at most " +
               std::to_string(sizeof sockaddr_un{}.sun_path - 1) + " bytes and no NUL");
  }
  into.endpoint.addresses.push_back(std::move(address));
  const auto is_db = [](const UrlOption& option) { return option.name == "db"; };
  if (std::count_if(into.options.begin(), into.options.end(), is_db) > 1) {
    return bad("option 'db' occurs twice");
  }
  for (const UrlOption& option : into.options) {
    if (!is_db(option)) continue;
    if (Status fault = read_database(option.value, into.endpoint.database); !fault.ok()) {
      return fault;
    }
  }
  auto& options = into.options;
  options.erase(std::remove_if(options.begin(), options.end(), is_db), options.end());
  return {};
}

// "redis", "valkeys", "redis+cluster", ...: the deployment and TLS; false for an unknown scheme.
bool read_scheme(std::string_view scheme, Endpoint& into) {
  bool has_deployment = false;
  const std::string_view protocol = cut(scheme, '+', has_deployment);
  into.tls.enabled = protocol == "rediss" || protocol == "valkeys";
  if (!into.tls.enabled && protocol != "redis" && protocol != "valkey") return false;
  if (!has_deployment) return true;
  into.deployment = scheme == "sentinel" ? Deployment::kSentinel : Deployment::kCluster;
  return scheme == "sentinel" || scheme == "cluster";
}

Status unknown_scheme(const std::string& scheme) {
  std::string meant = scheme;
  std::replace(meant.begin(), meant.end(), '-', '+');
  Endpoint unused;
  const bool known = meant != scheme && read_scheme(meant, unused);
  return bad("unknown scheme '" + scheme + "'; " +
             (known ? "write " + meant + "://"
                    : "known are redis, rediss, valkey, valkeys, unix, redis+sentinel, "
                      "redis+cluster"));
}

Status read_hosts_and_path(const Parts& parts, Endpoint& into) {
  if (!read_scheme(parts.scheme, into)) return unknown_scheme(parts.scheme);
  if (Status fault = read_addresses(parts, into); !fault.ok()) return fault;
  return read_path(parts, into);
}

}  // namespace

Result<ParsedUrl> parse_url(const std::string& url) {
  auto split_url = split(url);
  if (!split_url.ok()) return split_url.status();
  const Parts& parts = split_url.value();
  ParsedUrl parsed;
  auto options = read_options(parts.query);
  if (!options.ok()) return options.status();
  parsed.options = std::move(options.value());
  Status fault = parts.scheme == "unix" ? read_unix(parts, parsed)
                                        : read_hosts_and_path(parts, parsed.endpoint);
  if (fault.ok()) fault = read_credentials(parts, parsed.endpoint.credentials);
  if (!fault.ok()) return fault;
  return parsed;
}

}  // namespace holdfast::net
