"""Where holdfast does something else than Redisson, on purpose, as far as the recordings show it.

`why` is the first cell of a row of docs/wire-protocol.md, which has the reason. No rows here are
needed for what shows everywhere: that tokens begin elsewhere (placeholders.py), and that answers to
requests are kept for a while (kinds.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.wire.recordings import BLOCKED, NEVER, VERSIONS, Error, Key, Scenario, Step, about

THE_RECORDER_WAS_SLOW = "the recorder was slow"
"""So much later, or earlier, was it looked at: nothing of Redisson's, so the page has no row."""

NOT_OWNED = Error("NotOwnedError")
LOST = Error("LockLostError")
NO_LOCK = Error("ServerError WRONGTYPE")
MISTAKE = Error("ValueError")

Keys = dict[str, Key]


@dataclass(eq=False)
class Either:
    """Equal to each of some values: which it is depends on single milliseconds."""

    values: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return other in self.values

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Difference:
    """At `steps` (counted from 0) of `scenario` some fields are others than recorded."""

    kind: str
    scenario: str
    steps: tuple[int, ...]
    why: str
    fields: dict[str, Any]
    """A field's value, or a function that makes it from the recorded one."""
    versions: tuple[str, ...] = VERSIONS

    def is_of(self, scenario: Scenario) -> bool:
        known = (self.kind, self.scenario) == (scenario.kind, scenario.name)
        return known and scenario.version in self.versions

    def changed(self, step: Step) -> dict[str, Any]:
        """The fields as we expect them."""
        return {
            name: value(getattr(step, name)) if callable(value) else value
            for name, value in self.fields.items()
        }


def left(ms: int) -> Callable[[Keys], Keys]:
    """Every key that expires has `ms` milliseconds left."""

    def change(keys: Keys) -> Keys:
        expiring = {name: key for name, key in keys.items() if key.ttl is not None}
        return keys | {name: replace(key, ttl=about(ms)) for name, key in expiring.items()}

    return change


def alive(ms: int) -> Callable[[Keys], Keys]:
    """Every place in the queue that is not over lasts for `ms` milliseconds."""
    return _scores(lambda score: score if isinstance(score, float) else about(ms))


def renewed(ms: int) -> Callable[[Keys], Keys]:
    """Every permit that never expires in the recording lasts for `ms` milliseconds."""
    return _scores(lambda score: about(ms) if score == NEVER else score)


def _scores(changed: Callable[[Any], Any]) -> Callable[[Keys], Keys]:
    def change(keys: Keys) -> Keys:
        sets = {name: key for name, key in keys.items() if key.kind == "zset"}
        return keys | {
            name: replace(key, value={who: changed(score) for who, score in key.value.items()})
            for name, key in sets.items()
        }

    return change


def without_timeouts(keys: Keys) -> Keys:
    """None of the keys that readers' holds have."""
    return {name: key for name, key in keys.items() if ":rwlock_timeout:" not in name}


def written_by(owner: str) -> Callable[[Keys], Keys]:
    """It is this owner that writes."""

    def change(keys: Keys) -> Keys:
        value = {"mode": "write", f"{owner}:write": "1"}
        return keys | {"demo": replace(keys["demo"], value=value)}

    return change


A_LEASE_IS_NEVER_CUT = "a nested acquire with a shorter lease"
A_RELEASE_KEEPS_THE_LEASE = "release of one hold of several"
NO_LOCK_AT_ALL = "a key that is no lock: `locked`, `ttl`, `force_release`"
HOLDS_NOTHING = "release without a hold"
A_LOSS_IS_REPORTED = "release of a hold that is gone"
HANDED_OVER = "release with a waiter in the same client"
FREED = (("redisson_lock__channel:{demo}", "0"),)
IF_IT_IS_ASLEEP = Either(((), FREED))
"""A waiter whose last attempt is not answered yet is handed nothing."""

