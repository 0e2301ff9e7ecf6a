"""The recordings of tests/data as objects, in our words and units."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
VERSIONS = ("3.17.6", "4.7.0")

ERRORS = {
    "IllegalMonitorStateException": "NotOwnedError",
    "CompletionException": "NotOwnedError",
    "InterruptedException": "interrupted",
    # The lock's recordings have it for one thing only: a key that is no lock.
    "RedisException": "ServerError WRONGTYPE",
}

BLOCKED = "blocked"


def about(ms: int) -> Any:
    """Equal to any number of ms near this one: how fast a scenario is played differs."""
    return pytest.approx(ms, abs=600 if ms < 2000 else 2000)


@dataclass(frozen=True)
class Error:
    """The end of a call that raised: the error's name, for a ServerError its code too."""

    name: str


@dataclass(frozen=True)
class Key:
    """A key as it is on the server. A hash's fields are `<A>:<t1>` for an owner."""

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
    name: str = ""
    kind: str = "lock"
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


@dataclass(frozen=True)
class Scenario:
    """Steps that begin on an empty server; `leases`: the watchdog's, in seconds, by client."""

    name: str
    leases: dict[str, float]
    steps: tuple[Step, ...]


def load(version: str, kind: str = "lock") -> dict[str, Scenario]:
    """The scenarios of one recording, by name."""
    text = (DATA / f"redisson-{version}" / f"{kind}.json").read_text(encoding="utf-8")
    return {s["scenario"]: _scenario(s) for s in json.loads(text)["scenarios"]}


def _scenario(raw: dict[str, Any]) -> Scenario:
    leases = {
        client: options.get("lockWatchdogTimeout", 30_000) / 1000
        for client, options in raw["clients"].items()
    }
    return Scenario(raw["scenario"], leases, tuple(_step(step) for step in raw["steps"]))


def _step(raw: dict[str, Any]) -> Step:
    messages = raw.get("published", [])
    assert all(message["cmd"] == "PUBLISH" for message in messages)
    return Step(
        by=raw["by"],
        op=raw["op"],
        result=_value(raw.get("result")),
        name=raw.get("name", ""),
        kind=raw.get("kind", "lock"),
        args=raw.get("args", {}),
        note=raw.get("note", ""),
        ends_wait=raw.get("end_of_blocked", False),
        published=tuple((message["channel"], message["payload"]) for message in messages),
        keys={name: _key(key) for name, key in raw["keys"].items()},
        subscribed=raw.get("subscribed", {}),
    )


def _key(raw: dict[str, Any]) -> Key:
    return Key(raw["type"], raw["value"], _value(raw["ttl_ms"]))


def _value(raw: Any) -> Any:
    if isinstance(raw, dict):
        return Error(ERRORS[raw["error"]])
    if isinstance(raw, str) and raw.startswith("~"):
        return about(int(raw[1:]))
    return raw
