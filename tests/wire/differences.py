"""Where holdfast does something else than Redisson, on purpose: one row each, with the reason.

A row changes what a recorded step leads to expect. docs/wire-protocol.md tells users the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.wire.recordings import Error, Key, Scenario, Step, about

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

NO_PERMITS_NO_MESSAGE = (
    "a message of no permits, or of fewer, wakes nobody, and a negative one is an error in Redisson"
)
BELOW_ONE_IS_A_MISTAKE = "to take, give or count less than one is a mistake of the program"
A_DELETED_LATCH_IS_OPEN = (
    "the message of a deletion is that of a new count, and Redisson's waiters sleep on: ours look"
)
MISTAKE = Error("ValueError")


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

    def apply(self, step: Step) -> Step:
        """The step as we expect it."""
        changed = replace(step, **self.fields)
        if self.ttl is None:
            return changed
        keys = {n: replace(k, ttl=about(self.ttl)) for n, k in changed.keys.items()}
        return replace(changed, keys=keys)


SEMAPHORE = (
    Difference("basic", (13,), NO_PERMITS_NO_MESSAGE, {"published": ()}),
    Difference("basic", (16, 17), BELOW_ONE_IS_A_MISTAKE, {"result": MISTAKE}),
    Difference("two-waiters-one-message", (0,), NO_PERMITS_NO_MESSAGE, {"published": ()}),
)
LATCH = (
    Difference("delete-wakes", (4, 5), A_DELETED_LATCH_IS_OPEN, {"result": True}),
    Difference(
        "zero",
        (0,),
        BELOW_ONE_IS_A_MISTAKE,
        {"result": MISTAKE, "keys": {}, "published": ()},
    ),
    Difference("zero", (1,), BELOW_ONE_IS_A_MISTAKE, {"keys": {}}),
)

DIFFERENCES = (
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
    *(replace(row, kind="semaphore") for row in SEMAPHORE),
    *(replace(row, kind="count_down_latch") for row in LATCH),
)


def ours(scenario: Scenario, kind: str = "lock") -> tuple[Step, ...]:
    """The steps of a recording as holdfast should play them."""
    steps = list(scenario.steps)
    for difference in DIFFERENCES:
        if (difference.kind, difference.scenario) == (kind, scenario.name):
            for index in difference.steps:
                steps[index] = difference.apply(steps[index])
    return tuple(steps)
