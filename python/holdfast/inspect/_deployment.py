"""The servers of a client, queried on connections that its locks do not use."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from holdfast import _core
from holdfast._errors import ConnectionError, HoldfastError, ServerError

from ._pace import Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Deployment", "Server", "listed", "moved"]

Command = tuple[bytes, ...]
CLOCK: Final[Command] = (b"TIME",)


def listed(reply: Any) -> list[Any]:
    """The elements of a reply; empty if it is not a list, for example an error."""
    return reply if isinstance(reply, list) else []  # pyright: ignore[reportUnknownVariableType]


def _moment(reply: Sequence[bytes]) -> float:
    return int(reply[0]) + int(reply[1]) / 1e6


class Server:
    """One server that answers for keys: a primary."""

    def __init__(self, options: _core.ClientOptions) -> None:
        self.core = _core.Client(options)
        self.text = options.endpoint.text
        self.user = options.endpoint.username or "default"
        self._pace = Pace()

    def ask(self, commands: Sequence[Command], name: bytes | None = None) -> list[Any]:
        """The replies: ``bytes``, ``int``, ``None``, a list of them, or an error as an exception.

        The commands are sent together and must be safe to repeat. ``name``: the lock's name for
        messages; by default that of the first command.
        """
        if not commands:
            return []
        return _core.send_commands(self.core, name or commands[0][0], commands)

    def ask_gently(self, commands: Sequence[Command], name: bytes | None = None) -> list[Any]:
        """As ``ask()``, one step of many: pauses so that all of them take little of the server.

        The server's clock before and after the commands tells what they took; without the right to
        ``TIME``, the time to the replies does.
        """
        if not commands:
            return []
        began = time.monotonic()
        first, *replies, last = self.ask([CLOCK, *commands, CLOCK], name or commands[0][0])
        took = time.monotonic() - began
        if listed(first) and listed(last):
            took = min(took, max(0.0, _moment(last) - _moment(first)))
        time.sleep(self._pace.spend(took))
        return replies

    def one(self, *words: bytes) -> Any:
        """The reply to one command; an error is raised."""
        [reply] = self.ask([words])
        if isinstance(reply, Exception):
            raise reply
        return reply


class Deployment:
    """The servers of one client, which may change. Thread-safe."""

    def __init__(self, core: _core.Client) -> None:
        options = _core.options_of(core)
        options.asynchronous = False
        options.resp3 = False
        options.set_tracking("off")
        options.replicas_to_wait = 0
        options.id = ""  # of no owner
        self.options = options
        self.prefix = options.name_prefix
        self._cluster = options.endpoint.deployment == "cluster"
        self._router = Server(options)
        self._mutex = Lock()
        self._nodes: dict[tuple[str, int], Server] = {}

    @property
    def core(self) -> _core.Client:
        """The engine's client behind it: it blocks, and has the client's prefix."""
        return self._router.core

    @property
    def sharded(self) -> bool:
        """Whether channels may be those of a shard."""
        return self._cluster

    def ask(self, key: bytes, commands: Sequence[Command]) -> list[Any]:
        """As ``Server.ask()``, for the server that currently answers for the key."""
        return self._router.ask(commands, key)

    def ask_gently(self, key: bytes, commands: Sequence[Command]) -> list[Any]:
        """As ``Server.ask_gently()``, for the server that currently answers for the key."""
        if self._cluster:
            return self._router.ask(commands, key)  # few: other servers would answer the clock
        return self._router.ask_gently(commands, key)

    def primaries(self) -> list[Server]:
        """All servers that answer for keys, as the deployment says at this moment."""
        if not self._cluster:
            return [self._router]
        addresses = self.primary_addresses()
        with self._mutex:
            known = self._nodes
            self._nodes = {
                address: known.get(address) or self.server(*address) for address in addresses
            }
            return list(self._nodes.values())

    def primary_addresses(self) -> list[tuple[str, int]]:
        """The host and port of each primary; without a host for a unix socket."""
        endpoint = self.options.endpoint
        if self._cluster:
            return slot_owners(self._slots(), endpoint)
        service = _core.service_of(endpoint)
        if not service:
            return [(host, port) for host, port, _ in _core.addresses(endpoint)]
        return [self._primary_of(service.encode())]

    def _slots(self) -> Any:
        """The slots as any server knows them: the one that the client would ask may be down."""
        query = (b"CLUSTER", b"SLOTS")
        try:
            return self._router.one(*query)
        except ConnectionError as failure:
            with self._mutex:
                others = {(host, port): None for host, port, _ in self._seeds()} | self._nodes
            for address, known in others.items():
                with suppress(ConnectionError):
                    return (known or self.server(*address)).one(*query)
            raise failure

    def _seeds(self) -> Any:
        return _core.addresses(self.options.endpoint)

    def _primary_of(self, service: bytes) -> tuple[str, int]:
        failure: Exception | None = None
        for sentinel in self.sentinels():
            try:
                host, port = sentinel.one(b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", service)
            except HoldfastError as error:
                failure = error
            else:
                return host.decode(), int(port)
        raise failure or ConnectionError("no sentinel is known")

    def server(self, host: str, port: int) -> Server:
        """One server by its address, regardless of its role."""
        return Server(self._options_at(_core.server_at(self.options.endpoint, host, port)))

    def sentinels(self) -> list[Server]:
        """The sentinels that the client was given."""
        endpoint = self.options.endpoint
        return [
            Server(self._options_at(_core.sentinel_at(endpoint, host, port)))
            for host, port, _ in _core.addresses(endpoint)
        ]

    def _options_at(self, endpoint: _core.Endpoint) -> _core.ClientOptions:
        options = _core.options_of(self._router.core)
        options.endpoint = endpoint
        options.set_pubsub("auto")
        return options


def slot_owners(slots: Any, endpoint: _core.Endpoint) -> list[tuple[str, int]]:
    """The primaries of a reply to ``CLUSTER SLOTS``, each once.

    A server that does not know its address is listed without a host: it is the one that replied.
    """
    asked = _core.addresses(endpoint)[0][0]
    found = {
        ((entry[2][0] or b"").decode() or asked, int(entry[2][1])): None
        for entry in slots
        if len(entry) > 2
    }
    return list(found)


def moved(reply: object) -> bool:
    """Whether a server has said that another one answers for the key."""
    return isinstance(reply, ServerError) and reply.code in {"MOVED", "ASK", "TRYAGAIN"}
