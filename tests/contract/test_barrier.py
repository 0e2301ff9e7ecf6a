"""The barrier: all parties go on together, or none does."""

from __future__ import annotations

import logging
import warnings
from concurrent.futures import Future
from typing import Any

import pytest

import holdfast
from tests.support.actors import Flavour
from tests.support.owners import MakeActor, MakeClient
from tests.support.renewals import KEPT, SHORT
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, settled, stays

NAME = "myBarrier"
STATE = "holdfast_state:{myBarrier}"
TIMEOUTS = "{myBarrier}:timeout"
CHANNEL = "holdfast_changed:{myBarrier}"


class Parties:
    """Clients of one server that meet at barriers of one name."""

    def __init__(self, server: Server, flavour: Flavour, make_client: MakeClient) -> None:
        self.server = server
        self.flavour = flavour
        self.do = flavour.actor().do
        self._make_client = make_client

    def barrier(self, parties: int = 3, client: dict[str, Any] | None = None, **how: Any) -> Any:
        """The barrier, of a new client."""
        made = self._make_client(self.server.url, **client or {})
        return made.barrier(NAME, parties, **how)

    def wait(self, barrier: Any, **how: Any) -> Future[Any]:
        """Let a new party wait; returns once the server has it there, or its wait is over."""
        before = self.waiting()
        waiting: Future[Any] = self.flavour.actor().begin(barrier.wait, **how)
        eventually(lambda: waiting.done() or self.waiting() > before)
        return waiting

    def waiting(self) -> int:
        """How many parties wait, as the state has it."""
        fields = self.server.inspect.hgetall(STATE)
        return sum(value[:1] == b"w" for field, value in fields.items() if field[:6] == b"party:")

    def see(self, barrier: Any, what: str) -> Any:
        """A property of it, which tasks await."""
        return self.do(lambda: getattr(barrier, what))

    def left_behind(self) -> set[bytes]:
        """The keys that stay although nothing expires them."""
        inspect = self.server.inspect
        keys = self.server.keys()
        return {key for key in keys if inspect.pttl(key) == -1}


@pytest.fixture
def parties(server: Server, flavour: Flavour, make_client: MakeClient) -> Parties:
    return Parties(server, flavour, make_client)


def broken(waiting: Future[Any]) -> str:
    """Why the wait of a party has failed."""
    with pytest.raises(holdfast.BrokenBarrierError, match="'myBarrier' is broken") as raised:
        waiting.result(BOUND)
    return str(raised.value)


# ---- going on together


def test_all_go_on_once_the_last_is_there_each_with_its_number(parties: Parties) -> None:
    waiting = [parties.wait(parties.barrier()) for _ in range(2)]
    assert not any(each.done() for each in waiting)
    last = parties.do(parties.barrier().wait)
    assert [*(each.result(BOUND) for each in waiting), last] == [0, 1, 2]


def test_one_party_goes_on_at_once(parties: Parties) -> None:
    assert parties.do(parties.barrier(1).wait) == 0


def test_it_is_used_again_and_again(parties: Parties, make_actor: MakeActor) -> None:
    rounds, met = 10, list[int]()

    def meet(barrier: Any) -> Any:
        for number in range(rounds):
            index = yield barrier.wait()
            met.append(number)
            assert met.count(number) <= 3
            assert 0 <= index < 3

    running = [make_actor().begin(meet, parties.barrier()) for _ in range(3)]
    for each in running:
        each.result(BOUND)
    assert sorted(met) == sorted([*range(rounds)] * 3)
    assert met == sorted(met)


def test_nothing_that_lasts_is_left_behind(parties: Parties) -> None:
    waiting = parties.wait(parties.barrier(2))
    parties.do(parties.barrier(2).wait)
    waiting.result(BOUND)
    eventually(lambda: parties.left_behind() == set())
    assert parties.server.inspect.zcard(TIMEOUTS) == 0


def test_a_wait_longer_than_the_lease_is_renewed(parties: Parties) -> None:
    waiting = parties.wait(parties.barrier(2, {"lease": KEPT}))
    stays(lambda: not waiting.done(), KEPT * 1.3)
    assert parties.do(parties.barrier(2).wait) == 1
    assert waiting.result(BOUND) == 0


