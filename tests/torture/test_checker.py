"""The checker itself: a history in which nothing is wrong, and one for each thing that can be."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from tests.torture import checker
from tests.torture.checker import Facts, Rule, Violation, Window
from tests.torture.history import SECOND, Entry
from tests.torture.store import Store

FACTS = Facts(
    {
        "lock": Rule(1, 2 * SECOND),
        "room": Rule(1000, 2 * SECOND),
        "permits": Rule(2, None),
        "latch": Rule(1, None),
        "barrier": Rule(2, None),
    }
)
READER, WRITER = 1, 1000

_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def _a_second_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The histories here are of a machine that is never busy."""
    monkeypatch.setattr(checker, "LONGEST_SLEEP", SECOND)


def at(seconds: float) -> int:
    return int(seconds * SECOND)


def acquire(
    called: float,
    returned: float | None,
    result: str = "granted",
    *,
    token: int | None = None,
    part: int | None = None,
    what: str = "acquire",
    **details: Any,
) -> tuple[int, list[Entry]]:
    number = next(_numbers)
    call = {"owner": f"owner {number}", "subject": "lock", "worker": "1.1", **details}
    worker = call.pop("worker")
    entries = [Entry(at(called), worker, number, "call", what, **call)]
    if returned is not None:
        end = Entry(at(returned), worker, number, "return", result=result, token=token, part=part)
        entries.append(end)
    return number, entries


def hold(
    called: float,
    returned: float,
    trusted: float,
    released: float | None,
    lost: float | None = None,
    **details: Any,
) -> list[Entry]:
    """An acquisition that is granted, trusted until some moment, and released."""
    number, entries = acquire(called, returned, **details)
    worker, subject = entries[0].worker, entries[0].subject
    entries.append(Entry(at(trusted), worker, number, "trusted"))
    if lost is not None:
        entries.append(Entry(at(lost), worker, number, "lost"))
    if released is not None:
        release = next(_numbers)
        call = Entry(at(trusted), worker, release, "call", "release", subject=subject, of=number)
        entries += [call, Entry(at(released), worker, release, "return", result="done")]
    return entries


def promises_broken(*histories: list[Entry], facts: Facts = FACTS) -> list[str]:
    found: list[Violation] = checker.judge(itertools.chain(*histories), facts)
    return [violation.promise for violation in found]


# ---- holds


def test_holds_one_after_the_other_are_right() -> None:
    assert promises_broken(hold(0, 1, 2, 2.1), hold(0.5, 2.1, 3, 3.1), hold(3, 3.2, 4, 4)) == []


def test_two_trusted_holds_at_one_time() -> None:
    assert promises_broken(hold(0, 1, 2, 2.1), hold(0.5, 1.9, 3, 3)) == ["trusted at one time"]


def test_a_hold_that_is_no_longer_trusted_has_no_owner() -> None:
    assert promises_broken(hold(0, 1, 2, None, worker="dead"), hold(0.5, 2.1, 3, 3)) == []


def test_readers_share_and_a_writer_does_not() -> None:
    reader = {"subject": "room", "weight": READER}
    writer = {"subject": "room", "weight": WRITER}
    readers = [hold(0, 1, 3, 3, **reader), hold(0, 1, 3, 3, **reader)]
    assert promises_broken(*readers, hold(2, 3, 4, 4, **writer)) == []
    found = promises_broken(*readers, hold(2, 2.5, 4, 4, **writer))
    assert found == ["trusted at one time"]


def test_permits_above_the_count() -> None:
    permit = {"subject": "permits", "weight": 1}
    assert promises_broken(*(hold(0, 1, 2, 2, **permit) for _ in range(2))) == []
    found = promises_broken(*(hold(0, 1, 2, 2, **permit) for _ in range(3)))
    assert found == ["trusted at one time"]


def test_two_owners_of_one_slot() -> None:
    slot: dict[str, Any] = {"subject": "permits", "weight": 1}
    first = hold(0, 1, 2, 2, part=0, token=1, **slot)
    assert promises_broken(first, hold(0, 1, 2, 2, part=1, token=1, **slot)) == []
    found = promises_broken(first, hold(0, 1, 2, 2, part=0, token=2, **slot))
    assert found == ["trusted at one time"]


# ---- barriers


def meet(called: float, returned: float, part: int | None, result: str = "granted") -> list[Entry]:
    """A party of a barrier for two."""
    details = {"subject": "barrier", "what": "meet", "timeout": 2.0}
    return acquire(called, returned, result, part=part, **details)[1]


