"""Slots: each has one owner at a time, and the lowest free one is given."""

from __future__ import annotations

import gc
import math
import os
import socket
import weakref
from contextlib import ExitStack, suppress
from typing import Any, cast

import pytest

import holdfast
from holdfast._locks import slots as slots_module
from holdfast._locks.permit_semaphore import PermitLosses
from tests.support.losses import fields_of
from tests.support.owners import MakeActor, MakeClient
from tests.support.renewals import KEPT, SHORT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, stays, timed_out

NAME = "mySlots"
TIMEOUTS = "{mySlots}:timeout"
HASH = "holdfast_slots:{mySlots}"
CHANNEL = "redisson_sc:{mySlots}"
GPUS = ["gpu0", "gpu1", "gpu2"]


class Users:
    """Clients of one server that use slots of one name."""

    def __init__(self, server: Server, actor: Any, make_client: MakeClient) -> None:
        self.server = server
        self.do = actor.do
        self._make_client = make_client

    def slots(self, n_or_values: Any = 3, client: dict[str, Any] | None = None, **how: Any) -> Any:
        """The slots, of a new client."""
        made = self._make_client(self.server.url, **client or {})
        return made.slots(NAME, n_or_values, **how)

    def take(self, slots: Any, **how: Any) -> Any:
        """Take a slot that is free."""
        slot = self.do(slots.acquire, blocking=False, **how)
        assert slot is not None
        return slot

    def kill(self, slot: Any) -> None:
        """End the lease of a slot at once, as if its owner had died long ago."""
        assert self.server.inspect.zrem(TIMEOUTS, bytes.fromhex(slot._permit)) == 1
        self.server.inspect.incr(NAME)


@pytest.fixture
def users(server: Server, alice: Any, make_client: MakeClient) -> Users:
    return Users(server, alice, make_client)


# ---- which one is given


def test_the_lowest_free_slot_is_given(users: Users) -> None:
    mine, other = users.slots(), users.slots()
    taken = [users.take(mine), users.take(other), users.take(mine)]
    assert [slot.index for slot in taken] == [0, 1, 2]
    assert users.do(other.acquire, blocking=False) is None
    users.do(taken[2].release)
    users.do(taken[0].release)
    assert users.take(other).index == 0
    assert users.take(mine).index == 2


def test_each_slot_has_its_value(users: Users) -> None:
    slots = users.slots(GPUS)
    assert [users.take(slots).value for _ in GPUS] == GPUS
    assert users.take(users_of_another_name(users)).value is None


def users_of_another_name(users: Users) -> Any:
    return users._make_client(users.server.url).slots("other", 1)


def test_no_slot_has_two_owners_under_contention(users: Users, make_actor: MakeActor) -> None:
    numbers, inside, met = 3, set[int](), list[int]()

    def use(slots: Any) -> Any:
        for _ in range(20):
            slot = yield slots.acquire()
            if slot.index in inside:
                met.append(slot.index)
            inside.add(slot.index)
            assert slot.index < numbers
            inside.discard(slot.index)
            yield slot.release()

    running = [make_actor().begin(use, users.slots(numbers)) for _ in range(6)]
    for each in running:
        each.result(BOUND)
    assert met == []


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("other", [["b", "a"], ["c"]], ids=repr)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_resize_beside_an_acquire_of_one_object_gives_no_value_twice(
    users: Users, bob: Any, monkeypatch: pytest.MonkeyPatch, other: list[str], when: str
) -> None:
    """The reply is read by the slots that its request was made of."""
    slots, resized = users.slots(["a", "b"]), list[Any]()
    held = users.take(slots)
    of, word = (slots_module, "Granting") if when == "before" else (type(slots), "_agree")
    function = getattr(of, word)

    def resize_first(*given: Any, **options: Any) -> Any:
        if not resized:
            resized.append(bob.do(slots.resize, other))
        return function(*given, **options)

    monkeypatch.setattr(of, word, resize_first)
    slot = None
    with suppress(ValueError):  # the server has the other ones by now
        slot = users.do(slots.acquire, blocking=False)
    assert slot is None or slot.value != held.value
    assert resized == [None]


def test_a_slot_that_was_extended_and_then_released_is_not_lost(users: Users) -> None:
    slot = users.take(users.slots())
    assert users.do(slot.extend, 60) is True
    assert slot.lost is False
    users.do(slot.release)
    assert slot.lost is False


