"""The connection settings of a client of redis-py or valkey-py, as a URL and options of holdfast.

Neither library is imported: the module reads attributes that both have, of clients for threads and
for asyncio alike. No reference to the source is kept.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

LIBRARIES = ("redis", "valkey")
CONNECTIONS = {
    "Connection",
    "SSLConnection",
    "UnixDomainSocketConnection",
    "SentinelManagedConnection",
    "SentinelManagedSSLConnection",
}

#: Settings without a counterpart in holdfast, and the option that replaces each.
NOT_CARRIED = {
    "ssl_ca_data": "tls_ca",
    "ssl_ciphers": None,
    "ssl_password": "tls_key",
    "ssl_min_version": None,
    "ssl_validate_ocsp": None,
    "ssl_validate_ocsp_stapled": None,
    "ssl_ocsp_context": None,
    "ssl_ocsp_expected_cert": None,
    "ssl_include_verify_flags": None,
    "ssl_exclude_verify_flags": None,
    "redis_connect_func": None,
    "valkey_connect_func": None,
}


#: As ``ssl.TLSVersion`` numbers it; nothing older is spoken here.
TLS_1_2 = 0x0303


class Settings(NamedTuple):
    """The settings of the source's connections."""

    kind: type
    values: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """A setting that was given, else the default of the connection's class."""
        if self.values.get(name) is not None:
            return self.values[name]
        for cls in self.kind.__mro__:
            found = inspect.signature(vars(cls).get("__init__", object)).parameters.get(name)
            if found is not None and found.default not in {None, inspect.Parameter.empty}:
                return found.default
        return default

    @property
    def tls(self) -> bool:
        return "SSL" in self.kind.__name__ or bool(self.values.get("ssl"))


