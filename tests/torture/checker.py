"""Judges a history: pure functions from what was written down to what was wrong with it.

It believes the owners' clock and their lines, and nothing of the library. What cannot be known is
taken in the library's favour: an acquisition that failed may have been granted until its lease is
over, and no worker is blamed for a sleep while something was broken.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.torture.history import SECOND, Entry

LONGEST_SLEEP = 17 * SECOND // 10
"""How long a waiter may go on waiting beside what it could have."""

LEFT_BEHIND = 3 * SECOND
"""The lease of a party of a barrier, which one that ends with an error may have left."""

LATE = 9 * SECOND // 10
"""How much longer than its time-out a party of a barrier waits, unless it was stopped."""


@dataclass(frozen=True)
class Rule:
    """What a kind promises: the weights of those who hold it at one time add up to `capacity`.

    `lease`: nanoseconds after which a hold without a release is over; None: it stays.
    """

    capacity: int
    lease: int | None


@dataclass(frozen=True)
class Window:
    """A time in which something was broken, or had been just before."""

    begin: int
    end: int


@dataclass(frozen=True)
class Facts:
    """What the checker has to know beside the history."""

    rules: dict[str, Rule]
    """By kind, which is the first word of a subject."""
    disturbances: Sequence[Window] = ()
    deaths: dict[str, int] = field(default_factory=dict)
    """Workers that were killed, and when."""
    guarded: Collection[str] = ()
    """Workers with a guard."""
    patience: int = 10 * SECOND
    """How much longer than its time-out an operation may take, disturbances not counted."""

    def rule(self, subject: str) -> Rule:
        return self.rules[subject.split(maxsplit=1)[0]]


@dataclass(frozen=True)
class Violation:
    promise: str
    subject: str
    at: int
    text: str

    def __str__(self) -> str:
        return f"{self.at / SECOND:.3f} {self.promise}: {self.subject}: {self.text}"


@dataclass
class Operation:
    """A call, and its return if it came."""

    call: Entry
    end: Entry | None = None
    trusted: int = 0
    lost: int | None = None
    """When its owner found it lost, the first time."""
    release: Operation | None = None

    @property
    def granted(self) -> bool:
        return self.end is not None and self.end.result == "granted"

    @property
    def waits(self) -> bool:
        """It waits, whether it is to have what it waits for or not."""
        return self.call.what in {"acquire", "wait"}

    @property
    def name(self) -> str:
        return f"{self.call.owner} {self.call.what} #{self.call.operation}"


def operations(history: Iterable[Entry]) -> list[Operation]:
    """The calls in their order, with what came of each."""
    found: dict[tuple[str, int], Operation] = {}
    for entry in sorted(history, key=lambda entry: entry.at):
        key = (entry.worker, entry.operation)
        if entry.event == "call":
            found[key] = Operation(entry)
            acquired = found.get((entry.worker, entry.of))
            if entry.what == "release" and acquired is not None:
                acquired.release = found[key]
        elif entry.event == "return":
            found[key].end = entry
        elif entry.event == "lost":
            found[key].lost = found[key].lost or entry.at
        else:
            found[key].trusted = max(found[key].trusted, entry.at)
    return list(found.values())


def judge(history: Iterable[Entry], facts: Facts) -> list[Violation]:
    """All that was wrong, in the order of time."""
    everything = operations(history)
    violations = [
        *overlaps(everything, facts),
        *out_of_closed(everything),
        *apart_at_a_barrier(everything, facts),
        *sleepers(everything, facts),
        *never_ended(everything, facts),
        *tokens_that_went_back(everything),
        *lost_without_a_cause(everything, facts),
    ]
    return sorted(violations, key=lambda violation: violation.at)


# ---- no two trusted holds that exclude each other


def overlaps(everything: Iterable[Operation], facts: Facts) -> list[Violation]:
    """At any moment the weights of all who trust their hold add up to the capacity at most.

    What is numbered has one owner for each number.
    """
    found = [op for op in everything if op.granted and op.call.what == "acquire"]
    numbered = (op for op in found if _part(op) is not None)
    return [
        *(
            violation
            for subject, holds in _by_subject(found).items()
            for violation in _too_many(subject, holds, facts.rule(subject).capacity)
        ),
        *(
            violation
            for subject, holds in _by_part(numbered).items()
            for violation in _too_many(subject, holds, 1)
        ),
    ]


def _too_many(subject: str, holds: Iterable[Operation], capacity: int) -> Iterator[Violation]:
    for at, inside in _crowds(holds):
        if sum(one.call.weight for one in inside) > capacity:
            names = ", ".join(one.name for one in inside)
            yield Violation("trusted at one time", subject, at, names)


def _crowds(holds: Iterable[Operation]) -> Iterator[tuple[int, list[Operation]]]:
    """Whenever somebody comes: the moment, and all who trust their hold then."""
    changes: list[tuple[int, bool, Operation]] = []
    for hold in holds:
        begin = _returned(hold)
        if hold.trusted > begin:
            changes += [(begin, True, hold), (hold.trusted, False, hold)]
    inside: list[Operation] = []
    # Of what happens in one nanosecond, the end comes first.
    for at, comes, hold in sorted(changes, key=lambda change: change[:2]):
        if comes:
            inside.append(hold)
            yield at, inside
        else:
            inside.remove(hold)


# ---- no waiter returns from a closed latch


def out_of_closed(everything: Iterable[Operation]) -> list[Violation]:
    """Who only waits gets out if it was open at some moment of the wait.

    Between the return of what closed it and the call of what opens it, it is closed for certain.
    """
    violations = []
    for subject, found in _by_subject(op for op in everything if op.granted).items():
        closed = [op for op in found if op.call.what == "acquire"]
        out = [op for op in found if op.call.what == "wait"]
        for waiter, keeper in itertools.product(out, closed):
            if _kept_closed(keeper, waiter):
                text = f"{waiter.name} got out while {keeper.name} kept it closed"
                at = _returned(waiter)
                violations.append(Violation("out of a closed one", subject, at, text))
    return violations


def _kept_closed(keeper: Operation, waiter: Operation) -> bool:
    """What the one had closed was so all the time that the other waited."""
    opened = keeper.release.call.at if keeper.release else math.inf
    return _returned(keeper) <= waiter.call.at and _returned(waiter) <= opened


# ---- the parties of a barrier go on together


def apart_at_a_barrier(everything: Iterable[Operation], facts: Facts) -> list[Violation]:
    """Who gets past a barrier does so with one party of each other number, which waited then.

    The first to return chooses, of each number, the one of the others that has to choose next. A
    party whose end is not known may have been any number that is missing, and so may one that ended
    with an error, for a lease more: its process, which may be stopped, still takes it back.
    """
    met = (op for op in everything if op.call.what == "meet")
    return [
        Violation("apart at a barrier", subject, _returned(party), f"{party.name} {text}")
        for subject, found in _by_subject(met).items()
        for party, text in _apart(found, facts.rule(subject).capacity)
    ]


def _apart(found: Iterable[Operation], parties: int) -> Iterator[tuple[Operation, str]]:
    """Of the parties of one barrier, those that passed without one of each other number."""
    calls = list(found)
    rest = sorted((op for op in calls if op.granted), key=_returned)
    unknown = {
        op.name: (op.call.at, _ended(op)) for op in calls if not op.granted and _may_have_passed(op)
    }
    while rest:
        first = rest.pop(0)
        lacking = _lacking(first, set(range(parties)) - {_part(first)}, rest, unknown)
        if lacking:
            yield first, f"as {_part(first)}, without {lacking}"


def _lacking(
    first: Operation,
    numbers: Iterable[int | None],
    rest: list[Operation],
    unknown: dict[str, tuple[int, float]],
) -> list[int | None]:
    """The numbers of which no party may have passed with the first; the others are taken out."""
    lacking, begin = [], first.call.at
    for number in numbers:
        party = _taken_with(first, number, rest)
        if party is None:
            lacking.append(number)
        else:
            begin = max(begin, party.call.at)
    return [number for number in lacking if not _taken_in(unknown, begin, _returned(first))]


def _taken_with(first: Operation, number: int | None, rest: list[Operation]) -> Operation | None:
    """The next to return of those with this number that waited with the first; it is taken out."""
    for party in rest:
        if _part(party) == number and party.call.at <= _returned(first):
            rest.remove(party)
            return party
    return None


def _taken_in(unknown: dict[str, tuple[int, float]], begin: int, end: int) -> bool:
    """Whether a party without a known end may have passed between these; it is taken out."""
    for party, (called, ended) in unknown.items():
        if called <= end and begin <= ended:
            del unknown[party]
            return True
    return False


def _may_have_passed(operation: Operation) -> bool:
    """Its end is not known, or it was stopped for so long that the server has dropped it."""
    end, call = operation.end, operation.call
    if end is None or end.result != "refused":
        return True
    return end.at - call.at > (call.timeout or 0) * SECOND + LATE


def _ended(operation: Operation) -> float:
    """When it cannot be at the barrier any more."""
    if operation.end is None:
        return math.inf
    return operation.end.at + (0 if operation.end.result == "refused" else LEFT_BEHIND)


# ---- no waiter sleeps beside a free lock or permit


def sleepers(everything: Sequence[Operation], facts: Facts) -> list[Violation]:
    """No waiter waits longer than a second while enough was free and nothing was broken."""
    violations = []
    for subject, found in _by_subject(everything).items():
        rule = facts.rule(subject)
        for waiter in found:
            begin, end = waiter.call.at, _last_moment(waiter, facts)
            if not waiter.waits or end - begin <= LONGEST_SLEEP:
                continue
            taken = [_possession(other, rule, facts) for other in found if other is not waiter]
            taken += [(window.begin, window.end, rule.capacity) for window in facts.disturbances]
            room = rule.capacity - waiter.call.weight
            since, length = _longest_room(begin, end, taken, room)
            if length > LONGEST_SLEEP:
                text = f"{waiter.name} slept {length / SECOND:.2f} s beside it"
                violations.append(Violation("asleep on a free lock", subject, since, text))
    return violations


def _possession(operation: Operation, rule: Rule, facts: Facts) -> tuple[int, float, int]:
    """From when until when the server may have had the operation's hold, and its weight."""
    end = operation.end
    if operation.call.what != "acquire" or (end is not None and end.result == "refused"):
        return (0, 0, 0)
    begin = _returned(operation) if operation.granted else operation.call.at
    return (begin, _gone(operation, rule, facts), operation.call.weight)