def test_the_token_of_a_slot_grows_with_each_grant(users: Users) -> None:
    slots = users.slots(2)
    tokens = []
    for _ in range(3):
        slot = users.take(slots)
        assert slot.index == 0
        tokens.append(slot.token)
        users.do(slot.release)
    assert tokens == sorted(set(tokens))


def test_the_token_grows_also_after_the_server_has_lost_its_data(users: Users) -> None:
    before = users.take(users.slots(1)).token
    users.server.inspect.flushall()
    assert users.take(users.slots(1)).token > before


# ---- release, extension, loss


def test_a_block_has_a_slot_and_releases_it(users: Users, alice: Any) -> None:
    slots = users.slots(GPUS)
    assert alice.inside(slots, lambda slot: (slot.index, slot.value, slot.lost)) == (
        0,
        "gpu0",
        False,
    )
    assert users.do(slots.taken) == {}


@pytest.mark.flavours("sync")
def test_a_block_of_an_exit_stack_has_a_slot_and_releases_it(users: Users) -> None:
    slots = users.slots(1)
    with ExitStack() as stack:
        assert stack.enter_context(slots).index == 0
        assert list(slots.taken()) == [0]
    assert slots.taken() == {}


def test_a_block_waits_for_its_time_and_names_what_is_missing(users: Users, alice: Any) -> None:
    users.take(users.slots(1))
    timed_out(
        lambda: alice.inside(users.slots(1, wait=0.02), lambda _: None),
        r"0\.02 s .* a slot of 'mySlots': all are taken",
    )


def test_the_error_of_a_block_is_raised_with_a_note(users: Users, alice: Any) -> None:
    def block(slot: Any) -> Any:
        yield slot.release()
        raise KeyError("body")

    with pytest.raises(KeyError, match="body") as raised:
        alice.inside(users.slots(1), block)
    assert "a slot of 'mySlots'" in vars(raised.value)["__notes__"][0]


def test_a_slot_is_released_once(users: Users) -> None:
    slot = users.take(users.slots())
    users.do(slot.release)
    with pytest.raises(holdfast.NotOwnedError, match="slot 0 of 'mySlots'"):
        users.do(slot.release)


def test_a_waiter_wakes_with_the_release(users: Users, bob: Any) -> None:
    held = users.take(users.slots(1))
    waiting = bob.begin(users.slots(1).acquire)
    eventually(lambda: users.server.subscribers(CHANNEL) > 0)
    users.do(held.release)
    assert waiting.result(BOUND).index == 0


def test_a_slot_without_a_lease_is_renewed(users: Users) -> None:
    slots = users.slots(1, {"lease": KEPT})
    slot = users.take(slots)
    stays(lambda: users.do(slots.acquire, blocking=False) is None, KEPT * 1.2)
    assert not slot.lost


def test_a_slot_with_a_lease_is_free_at_its_end(users: Users) -> None:
    slot = users.take(users.slots(1, lease=SHORT))
    assert users.do(users.slots(1).acquire, timeout=BOUND).index == 0
    eventually(lambda: slot.lost)


def test_an_extended_slot_is_free_at_the_new_end_and_lost_by_the_local_clock(users: Users) -> None:
    slots = users.slots(1)
    slot = users.take(slots)
    assert users.do(slot.extend, SHORT) is True
    assert not slot.lost
    assert users.do(users.slots(1).acquire, timeout=BOUND).index == 0
    assert slot.lost
    assert users.do(slot.extend, 10) is False


def test_a_loss_is_reported_once_with_the_slot(users: Users) -> None:
    lost: list[Any] = []
    slots = users.slots(GPUS, {"lease": SHORT}, on_lost=lost.append)
    slot = users.take(slots)
    users.kill(slot)
    eventually(lambda: lost == [slot])
    assert slot.lost
    with pytest.raises(holdfast.LockLostError, match="slot 0 of 'mySlots'"):
        users.do(slot.release)
    assert not slot.lost


def _enter(users: Users, slots: Any) -> weakref.ref[Any]:
    """Begin a block in which no variable refers to the slot."""
    users.do(getattr(slots, "__aenter__", None) or slots.__enter__)
    users.do(slots.taken)  # the actor refers to the result of its latest call
    [(slot, _)] = slots._taken.values()
    return cast("weakref.ref[Any]", slot)


