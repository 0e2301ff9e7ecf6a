"""The servers of a client, queried on connections that its locks do not use.

What reads locks, as ``holdfast.inspect`` and ``holdfast doctor`` do, is built on it:

    deployment = holdfast.servers.of(client)
    for server in deployment.primaries():
        print(server.text, server.one(b"DBSIZE"))
"""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from holdfast import _core
from holdfast._clients.base import BaseClient
from holdfast._engine.errors import ConnectionError, HoldfastError, ServerError
from holdfast._locks.force import (
    ID_DIGITS,
    ForcedRelease,
    OwnerClient,
    client_of,
    described,
    force_release,
    listed,
    moved,
)
from holdfast._locks.force import read_forced as forced_releases
from holdfast._locks.holders import Said
from holdfast._locks.kinds import BUILT, KINDS, Kind, key_beside, kind_of
from holdfast._locks.steps import Command, ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "BUILT",
    "ID_DIGITS",
    "KINDS",
    "Command",
    "Deployment",
    "ForcedRelease",
    "Kind",
    "Needs",
    "OwnerClient",
    "Said",
    "Server",
    "Tls",
    "client_of",
    "described",
    "forced_releases",
    "key_beside",
    "kind_of",
    "listed",
    "moved",
    "of",
    "script_text",
    "send",
]


def __dir__() -> list[str]:
    return sorted({*__all__} | {name for name in globals() if name.startswith("__")})


def script_text(name: str) -> bytes | None:
    """The text of a script of the library, by its name such as ``lock/acquire``; ``None``: none."""
    return _core.script_text(name)


CLOCK: Final[Command] = (b"TIME",)
#: The most clients that are asked, and of each the most purposes.
MOST_SAID: Final = (1000, 1000)
#: The most that one step of many reads of their keys.
FIELDS_AT_ONCE: Final = 4096
CHANNELS_AT_ONCE: Final = 500

_deployments: WeakKeyDictionary[BaseClient, Deployment] = WeakKeyDictionary()


def of(client: object) -> Deployment:
    """The servers of a client; they are connected to with the first query.

    Raises ``TypeError`` for another type, and ``ConnectionError`` for a client that was closed.
    """
    if not isinstance(client, BaseClient):
        msg = f"client must be holdfast.Client, not {type(client).__name__}"
        raise TypeError(msg)
    if client._core.closed:
        msg = "the client was closed"
        raise ConnectionError(msg)
    deployment = _deployments.get(client)
    if deployment is None:
        deployment = _deployments.setdefault(client, Deployment(client))
    return deployment


def send(client: BaseClient, key: bytes, commands: Sequence[Sequence[bytes]]) -> list[Any]:
    """Send commands as the client sends those of its locks, to the server that has the key.

    The replies: ``bytes``, ``int``, ``None``, a list of them, or an error as an exception. The
    commands are sent together and must be safe to repeat. Blocks, with an asyncio client too.
    """
    return ask(client._core, key, commands)


class Tls(NamedTuple):
    """The client's options for TLS: whether it verifies the server, and files; empty: none."""

    verify: bool
    ca: str
    certificate: str
    key: str


class Needs(NamedTuple):
    """What the client's options need of the servers."""

    replicas_to_wait: int
    guarded: bool
    #: Whether its connections are to have names.
    named: bool
    #: ``auto``, ``off`` or ``require``.
    tracking: str


def _moment(reply: Sequence[bytes]) -> float:
    return int(reply[0]) + int(reply[1]) / 1e6


#: Of a core of the server.
SHARE: Final = 0.05
#: Seconds of the server's time that are spent without a pause: a second's share.
BURST: Final = SHARE
#: Seconds. A step that took longer than the share of it was held up by something else.
LONGEST: Final = 1.0


class Pace:
    """Pauses between steps, so that they take the server at most ``SHARE`` of its time.

    What was not spent for a while is not kept, except for ``BURST``; no pause exceeds ``LONGEST``.
    """

    def __init__(self) -> None:
        self._spent = 0.0
        self._at = time.monotonic()

    def spend(self, seconds: float) -> float:
        """Note what a step took of the server's time; the seconds to pause before the next one."""
        now = time.monotonic()
        spent = max(0.0, self._spent - (now - self._at) * SHARE) + seconds
        self._spent = min(spent, BURST + LONGEST * SHARE)
        self._at = now
        return max(0.0, (self._spent - BURST) / SHARE)