LOCK = (
    Difference("lock", "lease", (2,), A_LEASE_IS_NEVER_CUT, {"keys": left(60_000)}),
    Difference("lock", "lease", (3, 4), A_RELEASE_KEEPS_THE_LEASE, {"keys": left(60_000)}),
    Difference("lock", "two-waiters", (5,), HANDED_OVER, {"published": IF_IT_IS_ASLEEP}),
    Difference("lock", "waiters-two-clients", (3,), HANDED_OVER, {"published": IF_IT_IS_ASLEEP}),
    Difference("lock", "force", (6,), A_LOSS_IS_REPORTED, {"result": LOST}),
    Difference("lock", "watchdog-many", (7,), A_LOSS_IS_REPORTED, {"result": LOST}),
    Difference("lock", "expiry", (5,), A_LOSS_IS_REPORTED, {"result": LOST}),
    Difference("lock", "deleted", (2,), A_LOSS_IS_REPORTED, {"result": LOST}),
    Difference("lock", "wrong-type", (2, 3), NO_LOCK_AT_ALL, {"result": NO_LOCK}),
    Difference("lock", "wrong-type", (4,), HOLDS_NOTHING, {"result": NOT_OWNED}),
    Difference(
        "lock",
        "wrong-type",
        (5,),
        NO_LOCK_AT_ALL,
        {"result": NO_LOCK, "published": (), "keys": {"demo": Key("string", "x", None)}},
    ),
)

A_PLACE_LASTS = "until when a waiter counts as alive"
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


def _line(*waiters: str) -> dict[str, Any]:
    """What a step is like while these wait for a lock that is free."""
    times = dict.fromkeys(waiters, about(30_000))
    return {
        "keys": {
            "redisson_lock_queue:{demo}": Key("list", list(waiters), None),
            "redisson_lock_timeout:{demo}": Key("zset", times, None),
        },
        "subscribed": {f"redisson_lock__channel:{{demo}}:{waiter}": 1 for waiter in waiters},
    }


FAIR = (
    Difference("fair", "basic", (10,), "release of a lock that is not held", {"result": NOT_OWNED}),
    *(
        Difference("fair", scenario, tuple(steps), A_PLACE_LASTS, {"keys": alive(30_000)})
        for scenario, steps in PLACES.items()
    ),
    Difference(
        "fair", "queue-timeout", (1, 2, 3, 4), A_PLACE_LASTS, {"keys": alive(3000)}, ("4.7.0",)
    ),
    Difference(
        "fair", "wait-times-out", (1, 2, 3, 4), THE_RECORDER_WAS_SLOW, {"keys": left(30_000)}
    ),
    Difference(
        "fair", "stale-head-on-release", (1, 2, 3), THE_RECORDER_WAS_SLOW, {"keys": left(30_000)}
    ),
    Difference(
        "fair",
        "free-with-queue",
        (4,),
        THE_RECORDER_WAS_SLOW,
        {"result": BLOCKED, **_line("<B>:<t1>", "<A>:<t2>")},
        ("4.7.0",),
    ),
)

TWICE_THE_LEASE = "a nested write"
A_DOWNGRADE = "a writer ends writing, and reads on"
AN_UPGRADE = "a reader asks to write"
FORCED = "`force_release`"
NOT_HELD = "release of a side that is not held"
OVER = "a reader whose lease is over: `owned`, `hold_count`, `release`"
A_LEASE_FALLS = "the readers' lease falls when one of them leaves"
BY_A_READER = (("redisson_rwlock:{demo}", "0"),)
BY_A_WRITER = (("redisson_rwlock:{demo}", "1"),)
IF_IT_WAS_THE_LONGEST = Either(((), BY_A_READER))

READ_WRITE = (
    Difference(
        "rw",
        "writer",
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
        TWICE_THE_LEASE,
        {"keys": left(30_000)},
    ),
    Difference("rw", "writer", (5, 9), TWICE_THE_LEASE, {"result": about(30_000)}),
    Difference("rw", "downgrade-read-first", (1, 2, 3), TWICE_THE_LEASE, {"keys": left(30_000)}),
    Difference("rw", "downgrade", (3,), A_DOWNGRADE, {"published": BY_A_WRITER}),
    Difference("rw", "watchdog", (12,), A_DOWNGRADE, {"published": BY_A_WRITER}),
    Difference("rw", "leases", (3, 4), A_LEASE_FALLS, {"published": BY_A_READER}),
    Difference("rw", "waiting-writer", (4,), A_LEASE_FALLS, {"published": IF_IT_WAS_THE_LONGEST}),
    Difference(
        "rw", "waiting-readers", (10, 11), A_LEASE_FALLS, {"published": IF_IT_WAS_THE_LONGEST}
    ),
    Difference("rw", "watchdog", (6,), A_LEASE_FALLS, {"published": IF_IT_WAS_THE_LONGEST}),
    Difference("rw", "watchdog", (11,), "renewal of both sides", {"keys": left(1350)}, ("3.17.6",)),
    Difference("rw", "upgrade", (1,), AN_UPGRADE, {"result": Error("LockError")}),
    Difference("rw", "not-owner", (0, 1), NOT_HELD, {"published": ()}),
    Difference("rw", "not-owner", (0, 1), NOT_HELD, {"result": NOT_OWNED}, ("3.17.6",)),
    Difference("rw", "reader-expires", (3,), OVER, {"result": False}),
    Difference("rw", "reader-expires", (4,), OVER, {"result": 0}),
    Difference("rw", "reader-expires", (5,), OVER, {"result": LOST}),
    Difference("rw", "force", tuple(range(6, 13)), FORCED, {"keys": without_timeouts}),
    # A reader that does not know yet that it was forced out is refused: another one asks to write.
    Difference("rw", "force", (8, 11, 12), AN_UPGRADE, {"by": "A:t3"}),
    Difference("rw", "force", (10, 11), AN_UPGRADE, {"keys": written_by("<A>:<t3>")}),
)

