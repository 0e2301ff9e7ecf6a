"""What is on a server, in the words of the recordings."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from tests.support.clusters import Cluster
from tests.support.servers import Server
from tests.wire.lua.steps import Listener
from tests.wire.recordings import SHARD, Key

CHANNELS = "redisson_"
PREFIXES = {"PUBLISH": "", "SPUBLISH": SHARD}
"""Of a channel, by the command that publishes."""
THESE_DAYS = (1e12, 1e13)
"""The ms since 1970; a score that is not between them is no time."""
PERMIT_SIZE = 16


class Listened:
    """The messages that a server passes on: channel and payload."""

    def __init__(self, server: Server) -> None:
        self._listener = Listener(server, pattern=f"{CHANNELS}*")

    def messages(self) -> list[tuple[str, str]]:
        """Those since the last call, in order."""
        heard = self._listener.messages()
        return [(message.channel.decode(), message.payload.decode()) for message in heard]

    def close(self) -> None:
        self._listener.close()


class Watched:
    """The same where channels may be sharded: those have no patterns, so scripts are watched."""

    def __init__(self, server: Server) -> None:
        self._stack = ExitStack()
        self._recording = self._stack.enter_context(server.recording())

    def messages(self) -> list[tuple[str, str]]:
        """Those since the last call, in order."""
        said = [sent for sent in self._recording.scripted if sent.name in PREFIXES]
        self._recording.clear()
        return [(PREFIXES[sent.name] + sent.words[1], sent.words[2]) for sent in said]

    def close(self) -> None:
        self._stack.close()


def subscribers(server: Server, channel: str) -> int:
    """How many are subscribed to a channel, which may be a sharded one."""
    if channel.startswith(SHARD):
        return Cluster.sharded(channel.removeprefix(SHARD), server)
    return server.subscribers(channel)


def keys_on(server: Server) -> dict[str, Key]:
    """Every key, by name. Permits are in hex, and times in ms from now."""
    names = server.keys()
    return {name.decode(): _key(server, name) for name in names}


def _key(server: Server, name: bytes) -> Key:
    inspect = server.inspect
    kind = inspect.type(name).decode()
    value: Any
    if kind == "hash":
        value = {field.decode(): count.decode() for field, count in inspect.hgetall(name).items()}
    elif kind == "list":
        value = [member.decode() for member in inspect.lrange(name, 0, -1)]
    elif kind == "zset":
        now = _now(server)
        members = inspect.zrange(name, 0, -1, withscores=True)
        value = {_member(member): _from(now, score) for member, score in members}
    else:
        value = (inspect.get(name) or b"").decode()
    left = inspect.pttl(name)
    return Key(kind, value, None if left == -1 else left)


def _now(server: Server) -> float:
    seconds, micros = server.inspect.time()
    return float(seconds * 1000 + micros / 1000)


def _member(raw: bytes) -> str:
    return raw.hex() if len(raw) == PERMIT_SIZE else raw.decode()


def _from(now: float, score: float) -> float:
    return score - now if THESE_DAYS[0] < score < THESE_DAYS[1] else score