def test_a_wait_sends_nothing_until_a_lease_would_be_over(parties: Parties) -> None:
    parties.wait(parties.barrier(2, {"tracking": "off"}))
    eventually(lambda: parties.server.subscribers(CHANNEL) == 1)
    before = settled(parties.server.scripts_run)
    stays(lambda: parties.server.scripts_run() == before, 0.3)


# ---- what is said of it


def test_it_says_how_many_wait_and_whether_it_is_broken(parties: Parties) -> None:
    barrier = parties.barrier()
    assert barrier.parties == 3
    assert (parties.see(barrier, "n_waiting"), parties.see(barrier, "broken")) == (0, False)
    parties.wait(parties.barrier())
    assert (parties.see(barrier, "n_waiting"), parties.see(barrier, "broken")) == (1, False)
    parties.do(barrier.abort)
    assert (parties.see(barrier, "n_waiting"), parties.see(barrier, "broken")) == (0, True)


# ---- the end of a barrier


def test_a_time_out_breaks_it_for_all(parties: Parties) -> None:
    other = parties.wait(parties.barrier())
    assert "this party timed out after 0.5 s" in broken(
        parties.wait(parties.barrier(), timeout=0.5)
    )
    assert "another party" in broken(other)
    assert "another party" in broken(parties.wait(parties.barrier()))


def test_no_time_at_all_is_enough_for_the_last(parties: Parties) -> None:
    waiting = parties.wait(parties.barrier(2))
    assert parties.do(parties.barrier(2).wait, timeout=0) == 1
    assert waiting.result(BOUND) == 0


def test_abort_breaks_it_for_all_that_wait_and_come(parties: Parties) -> None:
    waiting = [parties.wait(parties.barrier()) for _ in range(2)]
    parties.do(parties.barrier().abort)
    for each in [*waiting, parties.wait(parties.barrier())]:
        assert "another party left, died, aborted or reset it" in broken(each)


def test_reset_mends_it(parties: Parties) -> None:
    barrier = parties.barrier(2)
    parties.do(barrier.abort)
    parties.do(barrier.reset)
    assert parties.see(barrier, "broken") is False
    waiting = parties.wait(barrier)
    assert parties.do(parties.barrier(2).wait) == 1
    assert waiting.result(BOUND) == 0


def test_reset_while_parties_wait_breaks_it_for_them_alone(parties: Parties) -> None:
    waiting = parties.wait(parties.barrier(2))
    parties.do(parties.barrier(2).reset)
    next_one = parties.wait(parties.barrier(2))
    broken(waiting)
    assert parties.do(parties.barrier(2).wait) == 1
    assert next_one.result(BOUND) == 0


def test_a_party_that_dies_breaks_it_at_the_end_of_its_lease(parties: Parties) -> None:
    waiting = parties.wait(parties.barrier())
    dying = parties.wait(parties.barrier(lease=SHORT))  # it is not renewed
    assert "another party" in broken(waiting)
    assert f"counts as dead: its fixed lease of {SHORT:g} s is over" in broken(dying)
    assert parties.see(parties.barrier(), "broken") is True


def test_a_wait_that_is_longer_than_a_fixed_lease_warns_once(parties: Parties) -> None:
    renewed = parties.barrier(1, client={"lease": SHORT})
    assert parties.do(renewed.wait, timeout=BOUND) == 0
    fixed = parties.barrier(1, lease=BOUND)
    assert parties.do(fixed.wait, timeout=BOUND) == 0
    with pytest.warns(RuntimeWarning, match=rf"lease of {BOUND:g} s.*leave out `lease`"):
        assert parties.do(fixed.wait, timeout=BOUND + 1) == 0
    assert parties.do(fixed.wait, timeout=BOUND + 1) == 0  # a second warning is an error here


@pytest.mark.flavours("asyncio", "trio")
def test_a_task_that_is_cancelled_breaks_it_for_the_others(parties: Parties) -> None:
    waiting = parties.wait(parties.barrier())
    actor = parties.flavour.actor()
    cancelled = actor.begin(parties.barrier().wait)
    eventually(lambda: parties.waiting() == 2)
    actor.cancel()
    assert "another party" in broken(waiting)
    eventually(cancelled.done)
    eventually(lambda: parties.server.inspect.zcard(TIMEOUTS) == 0)


# ---- the number of parties, and bad input


