"""A service under Sentinel: a primary, its replicas, and the sentinels that watch them.

    with Service("redis") as service:
        service.url                        # redis+sentinel://…
        service.primary.inspect.set(…)     # the server that the sentinels name now
        service.fail_over()                # as an operator would
        service.primary.stop()             # kill -9: the sentinels choose another in about 3 s

All are separate processes on free ports of 127.0.0.1. Every method may be called from any
thread, but only from one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import redis

from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "mymaster"

DOWN_AFTER = 2.0
"""Seconds of silence after which a sentinel thinks that a server is down.

A sentinel that has just learnt of a primary asks it a second later for the first time: with a
second here, it may take it for down before, and fail over once more.
"""

"""Seconds: a sentinel whose timer was late starts no failover for 30 (TILT)."""

_TIMES = {"down-after-milliseconds": int(DOWN_AFTER * 1000), "failover-timeout": 5000}


class Sentinel(Server):
    """One sentinel, which watches the server at `port` under NAME.

    `settings` are directives of a sentinel's configuration without their first word, as
    `{"announce-hostnames": "yes"}`; `password` is for its clients and its peers.
    """

    def __init__(
        self,
        kind: str,
        watched: int,
        quorum: int,
        settings: Mapping[str, str] | None = None,
        *,
        password: str | None = None,
        watched_password: str | None = None,
        host: str = "127.0.0.1",
        tls: Path | None = None,
    ) -> None:
        super().__init__(kind, password=password, tls=tls)
        self._lines = [f"sentinel {key} {value}" for key, value in (settings or {}).items()]
        self._lines.append(f"sentinel monitor {NAME} {host} {watched} {quorum}")
        self._lines += [f"sentinel {key} {NAME} {value}" for key, value in _TIMES.items()]
        if watched_password:
            self._lines.append(f"sentinel auth-pass {NAME} {watched_password}")
        if password:
            self._lines += [f"requirepass {password}", f"sentinel sentinel-pass {password}"]

    def ask(self, *words: str) -> Any:
        """`SENTINEL …` with these words."""
        return self.inspect.execute_command("SENTINEL", *words)

    def named(self) -> int:
        """The port of the primary that it names."""
        return int(self.ask("GET-MASTER-ADDR-BY-NAME", NAME)[1])

    def settled_on(self) -> int | None:
        """The port of the primary that it watches; None while it leads a failover.

        It names the new primary about a second before the failover is over. If the new primary
        dies in that second, Redis 7.0 names it until it is back, whatever the other sentinels say.
        """
        described = _described(self.ask("MASTER", NAME))
        over = "failover_in_progress" not in _flags(described)
        return int(described["port"]) if over else None

    def sees(self, replicas: int, sentinels: int) -> bool:
        """Whether it knows this number of replicas and of other sentinels that are up."""
        try:
            known = [self.ask("REPLICAS", NAME), self.ask("SENTINELS", NAME)]
        except redis.ConnectionError:
            return False
        up = [[each for each in some if _flags(each) <= {"slave", "sentinel"}] for some in known]
        return (len(up[0]), len(up[1])) == (replicas, sentinels)

    def _command(self, port: int) -> tuple[list[str], dict[str, str]]:
        configuration = self.directory / "sentinel.conf"
        if not configuration.exists():  # it writes down what it learns
            lines = ["bind 127.0.0.1", f"dir {self.directory}", *self._lines]
            lines.append(f"logfile {self.directory / 'log'}")
            lines += [f"{key} {value}" for key, value in self._ports(port).items()]
            if self.tls:
                lines.append("tls-replication yes")
            configuration.write_text("\n".join(lines) + "\n")
        return [*super()._command(port)[0], str(configuration), "--sentinel"], {}


def _described(reply: Any) -> dict[str, Any]:
    """A server or sentinel, as a sentinel describes it."""
    if isinstance(reply, dict):
        return reply
    words = [word.decode() for word in reply]
    return dict(zip(words[::2], words[1::2], strict=True))


def _flags(reply: Any) -> set[str]:
    flags = _described(reply)["flags"]
    return set(flags.split(",")) if isinstance(flags, str) else set(flags)


class WatchedServer(Server):
    """A primary without replicas, reached by way of its sentinel: `--servers sentinel`."""

    def __init__(self) -> None:
        super().__init__("redis")
        self._sentinel: Sentinel | None = None

    @property
    def url(self) -> str:
        assert self._sentinel is not None, "the server is not running"
        return f"redis+sentinel://127.0.0.1:{self._sentinel.port}/{NAME}/0"

    def start(self) -> None:
        super().start()
        self._sentinel = Sentinel("redis", self.port, 1)
        self._sentinel.start()

    def close(self) -> None:
        if self._sentinel is not None:
            self._sentinel.close()
        super().close()

    def subscribed_channels(self) -> set[bytes]:
        return super().subscribed_channels() - {b"__sentinel__:hello"}

    def connections(self) -> list[dict[str, str]]:
        every = super().connections()
        return [client for client in every if not client["name"].startswith("sentinel-")]


class Service:
    """Servers of one kind and the sentinels that watch them."""

    def __init__(
        self,
        kind: str,
        *,
        replicas: int = 2,
        sentinels: int = 3,
        password: str | None = None,
        sentinel_password: str | None = None,
        sentinel_settings: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        tls: Path | None = None,
    ) -> None:
        self.kind = kind
        self._tls = tls
        self._stack = ExitStack()
        settings = {"repl-diskless-sync-delay": "0"}
        if password:
            settings["masterauth"] = password
        if tls:
            settings["tls-replication"] = "yes"
        options: dict[str, Any] = {"password": password, "tls": tls}
        self.servers = [Server(kind, settings, **options) for _ in range(1 + replicas)]
        self._count = sentinels
        self._sentinel_options: dict[str, Any] = {
            "settings": sentinel_settings,
            "password": sentinel_password,
            "watched_password": password,
            "host": host,
            "tls": tls,
        }
        self.sentinels: list[Sentinel] = []

    # ---- its life

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start all, and return when the sentinels know each other and the replicas."""
        first = self.servers[0]
        self._start_all(self.servers)
        for server in self.servers[1:]:
            server.inspect.replicaof("127.0.0.1", first.port)
        eventually(lambda: all(map(_linked, self.servers[1:])))
        quorum = self._count // 2 + 1
        self.sentinels = [
            Sentinel(self.kind, first.port, quorum, **self._sentinel_options)
            for _ in range(self._count)
        ]
        self._start_all(self.sentinels)
        self.settle()

    def _start_all(self, servers: Sequence[Server]) -> None:
        for server in servers:
            self._stack.callback(server.close)
            server.start()

    def settle(self) -> None:
        """Return when each sentinel sees all the others and all replicas up."""
        others, replicas = self._count - 1, len(self.servers) - 1
        eventually(lambda: all(each.sees(replicas, others) for each in self.sentinels))

    def close(self) -> None:
        self._stack.close()

    # ---- what it is

    @cached_property
    def url(self) -> str:
        """Its URL, database 0, without passwords."""
        return self.url_of(*self.sentinels)

    def url_of(self, *sentinels: Server, name: str = NAME) -> str:
        """A URL that names only these sentinels."""
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in sentinels)
        scheme = "rediss" if self._tls else "redis"
        return f"{scheme}+sentinel://{hosts}/{name}/0"

    @property
    def primary(self) -> Server:
        """The server that most sentinels name now."""
        named = [sentinel.named() for sentinel in self.sentinels if sentinel.running]
        port = max(named, key=named.count)
        return next(server for server in self.servers if server.port == port)

    @property
    def replicas(self) -> list[Server]:
        primary = self.primary
        return [server for server in self.servers if server is not primary]

    # ---- what may happen to it

    def fail_over(self) -> Server:
        """Let the sentinels make a replica the primary; returns it once they all name it."""
        old = self.primary
        eventually(self._fails_over, within=3 * BOUND, what="the sentinel begins the failover")
        return self.new_primary(old)

    def _fails_over(self) -> bool:
        try:
            return bool(self.sentinels[0].ask("FAILOVER", NAME))
        except redis.ResponseError:  # it has not heard of a replica that is good enough yet
            return False

    def new_primary(self, old: Server) -> Server:
        """The primary that follows `old`, once all sentinels that run name it."""

        def named() -> Server | None:
            ports = {sentinel.named() for sentinel in self.sentinels if sentinel.running}
            return self.primary if len(ports) == 1 and old.port not in ports else None

        # A sentinel that stood still for two seconds elects no primary for the next thirty.
        new = eventually(named, within=3 * BOUND, what="the sentinels name a new primary")
        assert new is not None
        return new

    def cut_off_replicas(self) -> list[Server]:
        """Freeze the replicas, with nothing on its way to them; returns them, to be resumed."""
        replicas = self.replicas
        for replica in replicas:
            replica.pause()
        self.primary.kill_connections("replica")
        return replicas

    def replicated(self) -> None:
        """Return when the replicas have all that the primary has."""
        count = sum(server.running for server in self.servers) - 1
        with self.primary.connect(single_connection_client=True) as client:
            client.set("written", "")  # WAIT is about what its own connection has written
            client.delete("written")
            assert client.wait(count, int(BOUND * 1000)) >= count


def _linked(replica: Server) -> bool:
    return bool(replica.inspect.info("replication")["master_link_status"] == "up")