def _gone(operation: Operation, rule: Rule, facts: Facts) -> float:
    """When nothing of it can be left on the server.

    What is cancelled is given back at once, but by a worker that lives.
    """
    last = operation.release or operation
    lives = operation.call.worker not in facts.deaths
    if last.end is not None and last.end.result in ({"done", "cancelled"} if lives else {"done"}):
        return last.end.at
    if rule.lease is None:
        return math.inf
    death = facts.deaths.get(operation.call.worker, 0)
    until = max(_last_moment(last, facts), operation.trusted, death)
    return until if freed_by_a_guard(operation, facts) else until + rule.lease


def freed_by_a_guard(operation: Operation, facts: Facts) -> bool:
    """Whether a guard has to release it, as its worker was killed.

    A guard leaves alone what a caller has left, or was passing on; and a release that has failed
    may have been the last that the client tried.
    """
    worker, release = operation.call.worker, operation.release
    if worker not in facts.guarded or worker not in facts.deaths or operation.call.way:
        return False
    return release is None or (release.end is None and not release.call.way)


def _longest_room(
    begin: int, end: int, taken: Iterable[tuple[int, float, int]], room: int
) -> tuple[int, int]:
    """The longest stretch in which no more than `room` is taken: when it began, and its length."""
    changes = [(end, 0)]
    for since, until, weight in taken:
        if since < end and until > begin:
            changes += [(max(since, begin), weight), (int(min(until, end)), -weight)]
    longest, used, free_since = (begin, 0), 0, begin
    for at, change in sorted(changes):
        if used <= room:
            longest = max(longest, (free_since, at - free_since), key=lambda found: found[1])
        if used > room >= used + change:
            free_since = at
        used += change
    return longest