def _leave(users: Users, slots: Any) -> None:
    users.do(getattr(slots, "__aexit__", None) or slots.__exit__, None, None, None)


def test_the_loss_of_a_block_without_a_variable_is_reported(users: Users) -> None:
    lost: list[Any] = []
    slots = users.slots(1, {"lease": SHORT}, on_lost=lost.append)
    slot = _enter(users, slots)
    users.server.inspect.delete(TIMEOUTS)
    eventually(lambda: len(lost) == 1)
    assert lost == [slot()]
    assert lost[0].lost
    with pytest.raises(holdfast.LockLostError):
        _leave(users, slots)
    assert not lost[0].lost


def test_the_slot_of_a_block_is_kept_until_its_end(users: Users) -> None:
    slots = users.slots(1, on_lost=str)
    slot = _enter(users, slots)
    gc.collect()
    assert slot() is not None
    _leave(users, slots)
    eventually(lambda: gc.collect() is not None and slot() is None)
    assert users.do(slots.taken) == {}


def test_a_slot_is_lost_by_the_local_clock_before_that_is_reported(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PermitLosses, "_hold_lost", lambda *_: None)
    slot = users.take(users.slots(), lease=SHORT)
    assert not slot.lost
    eventually(lambda: slot.lost)


def test_a_slot_that_no_variable_refers_to_expires(users: Users) -> None:
    slots = users.slots(1, {"lease": SHORT})
    users.take(slots)
    users.do(slots.taken)  # the task refers to the result of its latest call
    assert users.do(users.slots(1).acquire, timeout=BOUND).index == 0


# ---- who has them


def test_taken_says_who_has_each_slot(users: Users) -> None:
    slots = users.slots(GPUS)
    first, _second = users.take(slots), users.take(slots, lease=60)
    users.do(first.release)
    taken = users.do(users.slots(GPUS).taken)
    assert list(taken) == [1]
    holder = taken[1]
    assert holder.owner.startswith(f"{slots._client.id}:")
    assert (holder.mode, holder.holds) == (None, 1)
    assert 0 < holder.ttl <= 60
    assert (holder.host, holder.pid) == (socket.gethostname(), os.getpid())


def test_taken_has_the_label_of_the_client(users: Users) -> None:
    slots = users.slots(1, {"label": "billing worker 3"})
    users.take(slots)
    other = users.slots(1)
    eventually(lambda: users.do(other.taken)[0].label == "billing worker 3")


# ---- the number and the values


def test_another_number_is_refused_and_named(users: Users) -> None:
    users.take(users.slots(3))
    with pytest.raises(ValueError, match=r"'mySlots' has 3 slots, not 4"):
        users.do(users.slots(4).acquire)


def test_other_values_are_refused_and_named(users: Users) -> None:
    users.take(users.slots(GPUS))
    for other in (GPUS[::-1], 3):
        with pytest.raises(ValueError, match=r"have the values \['gpu0', 'gpu1', 'gpu2'\], not"):
            users.do(users.slots(other).acquire)


def test_a_refused_user_takes_nothing(users: Users) -> None:
    users.take(users.slots(3))
    for other in (4, GPUS):
        with pytest.raises(ValueError, match="mySlots"):
            users.do(users.slots(other).acquire)
    assert users.do(users.slots(3).taken).keys() == {0}
    assert int(users.server.inspect.get(NAME)) == 2


def test_a_resize_while_a_user_waits_refuses_it_when_a_slot_is_free(users: Users, bob: Any) -> None:
    held = users.take(users.slots(1))
    waiting = bob.begin(users.slots(1).acquire)
    eventually(lambda: users.server.subscribers(CHANNEL) > 0)
    users.do(users.slots(1).resize, 2)
    with pytest.raises(ValueError, match="has 2 slots, not 1"):
        waiting.result(BOUND)
    assert not held.lost
    assert users.take(users.slots(2)).index == 1


def test_a_resize_below_the_taken_leaves_their_owners_alone(users: Users) -> None:
    slots = users.slots(3)
    taken = [users.take(slots) for _ in range(3)]
    users.do(slots.resize, 1)
    assert users.do(slots.taken).keys() == {0, 1, 2}
    users.do(taken[0].release)
    users.do(taken[1].release)
    assert users.do(slots.acquire, blocking=False) is None  # one is in use: slot 2
    users.do(taken[2].release)
    assert users.take(slots).index == 0


