"""The options of a client: those of its URL, completed and overridden by keywords."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin

from holdfast import _core
from holdfast._clients.urls import read_url
from holdfast._engine import log as _log
from holdfast._engine.arguments import (
    DEFAULTS,
    TYPES,
    File,
    Seconds,
    checked_label,
    encoded_text,
    foreign_keyword,
    milliseconds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast._clients.callables import AddressMap, Password


DEFAULT_URL = "redis://127.0.0.1:6379"

KEYWORDS_ONLY = frozenset({"address_map"})


def _of_type(*types: Any) -> list[str]:
    return [name for name, each in TYPES.items() if each in types]


SECONDS = _of_type(Seconds, Seconds | None)
COUNTS = _of_type(int)
FLAGS = _of_type(bool, bool | None)
FILES = _of_type(File | None)
WORDS = {name: get_args(each) for name, each in TYPES.items() if get_origin(each) is Literal}
TEXTS = ["password", *_of_type(str | None), *FILES, *WORDS]
SENTINEL_TEXTS = ("sentinel_password", "sentinel_username")
PROTOCOLS = (2, 3)  # RESP2 and RESP3
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
CLIENT_NAME = r"[!-~]*"  # as CLIENT SETNAME accepts it


#: What redis-py's clients are made with, and what to use here.
FOREIGN: dict[str, str] = {
    "host": "name it in the URL, redis://host:port/db",
    "port": "name it in the URL, redis://host:port/db",
    "db": "name it in the URL, redis://host:port/db",
    "unix_socket_path": "use the URL unix:///path/to.sock",
    "ssl": "use the URL rediss://host:port/db",
    "ssl_cert_reqs": "use tls_verify=, True or False",
    "ssl_check_hostname": "use tls_verify=, True or False",
    "ssl_ca_certs": "use tls_ca=",
    "ssl_certfile": "use tls_cert=",
    "ssl_keyfile": "use tls_key=",
    "timeout": "use command_timeout=, or lease= for how long locks last without being renewed",
    "socket_timeout": "use command_timeout=",
    "socket_connect_timeout": "use connect_timeout=",
    "retry": "use retries=, a number",
    "retry_on_timeout": "use retries=, a number",
    "retry_on_error": "use retries=, a number",
    "credential_provider": "use password=",
    "connection_pool": "leave it out: a client opens its own connections",
    "max_connections": "leave it out: a client needs no pool",
    "decode_responses": "leave it out",
    "address_remap": "use address_map=",
    "health_check_interval": "leave it out: a broken connection is noticed and replaced",
    "socket_keepalive": "leave it out: a broken connection is noticed and replaced",
}


class Options:
    """The options that a client keeps; the engine has the others."""

    __slots__ = ("address_map", "core", "defers", "label", "lease_ms", "password", "url")

    def __init__(
        self,
        core: _core.ClientOptions,
        url: str,
        callables: tuple[Password | None, AddressMap | None],
        values: Mapping[str, Any],
    ) -> None:
        self.core = core
        self.url = url  # without user and password
        self.password, self.address_map = callables  # each where it is one
        self.lease_ms: int = values["lease"]
        self.label = checked_label(values["label"]) or None
        self.defers = values["releases"] == "deferred"  # `with` does not wait for its release


def read_options(url: object, keywords: Mapping[str, object], *, asynchronous: bool) -> Options:
    """Read a URL and the keywords of a client.

    Raises ``ValueError`` for a bad URL, option or value and ``TypeError`` for a wrong type or an
    unknown keyword; the message names it.
    """
    for name in keywords:
        if name in FOREIGN:
            raise TypeError(foreign_keyword("Client", name, FOREIGN[name]))
        if name not in DEFAULTS:
            msg = f"Client() got an unexpected keyword argument {name!r}"
            raise TypeError(msg)
    endpoint, pairs = _parse(_checked_url(url))
    values: dict[str, Any] = {**DEFAULTS, **_from_query(pairs), **keywords}
    values |= {name: milliseconds(name, values[name]) for name in _given_seconds(values)}
    values |= {name: _path(values[name]) for name in FILES}
    _check(values)
    callables = _take_password(endpoint, values), _take_address_map(endpoint, values)
    _complete(endpoint, values)
    core = _core.ClientOptions()
    core.endpoint = endpoint
    core.id = values["id"] or ""
    core.name_prefix = encoded_text("name_prefix", values["name_prefix"])
    core.client_name = values["client_name"]
    core.retries = values["retries"]
    core.resp3 = values["protocol"] == max(PROTOCOLS)
    core.busy_poll = values["busy_poll"] == "auto"
    core.replicas_to_wait = values["replicas_to_wait"]
    core.asynchronous = asynchronous
    core.guard = executable(values)
    core.set_pubsub(values["pubsub"])
    core.set_reauthenticate(_reauthenticate(values["reauthenticate"], callables[0]))
    core.set_tracking(values["tracking"])
    core.set_timeouts(values["connect_timeout"], values["command_timeout"])
    options = Options(core, endpoint.text, callables, values)
    core.set_label(options.label, options.lease_ms)
    return options


def _checked_url(url: object) -> str:
    if url is None:
        return os.environ.get("HOLDFAST_URL") or DEFAULT_URL
    if not isinstance(url, str):
        packages = {each.__module__.partition(".")[0] for each in type(url).__mro__}
        theirs = not packages.isdisjoint({"redis", "valkey"})
        hint = ": use Client.from_redis() for it" if theirs else ""
        msg = f"url must be str, not {type(url).__name__}{hint}"
        raise TypeError(msg)
    return url


def _given_seconds(values: Mapping[str, Any]) -> list[str]:
    """The options that are seconds, but for those that may be ``None`` and are."""
    return [name for name in SECONDS if values[name] is not None or DEFAULTS[name] is not None]


def _take_password(endpoint: _core.Endpoint, values: dict[str, Any]) -> Password | None:
    """Use a password that is a callable as the source of credentials."""
    if not callable(values["password"]):
        return None
    from holdfast._clients.callables import Password

    password = Password(values["password"], values["username"] or endpoint.username)
    values["password"] = ""
    endpoint.set_password_source(password.number)
    return password


def _reauthenticate(period_ms: int | None, password: Password | None) -> int:
    if period_ms is not None and password is None:
        msg = "reauthenticate needs a password that is a callable: it is called again"
        raise ValueError(msg)
    return period_ms or 0


def _take_address_map(endpoint: _core.Endpoint, values: dict[str, Any]) -> AddressMap | None:
    if values["address_map"] is None:
        return None
    from holdfast._clients.callables import read_address_map

    return read_address_map(values["address_map"], endpoint)


def _parse(url: str) -> tuple[_core.Endpoint, list[tuple[str, str]]]:
    _check_encodable("url", url)
    read = read_url(url)
    endpoint = _core.Endpoint(
        read.deployment, read.tls, read.addresses, read.service, read.database
    )
    endpoint.set_credentials(read.username, read.password)
    return endpoint, read.options


def _check_encodable(name: str, text: str) -> None:
    """Refuse text from the environment that is not UTF-8, without quoting it: it may be secret."""
    try:
        text.encode()
    except UnicodeEncodeError:
        msg = f"{name} must be encodable as UTF-8"
        raise ValueError(msg) from None


def _from_query(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, text in pairs:
        if name not in DEFAULTS:
            hint = f"; {FOREIGN[name]}" if name in FOREIGN else ""
            msg = f"unknown option in the URL: {name!r}{hint}"
            raise ValueError(msg)
        if name in KEYWORDS_ONLY:
            msg = f"option {name!r} cannot be given in the URL: use the keyword {name}="
            raise ValueError(msg)
        if name in values:
            msg = f"option {name!r} occurs twice in the URL"
            raise ValueError(msg)
        values[name] = _convert(name, text)
    return values


def _convert(name: str, text: str) -> Any:
    try:
        if name in SECONDS:
            return float(text)
        if name in COUNTS:
            return int(text)
        if name in FLAGS:
            return TRUTHS[text.lower()]
    except (ValueError, KeyError):
        msg = f"bad value for option {name!r} in the URL: {text!r}"
        raise ValueError(msg) from None
    return text


def _path(value: Any) -> Any:
    return os.fspath(cast("os.PathLike[str]", value)) if isinstance(value, os.PathLike) else value


def _check(values: dict[str, Any]) -> None:
    _check_types(values)
    for name in COUNTS:
        if not 0 <= values[name] < 2**31:
            msg = f"{name} must be zero or a small positive number, not {values[name]}"
            raise ValueError(msg)
    _check_id(values["id"])
    if values["protocol"] not in PROTOCOLS:
        msg = f"protocol must be 2 or 3, not {values['protocol']}"
        raise ValueError(msg)
    for name, words in WORDS.items():
        if values[name] not in words:
            msg = f"{name} must be one of {', '.join(words)}, not {values[name]!r}"
            raise ValueError(msg)
    if values["releases"] == "deferred" and values["replicas_to_wait"]:
        msg = "releases='deferred' cannot be given with replicas_to_wait: leave one of them out"
        raise ValueError(msg)
    if values["client_name"] and not re.fullmatch(CLIENT_NAME, values["client_name"]):
        msg = "client_name must consist of printable ASCII characters without spaces"
        raise ValueError(msg)


def _check_types(values: dict[str, Any]) -> None:
    for name in TEXTS:
        _check_text(name, values[name])
    for name in COUNTS:
        if isinstance(values[name], bool) or not isinstance(values[name], int):
            msg = f"{name} must be int, not {type(values[name]).__name__}"
            raise TypeError(msg)
    for name in FLAGS:
        if not isinstance(values[name], (bool, type(DEFAULTS[name]))):
            msg = f"{name} must be bool, not {type(values[name]).__name__}"
            raise TypeError(msg)


def _check_text(name: str, value: object) -> None:
    if name == "password" and callable(value):
        return
    if value is not None and not isinstance(value, str):
        also = " or a callable" if name == "password" else ""
        msg = f"{name} must be str{also}, not {type(value).__name__}"
        raise TypeError(msg)
    _check_encodable(name, value or "")


def _check_id(client_id: str | None) -> None:
    if client_id is not None and not re.fullmatch(UUID, client_id):
        msg = f"id must be a UUID in lower case such as str(uuid.uuid4()), not {client_id!r}"
        raise ValueError(msg)


def _complete(endpoint: _core.Endpoint, values: dict[str, Any]) -> None:
    """Add the keywords and the query's options to those of the URL; keywords win."""
    if values["pubsub"] not in ("auto", "classic") and endpoint.deployment == "sentinel":
        msg = f"pubsub={values['pubsub']!r} needs a cluster, or a proxy in front of one"
        raise ValueError(msg)
    username, password = values["username"], values["password"]
    endpoint.set_credentials(
        endpoint.username if username is None else username,
        endpoint.password if password is None else password,
    )
    _complete_sentinel(endpoint, values)
    _complete_tls(endpoint, values)