def test_another_number_of_parties_is_refused_and_named(parties: Parties) -> None:
    waiting = parties.wait(parties.barrier(2))
    with pytest.raises(ValueError, match="'myBarrier' has 2 parties, not 4"):
        parties.do(parties.barrier(4).wait)
    assert parties.do(parties.barrier(2).wait) == 1
    assert waiting.result(BOUND) == 0


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (0, ValueError, "from 1 to 1000, not 0"),
        (1001, ValueError, "from 1 to 1000, not 1001"),
        (True, TypeError, "not bool"),
        (2.0, TypeError, "not float"),
        ("2", TypeError, "not str"),
    ],
)
def test_bad_parties_are_refused_before_anything_is_sent(
    deaf: Any, given: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=f"parties must be.*{text}"):
        deaf.barrier(NAME, given)


@pytest.mark.parametrize("timeout", [-2, "1", 1e12])
def test_a_bad_time_out_is_refused_before_anything_is_sent(
    deaf: Any, alice: Any, timeout: Any
) -> None:
    barrier = deaf.barrier(NAME, 2)
    with pytest.raises((TypeError, ValueError, OverflowError), match="timeout"):
        alice.do(barrier.wait, timeout=timeout)


def test_a_bad_lease_or_name_is_refused_before_anything_is_sent(deaf: Any) -> None:
    with pytest.raises(ValueError, match="lease"):
        deaf.barrier(NAME, 2, lease=0)
    with pytest.raises(ValueError, match="name"):
        deaf.barrier("", 2)


def test_a_key_of_another_program_is_an_error_and_stays(parties: Parties) -> None:
    parties.server.inspect.set(STATE, "theirs")
    with pytest.raises(holdfast.ServerError, match="WRONGTYPE"):
        parties.do(parties.barrier().wait)
    for call in (parties.barrier().abort, parties.barrier().reset):
        with pytest.raises(holdfast.ServerError, match=f"^'{NAME}' on .*WRONGTYPE"):
            parties.do(call)
    assert parties.server.inspect.get(STATE) == b"theirs"
    eventually(lambda: parties.server.inspect.zcard(TIMEOUTS) == 0)


# ---- the name of another kind


@pytest.mark.parametrize("other", ["permit_semaphore", "slots"])
def test_the_name_of_a_semaphore_without_a_free_permit_is_refused(
    parties: Parties, client: Any, alice: Any, other: str
) -> None:
    """It would wait for a permit for ever."""
    held = (
        client.permit_semaphore(NAME, permits=1)
        if other == "permit_semaphore"
        else client.slots(NAME, 1)
    )
    alice.do(held.acquire)
    with pytest.raises(ValueError, match=f"'{NAME}' is a permit semaphore, or slots"):
        parties.do(parties.barrier().wait)


def test_the_name_of_a_semaphore_with_free_permits_is_refused(
    parties: Parties, client: Any, alice: Any
) -> None:
    semaphore = client.permit_semaphore(NAME, permits=3)
    alice.do(semaphore.try_set_permits, 3)
    with pytest.raises(ValueError, match="it has 3 permits"):
        parties.do(parties.barrier().wait)
    eventually(lambda: alice.do(semaphore.available_permits) == 3)


# ---- what stays


def abort(parties: Parties, barrier: Any) -> None:
    parties.do(barrier.abort)


def pass_it(parties: Parties, barrier: Any) -> None:
    parties.do(barrier.wait)


def close_it(parties: Parties, barrier: Any) -> None:
    waiting = parties.wait(barrier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of the permit of the party
        parties.do(barrier._client.close)
    with pytest.raises((holdfast.ConnectionError, holdfast.BrokenBarrierError)):
        waiting.result(BOUND)


@pytest.mark.parametrize("ending", [abort, pass_it, close_it])
def test_every_key_of_it_has_an_end(parties: Parties, ending: Any) -> None:
    ending(parties, parties.barrier(2 if ending is close_it else 1))
    eventually(lambda: min(map(parties.server.inspect.pttl, parties.server.keys()), default=1) > 0)


# ---- records


@pytest.mark.realtime
def test_the_loss_of_a_party_is_its_error_and_no_further_record(
    parties: Parties, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "holdfast")
    barrier = parties.barrier(2, client={"lease": SHORT})
    waiting = parties.wait(barrier)
    parties.server.inspect.delete(TIMEOUTS)
    assert "lost its data" in broken(waiting)
    eventually(lambda: "(a party of the barrier) was lost" in caplog.text)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