def test_a_value_in_use_is_not_given_again_at_another_place(users: Users) -> None:
    slots = users.slots(GPUS)
    kept = [users.take(slots) for _ in range(2)]
    users.do(slots.resize, ["gpu1", "gpu2", "gpu0"])
    assert users.take(slots).value == "gpu2"
    assert [slot.value for slot in kept] == ["gpu0", "gpu1"]


def test_values_that_are_used_no_more_do_not_pile_up(users: Users) -> None:
    slots = users.slots(["0"])
    for each in range(1, 4):
        users.do(users.take(slots).release)
        users.do(slots.resize, [str(each)])
    assert users.server.inspect.hkeys(HASH) == [b"values"]
    assert users.take(slots).value == "3"


def test_others_are_refused_also_while_their_client_waits(users: Users, bob: Any) -> None:
    slots = users.slots(1)
    held = users.take(slots)
    waiting = bob.begin(slots.acquire)
    eventually(lambda: users.server.subscribers(CHANNEL) > 0)
    with pytest.raises(ValueError, match="has 1 slot, not 2"):
        users.do(slots._client.slots(NAME, 2).acquire)
    users.do(held.release)
    assert waiting.result(BOUND).index == 0


# ---- records


def test_the_record_of_a_loss_says_that_it_was_a_slot(
    users: Users, caplog: pytest.LogCaptureFixture
) -> None:
    slots = users.slots(client={"lease": SHORT})
    slot = users.take(slots)
    users.kill(slot)
    eventually(lambda: slot.lost)
    eventually(lambda: f"the hold on '{NAME}' (a slot) was lost" in caplog.text)
    assert fields_of(caplog, "lost")["kind"] == "slots"


# ---- bad input


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (0, ValueError, "from 1 to 1000, not 0"),
        (1001, ValueError, "from 1 to 1000, not 1001"),
        (True, TypeError, "not bool"),
        (2.0, TypeError, "not float"),
        ("gpu0", TypeError, "not str"),
        (b"gpu0", TypeError, "not bytes"),
        ([], ValueError, "1 to 1000 values"),
        ([1], TypeError, "values of type str, not int"),
        (["a", "a"], ValueError, "'a' is there twice"),
        ([""], ValueError, "empty"),
        (["x" * 1025], ValueError, "at most 1024 bytes"),
        (["a\nb"], ValueError, "of one line"),
        (["\ud800"], ValueError, "UTF-8"),
        (None, TypeError, "not NoneType"),
    ],
)
def test_bad_slots_are_refused_before_anything_is_sent(
    deaf: Any, given: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=f"n_or_values must.*{text}"):
        deaf.slots(NAME, given)


@pytest.mark.parametrize(
    "options", [{"lease": 0}, {"lease": math.nan}, {"wait": -1}, {"on_lost": 3}, {"timeout": 1}]
)
def test_bad_options_are_refused_before_anything_is_sent(
    deaf: Any, options: dict[str, Any]
) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        deaf.slots(NAME, 2, **options)


def test_bad_arguments_of_an_acquire_are_refused_before_anything_is_sent(
    deaf: Any, alice: Any
) -> None:
    slots = deaf.slots(NAME, 2)
    for how in ({"timeout": -2}, {"lease": 0}, {"blocking": False, "timeout": 1}, {"wait": 1}):
        with pytest.raises((TypeError, ValueError), match=r"timeout|lease"):
            alice.do(slots.acquire, **how)
    with pytest.raises(ValueError, match="n_or_values"):
        alice.do(slots.resize, 0)


def test_a_key_of_another_program_is_an_error_and_stays(users: Users) -> None:
    users.server.inspect.set(HASH, "theirs")
    with pytest.raises(holdfast.ServerError, match="mySlots"):
        users.do(users.slots(1).acquire)
    assert users.server.inspect.get(HASH) == b"theirs"
    assert users.server.inspect.zcard(TIMEOUTS) == 0


def test_the_error_of_each_call_names_the_slots(users: Users) -> None:
    """Not one of the keys beside the name."""
    slots = users.slots(1)
    users.server.inspect.set("holdfast_slots:{mySlots}", "of another program")
    for call in (slots.acquire, slots.taken, lambda: slots.resize(2)):
        with pytest.raises(holdfast.ServerError, match=r"^'mySlots' on .*WRONGTYPE"):
            users.do(call)
