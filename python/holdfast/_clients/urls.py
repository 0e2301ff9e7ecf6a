"""The URL of a client's servers, read into their settings.

Messages quote only the scheme of the URL: a '/', '?', '#' or '@' in a password that was not
percent-encoded makes pieces of the password look like a port, a path or an option.
``urllib.parse.urlsplit`` quotes them, and knows one host only.

Annotations are evaluated here: ``typing`` compiles the postponed ones of a ``NamedTuple``.
"""

import re
import sys
from typing import NamedTuple

TLS = {"redis": False, "rediss": True, "valkey": False, "valkeys": True}
DEPLOYMENTS = {"": "standalone", "+sentinel": "sentinel", "+cluster": "cluster"}
SCHEMES = {
    protocol + suffix: (deployment, tls)
    for protocol, tls in TLS.items()
    for suffix, deployment in DEPLOYMENTS.items()
}
SERVER_PORT = 6379
SENTINEL_PORT = 26379
LAST_PORT = 65535
LAST_DATABASE = 2**31 - 1
LONGEST_SOCKET_PATH = 107 if sys.platform == "linux" else 103
HOST = r"[^\x00-\x20\x7f\[\]:/@?#\\]*"  # but IPv6 addresses
ENCODE = (
    " (in a user or password, write '/', '?', '#', '@', ':' and '%' percent-encoded: %2F, %3F, "
    "%23, %40, %3A, %25)"
)

Address = tuple[str, int, str]  # host, port, path of a unix socket


class Url(NamedTuple):
    """The settings that a URL gives. Its options are in order, and unknown ones are among them."""

    deployment: str  # of DEPLOYMENTS
    tls: bool
    addresses: list[Address]  # one for "standalone"
    service: str  # by which sentinels know the primary
    database: int
    username: str
    password: str
    options: list[tuple[str, str]]


class _Parts(NamedTuple):
    """A URL, cut at its marks. Everything except the scheme is still encoded."""

    scheme: str
    user: str
    password: str
    hosts: str
    path: str  # without its leading '/'
    query: str


def read_url(url: str) -> Url:
    """Read ``redis://``, ``unix://`` and so on, as in the table of the documentation.

    User, password, host, service, path and the values of options are percent-decoded. Raises
    ``ValueError`` with a message that names the fault, and never quotes (part of) a password. Of
    the query only ``db`` of ``unix://`` is read here.
    """
    parts = _split(url)
    options = _read_options(parts.query)
    if parts.scheme == "unix":
        databases = [value for name, value in options if name == "db"]
        options = [(name, value) for name, value in options if name != "db"]
        servers = ("standalone", False, [_read_socket(parts)], "", _read_databases(databases))
    else:
        servers = _read_servers(parts)
    user, password = _decoded(parts.user, "user"), _decoded(parts.password, "password")
    return Url(*servers, user, password, options)


def _bad(fault: str) -> ValueError:
    return ValueError(f"bad URL: {fault}")


def _split(url: str) -> _Parts:
    scheme, mark, rest = url.partition("://")
    if not mark:
        raise _bad("it has no scheme; write redis://host:port/db, for example")
    if not re.fullmatch(r"[0-9A-Za-z+-]*", scheme):
        raise _bad("unknown scheme")
    if "#" in rest:
        raise _bad(f"a fragment (#...) is not supported{ENCODE}")
    before, _, query = rest.partition("?")
    authority, _, path = before.partition("/")
    user_info, _, hosts = authority.rpartition("@")
    user, _, password = user_info.partition(":")
    return _Parts(scheme.lower(), user, password, hosts, path, query)


def _decoded(text: str, what: str) -> str:
    if "%" not in text:
        return text
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise _bad(f"'%' in the {what} is not followed by two hex digits{ENCODE}")
    from urllib.parse import unquote

    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        msg = "url must be valid UTF-8, percent-escapes included"
        raise ValueError(msg) from None


def _number(text: str, most: int) -> int:
    """Read a whole number of digits only; -1 for other text, and beyond `most`."""
    digits = re.fullmatch(r"0*([0-9]{1,10})", text)
    number = int(digits[1]) if digits else -1
    return number if number <= most else -1