A_SPIN_LOCK_TELLS = "release of a spin lock"

FENCED_AND_SPIN = (
    Difference("fenced", "basic", (4,), "`getToken()`", {"result": None}, ("4.7.0",)),
    Difference(
        "fenced",
        "try-without-wait",
        (0, 1),
        "`lockAndGetToken(lease)`",
        {"keys": left(20_000)},
        ("4.7.0",),
    ),
    Difference("spin", "basic", (6,), A_SPIN_LOCK_TELLS, {"published": FREED}),
    Difference("spin", "wait", (3,), A_SPIN_LOCK_TELLS, {"published": FREED}),
    Difference(
        "spin",
        "mixed",
        (2,),
        A_SPIN_LOCK_TELLS,
        {"published": FREED, "keys": {"demo": Key("hash", {"<B>:<t1>": "1"}, about(10_000))}},
    ),
)

ASKED_AT_ONCE = "a multi lock with its first member, or with all members on one connection"
GIVEN_BACK = tuple((f"redisson_lock__channel:{{{name}}}", "0") for name in ("demo1", "demo3"))

MULTI = (
    Difference("multi", "multi-one-taken", (1, 2), ASKED_AT_ONCE, {"published": GIVEN_BACK}),
    Difference(
        "multi",
        "multi-one-taken",
        (3,),
        "a multi lock that waits",
        {
            "published": GIVEN_BACK,
            "keys": {"demo2": Key("hash", {"<B>:<t1>": "1"}, about(58_500))},
        },
    ),
    Difference(
        "multi",
        "redlock-basic",
        (5,),
        "release of a red lock that is not held",
        {"result": NOT_OWNED},
    ),
)

NO_MESSAGE = "no permits set, or still no free permit after some were added"
BELOW_ONE = "permits or a count below 1"
A_DELETED_LATCH = "a latch that is deleted"

SEMAPHORES_AND_LATCH = (
    Difference("semaphore", "basic", (13,), NO_MESSAGE, {"published": ()}),
    Difference("semaphore", "basic", (16, 17), BELOW_ONE, {"result": MISTAKE}),
    Difference("semaphore", "two-waiters-one-message", (0,), NO_MESSAGE, {"published": ()}),
    Difference(
        "permit",
        "basic",
        tuple(range(4, 11)),
        "a permit without a lease",
        {"keys": renewed(30_000)},
    ),
    Difference(
        "permit", "basic", (12,), "release of a permit that is not out", {"result": NOT_OWNED}
    ),
    Difference("count_down_latch", "delete-wakes", (4, 5), A_DELETED_LATCH, {"result": True}),
    Difference(
        "count_down_latch",
        "zero",
        (0,),
        BELOW_ONE,
        {"result": MISTAKE, "keys": {}, "published": ()},
    ),
    Difference("count_down_latch", "zero", (1,), BELOW_ONE, {"keys": {}}),
)

CLUSTER = (
    Difference("cluster", "fair", (1,), A_PLACE_LASTS, {"keys": alive(30_000)}),
    Difference("cluster", "semaphore", (0,), NO_MESSAGE, {"published": ()}),
)

DIFFERENCES: tuple[Difference, ...] = (
    *LOCK,
    *FAIR,
    *READ_WRITE,
    *FENCED_AND_SPIN,
    *MULTI,
    *SEMAPHORES_AND_LATCH,
    *CLUSTER,
)


def ours(scenario: Scenario) -> tuple[Step, ...]:
    """The steps of a recording as holdfast should play them."""
    steps = list(scenario.steps)
    for difference in DIFFERENCES:
        if difference.is_of(scenario):
            for index in difference.steps:
                steps[index] = replace(steps[index], **difference.changed(steps[index]))
    return tuple(steps)