def read_source(source: Any, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The URL and the options of holdfast that reach the server of `source`.

    Raises ``TypeError`` if it is not a client or connection pool, ``ValueError``, naming it, for a
    setting that has no counterpart here; `options` are those given explicitly, which win.
    """
    if {*LIBRARIES} & {*map(_library, type(source).__mro__)}:
        if hasattr(source, "nodes_manager"):
            return _cluster(source, options)
        pool = getattr(source, "connection_pool", source)
        if hasattr(pool, "connection_kwargs") and hasattr(pool, "connection_class"):
            return (_service if hasattr(pool, "sentinel_manager") else _one)(pool, options)
    hint = ""
    if hasattr(source, "master_for"):
        hint = "; give the client that its master_for() returns"
    msg = (
        "source must be a client or connection pool of redis-py or valkey-py, not "
        f"{type(source).__module__}.{type(source).__qualname__}{hint}"
    )
    raise TypeError(msg)


def _one(pool: Any, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    settings = _settings_of(pool)
    carried = _carried(settings, options)
    database = int(settings.get("db", 0) or 0)
    if "Unix" in settings.kind.__name__:
        path = _text(settings.get("path", ""))
        return f"unix://{quote(path)}?db={database}", carried
    address = _address(settings.get("host", "localhost"), settings.get("port", 6379))
    return f"{_scheme(settings)}://{address}/{database}", carried


def _service(pool: Any, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if not pool.is_master:
        raise _refusal("slave_for", "locks are taken on the primary; use master_for")
    settings = _settings_of(pool)
    manager = pool.sentinel_manager
    if getattr(manager, "force_master_ip", None):
        raise _refusal("force_master_ip", "the sentinels say where the primary is")
    carried = _carried(settings, options)
    sentinels = [_settings_of(sentinel.connection_pool) for sentinel in manager.sentinels]
    for sentinel in sentinels:
        _check_sentinel(sentinel, settings)
    carried.update(_prefixed("sentinel_", _login(sentinels[0])))
    if "sentinel_password" in carried and callable(carried["sentinel_password"]):
        raise _refusal("credential_provider", "of the sentinels; give sentinel_password")
    hosts = _addresses((each.get("host"), each.get("port", 26379)) for each in sentinels)
    database = int(settings.get("db", 0) or 0)
    service = quote(_text(pool.service_name), safe="")
    return f"{_scheme(settings)}+sentinel://{hosts}/{service}/{database}", carried


def _cluster(source: Any, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    manager = source.nodes_manager
    values = getattr(manager, "connection_kwargs", None) or source.connection_kwargs
    started: Any = manager.startup_nodes
    nodes: list[Any] = list(started.values() if hasattr(started, "values") else started)
    kind = values.get("connection_class") or _class_of_nodes(source, nodes)
    _check_class(kind)
    settings = Settings(kind, values)
    remap = getattr(manager, "address_remap", None)
    hosts = _addresses((node.host, node.port) for node in nodes)
    for hook in ("redis_connect_func", "valkey_connect_func"):
        if getattr(values.get(hook), "__self__", None) is source:  # its own, not the application's
            settings = Settings(kind, {**settings.values, hook: None})
    carried = _carried(settings, options)
    if remap is not None:
        carried["address_map"] = remap
    return f"{_scheme(settings)}+cluster://{hosts}", carried


def _class_of_nodes(source: Any, nodes: list[Any]) -> type:
    """The class of connections of a cluster for threads, which is not among its settings."""
    for node in nodes:
        kind = getattr(node, "connection_class", None)
        pool = getattr(getattr(node, "redis_connection", None), "connection_pool", None)
        found = kind or getattr(pool, "connection_class", None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    library = next(name for name in map(_library, type(source).__mro__) if name in LIBRARIES)
    return sys.modules[f"{library}.connection"].Connection  # type: ignore[no-any-return]


def _settings_of(pool: Any) -> Settings:
    _check_class(pool.connection_class)
    return Settings(pool.connection_class, pool.connection_kwargs)


def _check_class(kind: type) -> None:
    if _library(kind) not in LIBRARIES or kind.__name__ not in CONNECTIONS:
        raise _refusal(f"connection_class={kind.__qualname__}", "it is not the library's")


def _check_sentinel(sentinel: Settings, primary: Settings) -> None:
    """Check that sentinels and servers have the same kind of connection."""
    names = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")
    different = [name for name in names if sentinel.values.get(name) != primary.values.get(name)]
    if sentinel.tls != primary.tls or (primary.tls and different):
        what = "ssl" if sentinel.tls != primary.tls else different[0]
        raise _refusal(
            f"{what} of sentinel_kwargs", "servers and sentinels have one setting of TLS"
        )


def _check_carries(settings: Settings, options: Mapping[str, Any]) -> None:
    for name, instead in NOT_CARRIED.items():
        value = settings.values.get(name)
        kept = name == "ssl_min_version" and value is not None and value <= TLS_1_2
        if value and not kept and (instead is None or instead not in options):
            hint = f"; give {instead}" if instead else ""
            raise _refusal(name, f"there is no counterpart{hint}")


def _carried(settings: Settings, options: Mapping[str, Any]) -> dict[str, Any]:
    _check_carries(settings, options)
    carried = _login(settings)
    if settings.values.get("client_name"):
        carried["client_name"] = _text(settings.values["client_name"])
    if settings.values.get("protocol") is not None:
        carried["protocol"] = int(settings.values["protocol"])
    if settings.tls:
        carried.update(_tls(settings, options))
    return carried


def _login(settings: Settings) -> dict[str, Any]:
    provider = settings.values.get("credential_provider")
    if provider is not None:
        return {"password": _callable_of(provider)}
    login = {name: settings.values.get(name) for name in ("username", "password")}
    return {name: _text(word) for name, word in login.items() if word}


def _callable_of(provider: Any) -> Callable[[], tuple[str, ...]]:
    def credentials() -> tuple[str, ...]:
        try:
            words = provider.get_credentials()
        except NotImplementedError:  # it knows the other way only
            from asyncio import run

            words = run(provider.get_credentials_async())
        return tuple(map(_text, words))

    return credentials


def _tls(settings: Settings, options: Mapping[str, Any]) -> dict[str, Any]:
    wanted = settings.get("ssl_cert_reqs", "required")
    verify = str(getattr(wanted, "name", wanted)).lower().removeprefix("cert_") != "none"
    if verify and not settings.get("ssl_check_hostname", False) and "tls_verify" not in options:
        why = (
            "certificate and host name are verified together; an explicit tls_verify=True "
            "overrides it and verifies both"
        )
        raise _refusal("ssl_check_hostname=False", why)
    carried = _tls_files(settings.values, options)
    return carried if verify else {**carried, "tls_verify": False}


def _tls_files(values: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    if values.get("ssl_ca_certs") and values.get("ssl_ca_path") and "tls_ca" not in options:
        raise _refusal("ssl_ca_path", "together with ssl_ca_certs; give one as tls_ca")
    files = {
        "tls_ca": values.get("ssl_ca_certs") or values.get("ssl_ca_path"),
        "tls_cert": values.get("ssl_certfile"),
        "tls_key": values.get("ssl_keyfile") or values.get("ssl_certfile"),
    }
    return {name: _text(path) for name, path in files.items() if path}


def _library(kind: type) -> str:
    return kind.__module__.split(".")[0]


def _refusal(what: str, why: str) -> ValueError:
    return ValueError(f"{what} of the source cannot be carried over: {why}")


def _scheme(settings: Settings) -> str:
    return "rediss" if settings.tls else "redis"


def _addresses(pairs: Iterable[tuple[Any, Any]]) -> str:
    return ",".join(_address(host, port) for host, port in pairs)


def _address(host: Any, port: Any) -> str:
    text = _text(host)
    return f"[{text}]:{int(port)}" if ":" in text else f"{quote(text, safe='')}:{int(port)}"


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {prefix + name: value for name, value in values.items()}


def _text(word: Any) -> str:
    return word.decode() if isinstance(word, bytes) else str(word)
