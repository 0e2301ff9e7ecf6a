"""The recordings of tests/wire/data as objects, in our words and units.

Placeholders stay as they are: `<A>:<t1>` for an owner, `<id3>` for a permit, and `<token2>` for the
number of a fencing token.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parent / "data"
VERSIONS = ("3.17.6", "4.7.0")
FILES = (
    *("lock", "fair", "fenced", "spin", "rw", "multi"),
    *("semaphore", "permit", "count_down_latch"),
)
"""Each about one kind, on one server."""
DEPLOYMENTS = ("cluster", "replica")
"""Each about several kinds, on a cluster of one server, and on a server with a replica."""
SHARD = "shard:"
"""What a channel's name begins with where it is a sharded one."""

ERRORS = {
    "IllegalMonitorStateException": "NotOwnedError",
    "CompletionException": "NotOwnedError",
    "InterruptedException": "interrupted",
    # Of a lock it is always this: the key is none. Of a permit it is one of the differences.
    "RedisException": "ServerError WRONGTYPE",
}
TELL_TOKEN = {"token", "lockAndGetToken", "tryLockAndGetToken"}
MOMENT = re.compile(r"<now([+-]\d+)>")

BLOCKED = "blocked"
NEVER = 922337203685477
"""The score of a permit that does not expire."""


def about(ms: int) -> Any:
    """Equal to any number of ms near this one: how fast a scenario is played differs."""
    return pytest.approx(ms, abs=600 if ms < 2000 else 2000)


@dataclass(frozen=True)
class Error:
    """The end of a call that raised: the error's name, for a ServerError its code too."""

    name: str


@dataclass(frozen=True)
class Key:
    """A key as it is on the server: a str, a list, or of a hash or a sorted set a dict.

    A score is in ms from now where it is a time of these days, and else the score itself.
    """

    kind: str
    value: Any
    ttl: Any
    """The ms that are left, as `about` has them; None without an expiry."""


@dataclass(frozen=True)
class Step:
    """What one player does, and how things are then."""

    by: str | None
    op: str
    result: Any
    kind: str = "lock"
    """The kind of a step: the file's, except for a side, a member, or an ordinary lock."""
    name: str = ""
    options: dict[str, float] = field(default_factory=dict)
    """What the object is made with, in our words."""
    args: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    ends_wait: bool = False
    published: tuple[tuple[str, str], ...] = ()
    keys: dict[str, Key] = field(default_factory=dict)
    subscribed: dict[str, int] = field(default_factory=dict)

    @property
    def waits(self) -> bool:
        """The caller is left waiting; the end comes in a later step."""
        return bool(self.result == BLOCKED)

    @property
    def in_vain(self) -> bool:
        """The caller did not get what it asked for."""
        return self.result is None or self.result is False

    @property
    def takes_time(self) -> bool:
        """Time passes, or a wait ends without a grant."""
        return self.op == "wait" or (self.in_vain and not {"wait", "timeout"}.isdisjoint(self.args))


@dataclass(frozen=True)
class Scenario:
    """Steps that begin on an empty server; `leases`: the watchdog's, in seconds, by client."""

    version: str
    kind: str
    name: str
    leases: dict[str, float]
    steps: tuple[Step, ...]


def load() -> list[Scenario]:
    """Every recorded scenario; a version has no file of a kind that it has not."""
    paths = [
        DATA / f"redisson-{version}" / f"{kind}.json"
        for kind in (*FILES, *DEPLOYMENTS)
        for version in VERSIONS
    ]
    files = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
    return [_scenario(raw, scenario) for raw in files for scenario in raw["scenarios"]]


def _scenario(file: dict[str, Any], raw: dict[str, Any]) -> Scenario:
    clients: dict[str, dict[str, int]] = raw["clients"]
    leases = {
        client: options.get("lockWatchdogTimeout", 30_000) / 1000
        for client, options in clients.items()
    }
    steps = tuple(_step(file["kind"], clients, step) for step in raw["steps"])
    return Scenario(file["redisson"], file["kind"], raw["scenario"], leases, steps)


def _step(kind: str, clients: dict[str, dict[str, int]], raw: dict[str, Any]) -> Step:
    messages = raw.get("published", [])
    patience = clients.get(str(raw["by"])[0], {}).get("fairLockWaitTimeout")
    result = raw.get("result")
    return Step(
        by=raw["by"],
        op=raw["op"],
        result=_token(result) if raw["op"] in TELL_TOKEN else _value(result),
        kind=raw.get("kind", kind),
        name=raw.get("name", ""),
        options={"queue_timeout": patience / 1000} if patience else {},
        args=raw.get("args", {}),
        note=raw.get("note", ""),
        ends_wait=raw.get("end_of_blocked", False),
        published=tuple((_channel(message), message["payload"]) for message in messages),
        keys={name: _key(name, key) for name, key in raw["keys"].items()},
        subscribed=raw.get("subscribed", {}),
    )


def _channel(message: dict[str, str]) -> str:
    prefix = {"PUBLISH": "", "SPUBLISH": SHARD}[message["cmd"]]
    return prefix + message["channel"]


def _key(name: str, raw: dict[str, Any]) -> Key:
    value = raw["value"]
    if raw["type"] == "zset":
        value = {member.split()[0]: _score(score) for member, score in value}
    elif name.startswith("redisson_lock_token:"):
        value = _token(int(value))
    return Key(raw["type"], value, _value(raw["ttl_ms"]))


def _score(raw: str | float) -> Any:
    moment = MOMENT.fullmatch(str(raw))
    return about(int(moment[1])) if moment else float(raw)


def _token(raw: Any) -> Any:
    return f"<token{raw}>" if isinstance(raw, int) else _value(raw)


def _value(raw: Any) -> Any:
    if isinstance(raw, dict):
        return Error(ERRORS[raw["error"]])
    if isinstance(raw, str) and raw.startswith("~"):
        return about(int(raw[1:]))
    return raw