class Server:
    """One server that answers for keys: a primary."""

    def __init__(self, options: _core.ClientOptions) -> None:
        self._core = _core.Client(options)
        #: The address, for messages.
        self.text = options.endpoint.text
        #: The name of the user of its connections.
        self.user = options.endpoint.username or "default"
        self._pace = Pace()

    def ask(self, commands: Sequence[Command], name: bytes | None = None) -> list[Any]:
        """The replies: ``bytes``, ``int``, ``None``, a list of them, or an error as an exception.

        The commands are sent together and must be safe to repeat. ``name``: the lock's name for
        messages; by default that of the first command.
        """
        if not commands:
            return []
        return ask(self._core, name or commands[0][0], commands)

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

    def __init__(self, client: BaseClient) -> None:
        options = _core.options_of(client._core)
        self.needs = Needs(
            options.replicas_to_wait,
            guarded=bool(options.guard),
            named=options.client_name != "",
            tracking=options.tracking,
        )
        options.asynchronous = False
        options.resp3 = False
        options.set_tracking("off")
        options.replicas_to_wait = 0
        options.id = ""  # of no owner
        self._endpoint = options.endpoint
        #: The client's ``name_prefix``.
        self.prefix = options.name_prefix
        self._cluster = options.endpoint.deployment == "cluster"
        self._router = Server(options)
        self._mutex = Lock()
        self._nodes: dict[tuple[str, int], Server] = {}

    @property
    def user(self) -> str:
        """The name of the user of its connections."""
        return self._router.user

    @property
    def tls(self) -> Tls | None:
        """``None`` without TLS."""
        return Tls(*_core.tls_options(self._endpoint)) if self._endpoint.tls else None

    @property
    def database(self) -> int:
        """The number of the client's database."""
        return _core.database_of(self._endpoint)

    @property
    def addresses(self) -> list[tuple[str, int, str]]:
        """Host, port and path (of a unix socket) of the servers that the client's URL names."""
        return _core.addresses(self._endpoint)

    @property
    def sharded(self) -> bool:
        """Whether channels may be those of a shard."""
        return self._cluster

    def ask(self, key: bytes, commands: Sequence[Command]) -> list[Any]:
        """The replies of the server that currently answers for the key; see ``Server.ask()``.

        The commands are sent together and must be safe to repeat.
        """
        return self._router.ask(commands, key)

    def ask_gently(self, key: bytes, commands: Sequence[Command]) -> list[Any]:
        """``ask()`` as one step of many: pauses so that all of them take little of the server."""
        if self._cluster:
            return self._router.ask(commands, key)  # few: other servers would answer the clock
        return self._router.ask_gently(commands, key)

    def force_release(self, name: bytes, kind: str, owners: Sequence[str]) -> bool:
        """Release a lock, or the permits in use; ``False`` if it is free by now. Waiters wake.

        ``kind`` and ``owners``: as ``holdfast.inspect`` has found them. The release is recorded
        beside the lock.
        """
        return force_release(self._router._core, name, kind, owners)

    def said(self, owners: Iterable[tuple[str, bytes]]) -> dict[tuple[str, bytes], Said]:
        """What their clients say of owners, each with the key of the lock that it holds.

        Those that this user may not ask say nothing; ``Said.truncated``: there were too many.
        """
        from holdfast._locks.holders import Questions, client_key

        questions = Questions(owners, MOST_SAID)
        for some in questions.batches(1 if self._cluster else FIELDS_AT_ONCE):
            asked = [command for client in some for command in questions.commands(client)]
            questions.take(some, self.ask_gently(client_key(some[0]), asked))
        return questions.about

    def subscribers(self, servers: Sequence[Server], channels: Sequence[bytes]) -> dict[bytes, int]:
        """The number of subscribed clients of each channel; 0 if this user may not query it."""
        found = dict.fromkeys(channels, 0)
        asked = [b"NUMSUB", b"SHARDNUMSUB"] if self.sharded else [b"NUMSUB"]
        for start in range(0, len(channels), CHANNELS_AT_ONCE):
            some = channels[start : start + CHANNELS_AT_ONCE]
            for server in servers:
                for reply in server.ask_gently([(b"PUBSUB", how, *some) for how in asked]):
                    pairs = listed(reply)
                    for channel, count in zip(pairs[::2], pairs[1::2], strict=True):
                        found[channel] += count
        return found

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
        endpoint = self._endpoint
        if self._cluster:
            return slot_owners(self._slots(), endpoint)
        service = _core.service_of(endpoint)
        if not service:
            return [(host, port) for host, port, _ in self.addresses]
        return [self._primary_of(service.encode())]

    def _slots(self) -> Any:
        """The slots as any server knows them: the one that the client would ask may be down."""
        query = (b"CLUSTER", b"SLOTS")
        try:
            return self._router.one(*query)
        except ConnectionError as failure:
            with self._mutex:
                others = {(host, port): None for host, port, _ in self.addresses} | self._nodes
            for address, known in others.items():
                with suppress(ConnectionError):
                    return (known or self.server(*address)).one(*query)
            raise failure

    def _primary_of(self, service: bytes) -> tuple[str, int]:
        failure: Exception | None = None
        for sentinel in self.sentinels():
            try:
                address = sentinel.one(b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", service)
            except HoldfastError as error:
                failure = error
            else:
                if address is not None:
                    return address[0].decode(), int(address[1])
                failure = _unknown_service(service.decode(), sentinel)
        raise failure or ConnectionError("no sentinel is known")

    def server(self, host: str, port: int) -> Server:
        """One server by its address, regardless of its role."""
        return Server(self._options_at(_core.server_at(self._endpoint, host, port)))

    def sentinels(self) -> list[Server]:
        """The sentinels that the client was given."""
        endpoint = self._endpoint
        return [
            Server(self._options_at(_core.sentinel_at(endpoint, host, port)))
            for host, port, _ in self.addresses
        ]

    def _options_at(self, endpoint: _core.Endpoint) -> _core.ClientOptions:
        options = _core.options_of(self._router._core)
        options.endpoint = endpoint
        options.set_pubsub("auto")
        return options


def _unknown_service(service: str, sentinel: Server) -> ServerError:
    """In the words in which a lock's call says it."""
    error = ServerError(
        f"service {service!r}: its sentinels ({sentinel.text}) know no such service; use the "
        "primary's name in the URL, as SENTINEL MASTERS lists it"
    )
    error.code = "ERR"
    return error


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