def test_parties_of_one_generation_go_on_together() -> None:
    late = [meet(0, 5, 0), meet(1, 1.1, 1), meet(2, 2.9, 0), meet(2.1, 2.2, 1)]
    assert promises_broken(*late) == []


def test_a_party_that_goes_on_alone() -> None:
    apart = [meet(0, 0.4, 0), meet(0.5, 1, 1)]
    assert promises_broken(*apart) == ["apart at a barrier"] * 2


def test_a_party_of_the_next_generation_passes_with_this_one() -> None:
    third = meet(0.9, 1.2, 0)
    assert promises_broken(meet(0, 1.1, 0), meet(1, 1.1, 1), third) == ["apart at a barrier"]
    assert promises_broken(meet(0, 1.1, 0), meet(1, 1.1, 1), third, meet(1.1, 1.3, 1)) == []


def test_a_party_without_a_known_end_may_have_passed() -> None:
    alone = meet(0, 1, 0)
    assert promises_broken(alone, meet(0.5, 1.5, None, "ConnectionError")) == []
    # What takes it back is on its way while its process is stopped.
    assert promises_broken(meet(2, 3, 0), meet(0, 0.5, None, "NOREPLICAS")) == []
    found = promises_broken(meet(4, 5, 0), meet(0, 0.5, None, "NOREPLICAS"))
    assert found == ["apart at a barrier"]
    assert promises_broken(alone, meet(0.5, 4, None, "refused")) == []
    found = promises_broken(alone, meet(0.5, 2.6, None, "refused"))
    assert found == ["apart at a barrier"]


# ---- sleepers


def test_asleep_beside_a_free_lock() -> None:
    found = promises_broken(hold(0, 0.1, 1, 1), hold(0.5, 2.2, 3, 3))
    assert found == ["asleep on a free lock"]


def test_awake_in_time() -> None:
    assert promises_broken(hold(0, 0.1, 5, 5), hold(0.5, 5.9, 7, 7)) == []


def test_another_waiter_is_no_excuse() -> None:
    late = [hold(0.5, 2.2, 3, 3), acquire(0.5, 2.9, "refused")[1]]
    assert promises_broken(hold(0, 0.1, 1, 1), *late) == ["asleep on a free lock"] * 2


def test_a_dead_holders_lease_is_waited_for() -> None:
    facts = Facts(FACTS.rules, deaths={"2.1": at(1)})
    dead = hold(0, 0.1, 0.9, None, worker="2.1")
    assert promises_broken(dead, hold(0.5, 3.9, 4, 4), facts=facts) == []
    found = promises_broken(dead, hold(0.5, 4.1, 5, 5), facts=facts)
    assert found == ["asleep on a free lock"]


def test_what_failed_may_have_been_granted() -> None:
    _, failed = acquire(0.9, 1.1, "ConnectionError")
    assert promises_broken(hold(0, 0.1, 1, 1), failed, hold(0.5, 4, 5, 5)) == []


def test_no_worker_is_blamed_while_something_is_broken() -> None:
    facts = Facts(FACTS.rules, disturbances=[Window(at(1.5), at(2.5))])
    assert promises_broken(hold(0, 0.1, 1, 1), hold(0.5, 3.4, 4, 4), facts=facts) == []
    found = promises_broken(hold(0, 0.1, 1, 1), hold(0.5, 3.6, 4, 4), facts=facts)
    assert found == ["asleep on a free lock"]


def test_asleep_beside_enough_permits() -> None:
    permit = {"subject": "permits", "weight": 1}
    facts = Facts(FACTS.rules)
    busy = [hold(0, 0.1, 5, 5, **permit), hold(0, 0.1, 5, 5, **permit)]
    assert promises_broken(*busy, hold(1, 5.1, 6, 6, **permit), facts=facts) == []
    found = promises_broken(busy[0], hold(1, 5.1, 6, 6, **permit), facts=facts)
    assert found == ["asleep on a free lock"]


def test_who_is_cancelled_has_given_back_what_he_had() -> None:
    _, cancelled = acquire(0.9, 1.1, "cancelled")
    assert promises_broken(hold(0, 0.1, 1, 1), cancelled, hold(0.5, 2.0, 3, 3)) == []
    found = promises_broken(hold(0, 0.1, 1, 1), cancelled, hold(0.5, 2.2, 3, 3))
    assert found == ["asleep on a free lock"]


def test_a_cancelled_release_releases() -> None:
    first = hold(0, 0.1, 1, 1)
    first[-1] = replace(first[-1], result="cancelled")
    assert promises_broken(first, hold(0.5, 2.2, 3, 3)) == ["asleep on a free lock"]


