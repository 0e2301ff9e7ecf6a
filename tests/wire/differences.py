"""Where holdfast does something else than Redisson, on purpose: one row each, with the reason.

A row changes what a recorded step leads to expect. docs/wire-protocol.md tells users the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.wire.recordings import VERSIONS, Error, Key, Scenario, Step, about

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


@dataclass(frozen=True)
class Difference:
    """At `steps` (counted from 0) of `scenario` this is so instead of what was recorded."""

    scenario: str
    steps: tuple[int, ...]
    reason: str
    fields: dict[str, Any] = field(default_factory=dict)
    ttl: int | None = None
    """The ms that every key there has left."""
    kind: str = "lock"
    versions: tuple[str, ...] = VERSIONS

    def is_of(self, scenario: Scenario) -> bool:
        known = (self.kind, self.scenario) == (scenario.kind, scenario.name)
        return known and scenario.version in self.versions

    def apply(self, step: Step) -> Step:
        """The step as we expect it."""
        changed = replace(step, **self.fields)
        if self.ttl is None:
            return changed
        keys = {n: replace(k, ttl=about(self.ttl)) for n, k in changed.keys.items()}
        return replace(changed, keys=keys)


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


RWLOCK = "redisson_rwlock:{demo}"
ONE_LEASE_THE_LONGEST = "a second write lease is not added to the first: the longer one counts"
A_DOWNGRADE_IS_TOLD = "readers that wait may enter when a writer goes on reading: they are told"
AN_UPGRADE_IS_REFUSED = "who asks to write while it reads would wait for itself"
A_HOLD_ENDS_WITH_ITS_LEASE = "a reader whose lease is over holds nothing, though others read on"
NOTHING_IS_LEFT_BEHIND = (
    "the timeout keys of readers that were forced out are deleted with the lock"
)
ALL_OF_A_WRITER_IS_RENEWED = "what the writer reads is renewed, too: 4.7.0 does so"
WHO_DOES_NOT_KNOW_YET = (
    f"{NOTHING_IS_LEFT_BEHIND}; and a thread that does not know yet that it was forced out of "
    "reading is refused to write, so that another one asks"
)


def _written_by(field: str, ttl: int) -> dict[str, Key]:
    return {"demo": Key("hash", {"mode": "write", f"{field}:write": "1"}, about(ttl))}


RW_DIFFERENCES = (
    Difference("writer", (1, 2, 3, 4, 6, 7, 8, 10, 11, 12), ONE_LEASE_THE_LONGEST, ttl=30_000),
    Difference("writer", (5, 9), ONE_LEASE_THE_LONGEST, {"result": about(30_000)}, ttl=30_000),
    Difference("downgrade-read-first", (1, 2, 3), ONE_LEASE_THE_LONGEST, ttl=30_000),
    Difference("downgrade", (3,), A_DOWNGRADE_IS_TOLD, {"published": ((RWLOCK, "1"),)}),
    Difference("watchdog", (12,), A_DOWNGRADE_IS_TOLD, {"published": ((RWLOCK, "1"),)}),
    Difference("watchdog", (11,), ALL_OF_A_WRITER_IS_RENEWED, ttl=1350, versions=("3.17.6",)),
    Difference("upgrade", (1,), AN_UPGRADE_IS_REFUSED, {"result": Error("LockError")}),
    Difference(
        "not-owner",
        (0, 1),
        A_CLIENT_KNOWS_ITS_HOLDS,
        {"result": Error("NotOwnedError"), "published": ()},
    ),
    Difference("reader-expires", (3,), A_HOLD_ENDS_WITH_ITS_LEASE, {"result": False}),
    Difference("reader-expires", (4,), A_HOLD_ENDS_WITH_ITS_LEASE, {"result": 0}),
    Difference(
        "reader-expires", (5,), A_HOLD_ENDS_WITH_ITS_LEASE, {"result": Error("NotOwnedError")}
    ),
    Difference(
        "force", (6, 7, 9), NOTHING_IS_LEFT_BEHIND, {"keys": _written_by("<B>:<t1>", 30_000)}
    ),
    Difference(
        "force",
        (8,),
        WHO_DOES_NOT_KNOW_YET,
        {"by": "A:t3", "keys": _written_by("<B>:<t1>", 30_000)},
    ),
    Difference("force", (10,), NOTHING_IS_LEFT_BEHIND, {"keys": _written_by("<A>:<t3>", 10_000)}),
    Difference(
        "force",
        (11,),
        WHO_DOES_NOT_KNOW_YET,
        {"by": "A:t3", "keys": _written_by("<A>:<t3>", 10_000)},
    ),
    Difference("force", (12,), WHO_DOES_NOT_KNOW_YET, {"by": "A:t3", "keys": {}}),
)

DIFFERENCES += tuple(replace(difference, kind="rw") for difference in RW_DIFFERENCES)


def ours(scenario: Scenario) -> tuple[Step, ...]:
    """The steps of a recording as holdfast should play them."""
    steps = list(scenario.steps)
    for difference in DIFFERENCES:
        if difference.is_of(scenario):
            for index in difference.steps:
                steps[index] = difference.apply(steps[index])
    return tuple(steps)
