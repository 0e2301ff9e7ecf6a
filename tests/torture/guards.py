"""What guards have released in a run: how soon after a kill the next owner was granted it."""

from __future__ import annotations

from collections.abc import Iterable

from tests.torture.checker import Facts, Operation, freed_by_a_guard


def times_to_next_grant(everything: Iterable[Operation], facts: Facts) -> list[int]:
    """Nanoseconds from a kill to the grant of each hold that a waiter was waiting for then."""
    everything = list(everything)
    times = []
    for hold in everything:
        if not (hold.granted and hold.call.what == "acquire" and freed_by_a_guard(hold, facts)):
            continue
        death = facts.deaths[hold.call.worker]
        grants = [other.end.at for other in everything if _was_waiting(other, hold, death)]
        times += [min(grants) - death] if grants else []
    return sorted(times)


def _was_waiting(operation: Operation, hold: Operation, at: int) -> bool:
    call = operation.call
    waiting = call.subject == hold.call.subject and call.at < at and operation.waits
    return waiting and operation.granted and operation.end is not None and operation.end.at > at