def test_the_dead_cannot_give_back_what_was_cancelled() -> None:
    facts = Facts(FACTS.rules, deaths={"2.1": at(1.2)})
    _, cancelled = acquire(0.9, 1.1, "cancelled", worker="2.1")
    late = hold(0.5, 4.1, 5, 5)
    assert promises_broken(hold(0, 0.1, 1, 1), cancelled, late, facts=facts) == []
    permit: dict[str, Any] = {"subject": "permits", "weight": 2}
    _, cancelled = acquire(0.9, 1.1, "cancelled", worker="2.1", **permit)
    late = hold(0.5, 9, 9.1, 9.1, **permit)
    assert promises_broken(hold(0, 0.1, 1, 1, **permit), cancelled, late, facts=facts) == []


# ---- what guards release


GUARDED = Facts(FACTS.rules, deaths={"2.1": at(1)}, guarded={"2.1"})


def test_a_dead_holders_guard_is_waited_for() -> None:
    dead = hold(0, 0.1, 0.9, None, worker="2.1")
    assert promises_broken(dead, hold(0.5, 1.9, 3, 3), facts=GUARDED) == []
    found = promises_broken(dead, hold(0.5, 2.1, 3, 3), facts=GUARDED)
    assert found == ["asleep on a free lock"]


def test_what_the_dead_were_asking_for_is_released() -> None:
    _, asking = acquire(0.9, None, worker="2.1")
    late = hold(0.5, 2.1, 3, 3)
    found = promises_broken(hold(0, 0.1, 0.9, 0.9), asking, late, facts=GUARDED)
    assert found == ["asleep on a free lock"]


def test_a_release_of_the_dead_is_finished() -> None:
    dead = hold(0, 0.1, 0.9, 1, worker="2.1")[:-1]  # it has not returned
    found = promises_broken(dead, hold(0.5, 2.1, 3, 3), facts=GUARDED)
    assert found == ["asleep on a free lock"]


def test_the_guard_of_a_worker_that_lives_releases_nothing() -> None:
    facts = replace(GUARDED, deaths={})
    held = hold(0, 0.1, 5, 5, worker="2.1")
    assert promises_broken(held, hold(0.5, 5.5, 6, 6), facts=facts) == []


def test_a_guard_leaves_alone_what_its_caller_has_left() -> None:
    _, left = acquire(0, 0.1, way="drop", worker="2.1")
    assert promises_broken(left, hold(0.5, 3.9, 4, 4), facts=GUARDED) == []
    assert promises_broken(left, hold(0.5, 4.1, 5, 5), facts=GUARDED) == ["asleep on a free lock"]


def test_a_guard_leaves_alone_what_was_being_passed_on() -> None:
    dead = hold(0, 0.1, 0.9, 1, worker="2.1")[:-1]
    dead[-1] = replace(dead[-1], way="passed on")
    assert promises_broken(dead, hold(0.5, 3.9, 4, 4), facts=GUARDED) == []
    assert promises_broken(dead, hold(0.5, 4.1, 5, 5), facts=GUARDED) == ["asleep on a free lock"]


# ---- losses


def test_lost_within_its_lease() -> None:
    broken = replace(FACTS, disturbances=[Window(at(0), at(9))])
    assert promises_broken(hold(0, 0.1, 0.2, None, lost=1.9), facts=broken) == []
    found = promises_broken(hold(0, 0.1, 0.2, None, lost=1.7), facts=broken)
    assert found == ["lost without a cause"]


def test_lost_while_it_is_renewed_and_nothing_is_broken() -> None:
    found = promises_broken(hold(0, 0.1, 4, None, lost=5))
    assert found == ["lost without a cause"]
    for window in (Window(at(2), at(4.1)), Window(at(4.9), at(6))):
        facts = replace(FACTS, disturbances=[window])
        assert promises_broken(hold(0, 0.1, 4, None, lost=5), facts=facts) == []


def test_the_end_of_a_lease_is_no_loss() -> None:
    assert promises_broken(hold(0, 0.1, 1.9, None, lost=2, lease=2.0)) == []


# ---- latches


def wait(called: float, returned: float, result: str = "granted", **details: Any) -> list[Entry]:
    return acquire(called, returned, result, what="wait", subject="latch", **details)[1]


def test_out_of_a_latch_when_it_opens() -> None:
    closed = hold(0, 0.1, 2, 2.1, subject="latch")
    assert promises_broken(closed, wait(0.5, 2.05), wait(0.05, 0.2), wait(3, 3)) == []


