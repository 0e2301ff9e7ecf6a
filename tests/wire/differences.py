"""Where holdfast does something else than Redisson, on purpose: one row each, with the reason.

A row changes what a recorded step leads to expect. docs/wire-protocol.md tells users the same. That
tokens begin elsewhere is no row: the replay learns them.
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


A_TOKEN_IS_ITS_OWNERS = (
    "who does not hold the lock has no token: with the newest one a late holder would pass for it"
)
A_LEASE_IS_HONOURED = "Redisson's lockAndGetToken(lease) takes the watchdog's instead"
A_SPIN_LOCK_TELLS_OTHERS = (
    "whoever waits for a message is told, though the holder itself would not have listened"
)
FREED = (("redisson_lock__channel:{demo}", "0"),)


@dataclass(frozen=True)
class Difference:
    """At `steps` (counted from 0) of `scenario` this is so instead of what was recorded."""

    scenario: str
    steps: tuple[int, ...]
    reason: str
    fields: dict[str, Any] = field(default_factory=dict)
    ttl: int | None = None
    """The ms that every key there has left that has an expiry at all."""
    kind: str = "lock"

    def apply(self, step: Step) -> Step:
        """The step as we expect it."""
        changed = replace(step, **self.fields)
        if self.ttl is None:
            return changed
        left = about(self.ttl)
        expiring = {n: k for n, k in changed.keys.items() if k.ttl is not None}
        keys = changed.keys | {n: replace(k, ttl=left) for n, k in expiring.items()}
        return replace(changed, keys=keys)


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
    Difference("basic", (4,), A_TOKEN_IS_ITS_OWNERS, {"result": None}, kind="fenced"),
    Difference("try-without-wait", (0, 1), A_LEASE_IS_HONOURED, ttl=20_000, kind="fenced"),
    Difference("basic", (6,), A_SPIN_LOCK_TELLS_OTHERS, {"published": FREED}, kind="spin"),
    Difference("wait", (3,), A_SPIN_LOCK_TELLS_OTHERS, {"published": FREED}, kind="spin"),
    Difference(
        "mixed",
        (2,),
        A_SPIN_LOCK_TELLS_OTHERS,
        {
            "published": FREED,
            "keys": {"demo": Key("hash", {"<B>:<t1>": "1"}, about(10_000))},
        },
        kind="spin",
    ),
)


def ours(scenario: Scenario) -> tuple[Step, ...]:
    """The steps of a recording as holdfast should play them."""
    steps = list(scenario.steps)
    for difference in DIFFERENCES:
        if (difference.kind, difference.scenario) == (scenario.kind, scenario.name):
            for index in difference.steps:
                steps[index] = difference.apply(steps[index])
    return tuple(steps)
