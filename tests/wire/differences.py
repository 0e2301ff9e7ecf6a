"""Where holdfast does something else than Redisson, on purpose: one row each, with the reason.

A row changes what a recorded step leads to expect. docs/wire-protocol.md tells users the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.wire.recordings import BLOCKED, VERSIONS, Error, Key, Scenario, Step, about

NO_LOCK = Error("ServerError WRONGTYPE")

A_LEASE_IS_NEVER_CUT = (
    "a nested hold never cuts the lease of the outer one: who was promised 60 s may rely on them"
)
A_PARTIAL_RELEASE_KEEPS_THE_LEASE = (
    "a release takes a hold, not time: Redisson sets the lease that the releasing object happens "
    "to know, 30 s here, whatever was asked for"
)
A_KEY_OF_ANOTHER_TYPE_IS_AN_ERROR = (
    "a key that is no lock is somebody else's data: neither a held lock nor ours to delete"
)
A_CLIENT_KNOWS_ITS_HOLDS = "who holds nothing is told so without asking the server"
A_LOCK_IS_HANDED_OVER = (
    "a lock that another thread of the same client waits for changes its owner in one step: it is "
    "never free, so nobody is to be woken"
)

A_PLACE_LASTS_FROM_THE_LAST_SIGN_OF_LIFE = (
    "a waiter refreshes its place while it lives, so its time need not cover the waits of all "
    "before it; and nobody's leaving takes anything off the times of those behind"
)
THE_RECORDER_WAS_SLOW = "nothing of Redisson's: so much later, or earlier, was it looked at"


@dataclass(frozen=True)
class Difference:
    """At `steps` (counted from 0) of `scenario` this is so instead of what was recorded."""

    scenario: str
    steps: tuple[int, ...]
    reason: str
    fields: dict[str, Any] = field(default_factory=dict)
    ttl: int | None = None
    """The ms that every key there has left, if it has an expiry."""
    alive: int | None = None
    """The ms that every place in line there lasts, unless it is over."""
    kind: str = "lock"
    versions: tuple[str, ...] = VERSIONS

    def is_of(self, scenario: Scenario) -> bool:
        known = (self.kind, self.scenario) == (scenario.kind, scenario.name)
        return known and scenario.version in self.versions

    def apply(self, step: Step) -> Step:
        """The step as we expect it."""
        changed = replace(step, **self.fields)
        return replace(changed, keys={name: self._key(key) for name, key in changed.keys.items()})

    def _key(self, key: Key) -> Key:
        if self.ttl is not None and key.ttl is not None:
            return replace(key, ttl=about(self.ttl))
        if self.alive is not None and key.kind == "zset":
            return replace(key, value={m: self._alive(time) for m, time in key.value.items()})
        return key

    def _alive(self, time: Any) -> Any:
        return time if isinstance(time, float) else about(self.alive or 0)


DIFFERENCES: tuple[Difference, ...] = (
    Difference("lease", (2,), A_LEASE_IS_NEVER_CUT, ttl=60_000),
    Difference("lease", (3, 4), A_PARTIAL_RELEASE_KEEPS_THE_LEASE, ttl=60_000),
    Difference("two-waiters", (5,), A_LOCK_IS_HANDED_OVER, {"published": ()}),
    Difference("waiters-two-clients", (3,), A_LOCK_IS_HANDED_OVER, {"published": ()}),
    Difference("wrong-type", (2, 3), A_KEY_OF_ANOTHER_TYPE_IS_AN_ERROR, {"result": NO_LOCK}),
    Difference("wrong-type", (4,), A_CLIENT_KNOWS_ITS_HOLDS, {"result": Error("NotOwnedError")}),
    Difference(
        "wrong-type",
        (5,),
        A_KEY_OF_ANOTHER_TYPE_IS_AN_ERROR,
        {"result": NO_LOCK, "published": (), "keys": {"demo": Key("string", "x", None)}},
    ),
)


def _line(*waiters: str) -> dict[str, Any]:
    """What a step is like while these wait for a lock that is free."""
    keys = {
        "redisson_lock_queue:{demo}": Key("list", list(waiters), None),
        "redisson_lock_timeout:{demo}": Key("zset", dict.fromkeys(waiters, about(30_000)), None),
    }
    channels = [f"redisson_lock__channel:{{demo}}:{waiter}" for waiter in waiters]
    return {"keys": keys, "subscribed": dict.fromkeys(channels, 1)}


PLACES = {
    "queue": range(1, 12),
    "free-with-queue": range(1, 7),
    "wait-times-out": range(1, 7),
    "stale-head": range(1, 6),
    "stale-head-on-release": range(1, 4),
    "force": range(2, 6),
    "expiry": (1,),
}
"""The steps during which somebody waits."""

FAIR_DIFFERENCES = (
    Difference("basic", (10,), A_CLIENT_KNOWS_ITS_HOLDS, {"result": Error("NotOwnedError")}),
    *(
        Difference(scenario, tuple(steps), A_PLACE_LASTS_FROM_THE_LAST_SIGN_OF_LIFE, alive=30_000)
        for scenario, steps in PLACES.items()
    ),
    Difference(
        "queue-timeout",
        (1, 2, 3, 4),
        A_PLACE_LASTS_FROM_THE_LAST_SIGN_OF_LIFE,
        alive=3000,
        versions=("4.7.0",),
    ),
    Difference("wait-times-out", (1, 2, 3, 4), THE_RECORDER_WAS_SLOW, ttl=30_000),
    Difference("stale-head-on-release", (1, 2, 3), THE_RECORDER_WAS_SLOW, ttl=30_000),
    Difference(
        "free-with-queue",
        (4,),
        THE_RECORDER_WAS_SLOW,
        {"result": BLOCKED, **_line("<B>:<t1>", "<A>:<t2>")},
        versions=("4.7.0",),
    ),
)

DIFFERENCES += tuple(replace(difference, kind="fair") for difference in FAIR_DIFFERENCES)


def ours(scenario: Scenario) -> tuple[Step, ...]:
    """The steps of a recording as holdfast should play them."""
    steps = list(scenario.steps)
    for difference in DIFFERENCES:
        if difference.is_of(scenario):
            for index in difference.steps:
                steps[index] = difference.apply(steps[index])
    return tuple(steps)