# ---- every operation ends


def never_ended(everything: Iterable[Operation], facts: Facts) -> list[Violation]:
    """Every call of a worker that lives returns, in its time but for what was broken meanwhile."""
    violations = []
    for operation in everything:
        call = operation.call
        if operation.end is None:
            if call.worker not in facts.deaths:
                text = f"{operation.name} has not returned"
                violations.append(Violation("never ended", call.subject, call.at, text))
            continue
        if call.timeout is None and operation.waits:
            continue
        end = operation.end.at
        bound = (call.timeout or 0) * SECOND + facts.patience
        if end - call.at <= bound:  # most: a long run has too many to look at what disturbed each
            continue
        if end - call.at - _disturbed(call.at, end, facts.disturbances) > bound:
            text = f"{operation.name} took {(end - call.at) / SECOND:.1f} s"
            violations.append(Violation("not in time", call.subject, call.at, text))
    return violations


def _disturbed(begin: int, end: int, windows: Iterable[Window]) -> int:
    """How much of the time was disturbed."""
    total, covered = 0, begin
    for window in sorted(windows, key=lambda window: window.begin):
        since, until = max(window.begin, covered), min(window.end, end)
        if until > since:
            total += until - since
            covered = until
    return total


# ---- tokens grow


def tokens_that_went_back(everything: Iterable[Operation]) -> list[Violation]:
    """Who was granted after another one has a larger token, and no token is given out twice."""
    grants = [op for op in everything if op.granted and op.end and op.end.token is not None]
    return [
        Violation("a token went back", subject, operation.call.at, f"{operation.name}: {text}")
        for subject, found in _by_part(grants).items()
        for operation, text in _wrong_tokens(found)
    ]