def test_out_of_a_closed_latch() -> None:
    closed = hold(0, 0.1, 2, 2.1, subject="latch")
    assert promises_broken(closed, wait(0.5, 1.9)) == ["out of a closed one"]
    never_opened = hold(0, 0.1, 2, None, subject="latch")
    assert promises_broken(never_opened, wait(0.5, 9)) == ["out of a closed one"]


def test_asleep_at_an_open_latch() -> None:
    closed = hold(0, 0.1, 2, 2.1, subject="latch")
    assert promises_broken(closed, wait(0.5, 3.0)) == []
    assert promises_broken(closed, wait(0.5, 3.2)) == ["asleep on a free lock"]
    assert promises_broken(closed, wait(0.5, 3.2, "refused")) == ["asleep on a free lock"]


def test_a_waiter_keeps_no_owner_out() -> None:
    closed = hold(0, 0.1, 1, 1.05, subject="latch")
    again = hold(1.1, 1.2, 2, 2.1, subject="latch")
    waiting = [wait(0.5, 1.1), wait(1.15, 9, "refused", timeout=1.0), wait(1.3, 2.1)]
    assert promises_broken(closed, again, *waiting) == ["asleep on a free lock"]


def test_a_latch_that_may_be_closed_still_keeps_everybody() -> None:
    _, failed = acquire(0, 0.5, "ConnectionError", subject="latch")
    assert promises_broken(failed, wait(1, 9), wait(1, 9, "refused")) == []


# ---- ends


def test_an_operation_that_never_ended() -> None:
    _, entries = acquire(0, None)
    assert promises_broken(entries) == ["never ended"]
    assert promises_broken(entries, facts=Facts(FACTS.rules, deaths={"1.1": at(0.5)})) == []


def test_an_operation_that_took_too_long() -> None:
    _, entries = acquire(0, 20, "refused", timeout=2.0, subject="permits")
    holders = [hold(0, 0, 20, 20, subject="permits") for _ in range(2)]
    assert promises_broken(entries, *holders) == ["not in time"]
    disturbed = Facts(FACTS.rules, disturbances=[Window(at(1), at(9)), Window(at(5), at(11))])
    assert promises_broken(entries, *holders, facts=disturbed) == []


# ---- tokens


def test_a_token_that_went_back() -> None:
    first = hold(0, 0.1, 1, 1, token=7)
    assert promises_broken(first, hold(1.1, 1.2, 2, 2, token=8)) == []
    assert promises_broken(first, hold(1.1, 1.2, 2, 2, token=6)) == ["a token went back"]


def test_a_token_that_was_given_twice() -> None:
    first = hold(0, 1.0, 1.1, 1.1, token=7)
    assert promises_broken(first, hold(0.5, 1.2, 2, 2, token=7)) == ["a token went back"]


# ---- leftovers


def test_what_is_left_behind() -> None:
    assert checker.left_behind(["token:lock"], [], ("token:",)) == []
    found = checker.left_behind(["lock", "token:lock"], ["channel"], ("token:",))
    assert [violation.text for violation in found] == [
        "a subscription to channel",
        "the key lock",
    ]


def test_what_may_stay_for_good() -> None:
    released = hold(0, 0.1, 2, 2.1, subject="latch done")
    leased = acquire(0, 1, "ConnectionError", subject="lock lost")[1]
    failed = acquire(0, 1, "ConnectionError", subject="latch lost")[1]
    kept = hold(0, 0.1, 2, None, subject="permits")
    history = checker.operations([*released, *leased, *failed, *kept])
    assert checker.for_good(history, FACTS) == {"latch lost", "permits"}


# ---- the store


def test_the_store_shows_a_lost_update(tmp_path: Any) -> None:
    one, other = Store(tmp_path / "file"), Store(tmp_path / "file")
    value = one.read()
    assert value == other.read() == 0
    assert one.write(1, lambda: True)
    assert one.lost_updates() == 0
    assert other.write(1, lambda: True)
    assert (one.writes(), one.lost_updates()) == (2, 1)


def test_the_store_turns_away_who_may_not_write(tmp_path: Any) -> None:
    store = Store(tmp_path / "file")
    assert not store.write(1, lambda: False)
    assert store.writes() == 0


def test_the_store_turns_away_an_old_token(tmp_path: Any) -> None:
    store = Store(tmp_path / "file")
    assert store.read(8) == 0
    assert store.read(7) is None
    assert not store.write(1, lambda: True, 7)
    assert store.write(1, lambda: True, 8)
    assert store.lost_updates() == 0