def _complete_sentinel(endpoint: _core.Endpoint, values: dict[str, Any]) -> None:
    for name in sorted(SENTINEL_TEXTS):
        if values[name] is not None and endpoint.deployment != "sentinel":
            msg = f"{name} needs a URL with sentinels (redis+sentinel://)"
            raise ValueError(msg)
    username, password = values["sentinel_username"] or "", values["sentinel_password"] or ""
    if username and not password:
        msg = "sentinel_username needs a sentinel_password"
        raise ValueError(msg)
    endpoint.set_sentinel_credentials(username, password)


def _complete_tls(endpoint: _core.Endpoint, values: dict[str, Any]) -> None:
    verify = values["tls_verify"]
    tls = {name: values[name] or "" for name in ("tls_ca", "tls_cert", "tls_key")}
    used = [name for name, value in tls.items() if value] + ["tls_verify"] * (not verify)
    if used and not endpoint.tls:
        msg = f"{used[0]} needs a URL with TLS (rediss:// or valkeys://)"
        raise ValueError(msg)
    if bool(tls["tls_cert"]) != bool(tls["tls_key"]):
        msg = "tls_cert and tls_key go together"
        raise ValueError(msg)
    endpoint.set_tls(verify, tls["tls_ca"], tls["tls_cert"], tls["tls_key"])
    _find_system_ca(endpoint)