def _wrong_tokens(found: Iterable[Operation]) -> Iterator[tuple[Operation, str]]:
    """Of the grants of one subject, those that should have had another token, and why."""
    waiting = sorted(found, key=_returned, reverse=True)
    largest, seen = 0, set[int]()
    for operation in sorted(waiting, key=lambda op: op.call.at):
        while waiting and _returned(waiting[-1]) < operation.call.at:
            largest = max(largest, _token(waiting.pop()))
        token = _token(operation)
        if token <= largest:
            yield operation, f"{token} after {largest}"
        elif token in seen:
            yield operation, f"{token} once more"
        seen.add(token)


# ---- no hold is lost without a cause


def lost_without_a_cause(everything: Iterable[Operation], facts: Facts) -> list[Violation]:
    """An owner that lives loses nothing within the lease that was granted, whatever is broken.

    Nor does it lose what is renewed while nothing is broken. So a guard that releases what is not
    its program's, and a message of the server that is taken for a loss, show.
    """
    violations = []
    for operation in everything:
        call, lost = operation.call, operation.lost
        lease = facts.rule(call.subject).lease
        if lost is None or lease is None:
            continue
        renewed = call.lease is None and _undisturbed(lost - lease // 2, lost, facts.disturbances)
        if renewed or lost < call.at + lease * 9 // 10:
            text = f"{operation.name} after {(lost - call.at) / SECOND:.2f} s"
            violations.append(Violation("lost without a cause", call.subject, lost, text))
    return violations


def _undisturbed(begin: int, end: int, windows: Iterable[Window]) -> bool:
    return not any(window.begin < end and window.end > begin for window in windows)


# ---- nothing is left behind


def for_good(everything: Iterable[Operation], facts: Facts) -> set[str]:
    """The subjects of which something may stay for good: without a lease, and not given back."""
    return {
        op.call.subject
        for op in everything
        if _possession(op, facts.rule(op.call.subject), facts)[1] == math.inf
    }


def left_behind(
    keys: Iterable[str], channels: Iterable[str], allowed: Sequence[str]
) -> list[Violation]:
    """The keys and subscriptions that should be gone. `allowed`: prefixes of keys that may stay."""
    left = [f"the key {key}" for key in keys if not key.startswith(tuple(allowed))]
    left += [f"a subscription to {channel}" for channel in channels]
    return [Violation("left behind", "server", 0, what) for what in sorted(left)]


def _by_subject(found: Iterable[Operation]) -> dict[str, list[Operation]]:
    subjects = defaultdict(list)
    for operation in found:
        subjects[operation.call.subject].append(operation)
    return subjects


def _by_part(found: Iterable[Operation]) -> dict[str, list[Operation]]:
    """By the subject and the number in it, if what was granted has one."""
    parts = defaultdict(list)
    for operation in found:
        part = _part(operation)
        parts[operation.call.subject + ("" if part is None else f" {part}")].append(operation)
    return parts


def _part(operation: Operation) -> int | None:
    return operation.end.part if operation.end else None


def _returned(operation: Operation) -> int:
    assert operation.end is not None
    return operation.end.at


def _token(operation: Operation) -> int:
    assert operation.end is not None
    assert operation.end.token is not None
    return operation.end.token


def _last_moment(operation: Operation, facts: Facts) -> int:
    """Its return, or its worker's death; of what has not ended, the call."""
    if operation.end is not None:
        return operation.end.at
    return facts.deaths.get(operation.call.worker, operation.call.at)
