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
WHO_WAITS_HOLDS_NOTHING = (
    "a multi lock gives back what it has before it waits for the member that was refused; Redisson "
    "holds the others meanwhile, so that two of them can wait for each other"
)
THE_OTHERS_ARE_ASKED_AT_ONCE = (
    "once it has its first member a multi lock asks for all others together, so it may have got "
    "one behind the one that was refused, and gives it back"
)

_GIVEN_BACK = tuple((f"redisson_lock__channel:{{{name}}}", "0") for name in ("demo1", "demo3"))


@dataclass(frozen=True)
class Difference:
    """At `steps` (counted from 0) of `scenario` this is so instead of what was recorded."""

    scenario: str
    steps: tuple[int, ...]
    reason: str
    fields: dict[str, Any] = field(default_factory=dict)
    ttl: int | None = None
    """The ms that every key there has left."""

    def apply(self, step: Step) -> Step:
        """The step as we expect it."""
        changed = replace(step, **self.fields)
        if self.ttl is None:
            return changed
        keys = {n: replace(k, ttl=about(self.ttl)) for n, k in changed.keys.items()}
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
    Difference("multi-one-taken", (1, 2), THE_OTHERS_ARE_ASKED_AT_ONCE, {"published": _GIVEN_BACK}),
    Difference(
        "multi-one-taken",
        (3,),
        WHO_WAITS_HOLDS_NOTHING,
        {
            "published": _GIVEN_BACK,
            "keys": {"demo2": Key("hash", {"<B>:<t1>": "1"}, about(58_500))},
        },
    ),
    Difference("redlock-basic", (5,), A_CLIENT_KNOWS_ITS_HOLDS, {"result": Error("NotOwnedError")}),
)


def ours(scenario: Scenario) -> tuple[Step, ...]:
    """The steps of a recording as holdfast should play them."""
    steps = list(scenario.steps)
    for difference in DIFFERENCES:
        if difference.scenario == scenario.name:
            for index in difference.steps:
                steps[index] = difference.apply(steps[index])
    return tuple(steps)
