"""Where holdfast does something else than Redisson, on purpose: one row each, with the reason.

A row changes what a recorded step leads to expect. docs/wire-protocol.md tells users the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.wire.recordings import Error, Key, Scenario, Step, about

NEVER = "922337203685477"
"""The score of a permit of Redisson's that does not expire."""

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

A_PERMIT_WITHOUT_A_LEASE_IS_RENEWED = (
    "a permit that is taken without a lease is renewed, so that a crash gives it back; Redisson's "
    "never expires, and is lost with its holder"
)
A_PERMIT_IS_NOT_OUT = "Redisson throws a RedisException around the reason: that it is not out"


@dataclass(frozen=True)
class Difference:
    """At `steps` (counted from 0) of `scenario` this is so instead of what was recorded."""

    scenario: str
    steps: tuple[int, ...]
    reason: str
    fields: dict[str, Any] = field(default_factory=dict)
    ttl: int | None = None
    """The ms that every key there has left."""
    renewed: int | None = None
    """The ms that every permit has left which never expires in the recording."""

    def apply(self, step: Step) -> Step:
        """The step as we expect it."""
        changed = replace(step, **self.fields)
        if self.renewed is not None:
            keys = {n: _with_scores(k, f"<now+{self.renewed}>") for n, k in changed.keys.items()}
            return replace(changed, keys=keys)
        if self.ttl is None:
            return changed
        keys = {n: replace(k, ttl=about(self.ttl)) for n, k in changed.keys.items()}
        return replace(changed, keys=keys)


def _with_scores(key: Key, moment: str) -> Key:
    if key.kind != "zset":
        return key
    value = [[permit, moment if score == NEVER else score] for permit, score in key.value]
    return replace(key, value=sorted(value, key=lambda each: _at(each[1])))


def _at(moment: str) -> int:
    """The moment of a score, in ms from now."""
    return int(moment.strip("<now+>"))


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
)

PERMIT_DIFFERENCES = (
    Difference("basic", tuple(range(4, 11)), A_PERMIT_WITHOUT_A_LEASE_IS_RENEWED, renewed=30_000),
    Difference("basic", (12,), A_PERMIT_IS_NOT_OUT, {"result": Error("NotOwnedError")}),
)


def ours(scenario: Scenario, differences: tuple[Difference, ...] = DIFFERENCES) -> tuple[Step, ...]:
    """The steps of a recording as holdfast should play them."""
    steps = list(scenario.steps)
    for difference in differences:
        if difference.scenario == scenario.name:
            for index in difference.steps:
                steps[index] = difference.apply(steps[index])
    return tuple(steps)