def _read_options(query: str) -> list[tuple[str, str]]:
    options: list[tuple[str, str]] = []
    for option in filter(None, query.split("&")):
        name, mark, value = option.partition("=")
        if not mark or not re.fullmatch(r"[0-9A-Za-z_]+", name):
            raise _bad(f"the query after '?' does not consist of options like name=value{ENCODE}")
        options.append((name, _decoded(value, "value of an option")))
    return options


def _read_socket(parts: _Parts) -> Address:
    if parts.hosts or not parts.path:
        raise _bad("write a unix socket as unix:///path/to.sock, with three slashes")
    path = "/" + _decoded(parts.path, "path")
    if len(path.encode()) > LONGEST_SOCKET_PATH or "\0" in path:
        raise _bad(f"a unix socket's path has at most {LONGEST_SOCKET_PATH} bytes and no NUL")
    return "", SERVER_PORT, path


def _read_databases(options: list[str]) -> int:
    if len(options) > 1:
        raise _bad("option 'db' occurs twice")
    return _read_database(options[0]) if options else 0


def _read_database(text: str) -> int:
    database = _number(text, LAST_DATABASE)
    if database < 0:
        raise _bad(f"the database is not a number from 0 up{ENCODE}")
    return database


def _read_servers(parts: _Parts) -> tuple[str, bool, list[Address], str, int]:
    if parts.scheme not in SCHEMES:
        raise _unknown(parts.scheme)
    deployment, tls = SCHEMES[parts.scheme]
    if deployment == "standalone" and "," in parts.hosts:
        raise _bad(
            "several hosts, but the scheme names one server (redis+sentinel:// and "
            "redis+cluster:// take several)"
        )
    port = SENTINEL_PORT if deployment == "sentinel" else SERVER_PORT
    addresses = [_read_address(text, port) for text in parts.hosts.split(",")]
    service, database = "", parts.path
    if deployment == "sentinel":
        service, _, database = parts.path.partition("/")
        service = _decoded(service, "service")
        if not service:
            raise _bad(
                "the service is missing: redis+sentinel://host:port/service, with the name that "
                "the sentinels use for the primary"
            )
    return deployment, tls, addresses, service, _read_database(database or "0")


def _unknown(scheme: str) -> ValueError:
    meant = scheme.replace("-", "+")
    known = ", ".join([*TLS, "unix", "redis+sentinel", "redis+cluster"])
    hint = f"write {meant}://" if meant in SCHEMES else f"known are {known}"
    return _bad(f"unknown scheme {scheme!r}; {hint}")


def _read_address(text: str, port: int) -> Address:
    bracketed = text.startswith("[")
    if not bracketed and text.count(":") > 1:
        raise _bad(f"an IPv6 address is written in brackets, as in redis://[::1]:6379{ENCODE}")
    if bracketed and "]" not in text:
        raise _bad("an IPv6 address begins with '[' but has no ']'")
    host = text[1:].partition("]")[0] if bracketed else text.partition(":")[0]
    after = text[len(host) + 2 * bracketed :]
    host = _checked_host(_decoded(host, "host"), bracketed=bracketed)
    if not after:
        return host, port, ""
    number = _number(after[1:], LAST_PORT) if after[0] == ":" else 0
    if number < 1:
        raise _bad(f"the port is not a number from 1 to {LAST_PORT}{ENCODE}")
    return host, number, ""


def _checked_host(host: str, *, bracketed: bool) -> str:
    if not host:
        raise _bad(f"the host is empty{ENCODE}")
    if bracketed and not _is_ipv6(host):
        raise _bad("the text in brackets is not an IPv6 address")
    if not bracketed and not re.fullmatch(HOST, host):
        raise _bad("a host name must not contain spaces, control characters or brackets")
    return host


def _is_ipv6(host: str) -> bool:
    """Whether a text is an address, with a zone ("%eth0") or without."""
    import socket

    address, _, zone = host.partition("%")
    try:
        socket.inet_pton(socket.AF_INET6, address)
    except (OSError, ValueError):
        return False
    return re.fullmatch(HOST, zone) is not None