def _find_system_ca(endpoint: _core.Endpoint) -> None:
    """Give the engine Python's trust store: a wheel's OpenSSL was built for another system.

    Python's own OpenSSL knows the system's paths, and ``SSL_CERT_FILE`` and ``SSL_CERT_DIR``.
    """
    if not endpoint.tls:
        return
    import ssl

    paths = ssl.get_default_verify_paths()
    endpoint.set_system_ca(paths.cafile or "", paths.capath or "")


VARIABLE = "HOLDFAST_GUARD"
GUARD_WORDS = {
    "1": True,
    "true": True,
    "yes": True,
    "0": False,
    "false": False,
    "no": False,
    "": False,
}

_by_default = False


def guard_by_default() -> None:
    """Give the clients of this process guards, where they can have one and nothing else is said."""
    global _by_default  # noqa: PLW0603
    _by_default = True


def executable(options: Mapping[str, object]) -> str:
    """The path of the guard's executable; empty: the client has no guard.

    ``options``: of the client's URL and keywords. Raises ``RuntimeError`` if they ask for a guard
    that this system cannot run, and warns once if the environment asks for it.
    """
    wanted = options.get("guard")
    if not (_from_environment() if wanted is None else wanted):
        return ""
    obstacle = _core.guard_obstacle()
    if not obstacle:
        return os.path.join(os.path.dirname(_core.__file__), "holdfast-guard")  # noqa: PTH118, PTH120
    if wanted:
        msg = f"guard=True cannot work on this system: {obstacle}"
        raise RuntimeError(msg)
    _log.unguarded(obstacle)
    return ""


def _from_environment() -> bool:
    text = os.environ.get(VARIABLE)
    if text is None:
        return _by_default
    if text.lower() not in GUARD_WORDS:
        msg = f"{VARIABLE} must be 1 or 0, not {text!r}"
        raise ValueError(msg)
    return GUARD_WORDS[text.lower()]
