"""Leader election: one candidate leads, and all see which, its value and its token."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import holdfast
from tests.contract.leaders import NAME, STATE, MakeLeader, Watching, said
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass, stays, taking

# Of trio, for a watch that its task leaves as it is.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")

TOKENS = b"redisson_lock_token:{myLeader}"
DAY = 24 * 3600


def main_of(leader: Any, body: Callable[[Any], Any]) -> Any:
    """A `main` that calls `body(leader)` until it returns something."""

    def main(led: Any) -> Any:
        while (result := body(led)) is None:
            let_pass(0.01)
        return result

    async def coroutine(led: Any) -> Any:
        while (result := body(led)) is None:
            await taking(0.01)
        return result

    return coroutine if leader._client._asynchronous else main


# ---- campaigns


def test_who_is_elected_leads_and_is_announced(
    leader: Any, other: Any, alice: Any, bob: Any
) -> None:
    assert (leader.leading, leader.token, leader.lost) == (False, None, False)
    assert alice.do(other.current) is None
    assert alice.do(leader.campaign) is True
    assert (leader.leading, leader.lost) == (True, False)
    info = bob.do(other.current)
    assert said(info) == ("first", leader.token)
    assert info.owner.startswith(leader._client.id + ":")
    assert (info.holder.owner, info.holder.holds) == (info.owner, 1)
    assert 0 < info.holder.ttl <= 30


def test_the_label_of_its_client_says_who_leads(
    make_client: MakeClient, make_leader: MakeLeader, other: Any, alice: Any, bob: Any
) -> None:
    alice.do(make_leader(of=make_client(label="importer 3")).campaign)
    eventually(lambda: bob.do(other.current).holder.label == "importer 3")
    impatient = make_leader(of=other._client, wait=1)
    with pytest.raises(holdfast.LockTimeout, match="importer 3"):
        bob.inside(impatient, lambda led: led)


def test_a_leader_that_campaigns_again_goes_on(leader: Any, alice: Any, bob: Any) -> None:
    alice.do(leader.campaign)
    token = leader.token
    assert bob.do(leader.campaign, timeout=0) is True
    assert leader.token == token


def test_one_of_them_leads_at_a_time(leader: Any, other: Any, alice: Any, bob: Any) -> None:
    alice.do(leader.campaign)
    assert bob.do_briefly(other.campaign, timeout=0) is False
    waiting = bob.begin(other.campaign)
    token = leader.token
    alice.do(leader.resign)
    assert waiting.result(BOUND) is True
    assert (leader.leading, leader.lost, leader.token) == (False, False, None)
    assert other.token > token
    assert said(alice.do(leader.current)) == ("second", other.token)


def test_a_block_campaigns_and_resigns(leader: Any, other: Any, alice: Any, bob: Any) -> None:
    def block(led: Any) -> Any:
        assert led is leader
        return leader.leading

    assert alice.inside(leader, block) is True
    assert leader.leading is False
    assert bob.do(other.current) is None


def test_a_block_waits_for_its_time(client: Any, other: Any, alice: Any, bob: Any) -> None:
    alice.do(other.campaign)
    impatient = client.leader(NAME, wait=1)
    with pytest.raises(holdfast.LockTimeout, match=NAME):
        bob.inside(impatient, lambda led: led)


def test_the_error_of_a_block_is_raised_after_resigning(
    leader: Any, other: Any, alice: Any
) -> None:
    def block(led: Any) -> Any:
        raise KeyError(led.name)

    with pytest.raises(KeyError, match=NAME):
        alice.inside(leader, block)
    assert alice.do(other.campaign, timeout=0) is True


def test_it_is_the_fenced_lock_of_the_name(leader: Any, client: Any, alice: Any, bob: Any) -> None:
    lock = client.fenced_lock(NAME)
    bob.do(lock.acquire)
    assert alice.do_briefly(leader.campaign, timeout=0) is False
    before = bob.do(getattr, lock, "token")
    bob.do(lock.release)
    alice.do(leader.campaign)
    assert leader.token > before


def test_a_candidate_that_waits_for_a_fenced_lock_of_its_client_is_announced(
    leader: Any, client: Any, alice: Any, bob: Any
) -> None:
    lock = leader._client.fenced_lock(NAME)
    alice.do(lock.acquire)
    waiting = bob.begin(leader.campaign)
    eventually(lambda: leader._client.stats().waiting == 1)
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    found = alice.do(client.leader(NAME).current)
    assert said(found) == ("first", leader.token)


def test_one_object_campaigns_once_at_a_time(
    leader: Any, other: Any, alice: Any, bob: Any, carol: Any
) -> None:
    alice.do(other.campaign)
    waiting = bob.begin(leader.campaign)
    eventually(lambda: leader._client.stats().waiting == 1)
    with pytest.raises(RuntimeError, match="campaigns already"):
        carol.do(leader.campaign)
    alice.do(other.resign)
    assert waiting.result(BOUND) is True


# ---- resigning and values


@pytest.mark.awaited
def test_only_a_leader_resigns(leader: Any, alice: Any, bob: Any) -> None:
    with pytest.raises(holdfast.NotOwnedError, match=NAME):
        alice.do(leader.resign)
    alice.do(leader.campaign)
    bob.do(leader.resign)
    with pytest.raises(holdfast.NotOwnedError, match=f"'{NAME}' is not led by this Leader"):
        alice.do(leader.resign)


def test_nothing_is_left_for_ever_but_the_counter_of_tokens(
    leader: Any, alice: Any, server: Server
) -> None:
    alice.do(leader.campaign)
    assert {NAME.encode(), STATE, TOKENS} <= server.keys()
    assert 30 * DAY < server.inspect.ttl(STATE) <= 366 * DAY  # what one that dies leaves
    alice.do(leader.resign)
    eventually(lambda: server.keys() == {TOKENS})


VALUES = ["", "10.0.0.7:80", "\u00e4" * 512, b"", b"\x00\xff", None]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_value_is_read_as_it_was_given(
    make_leader: MakeLeader, other: Any, alice: Any, value: str | bytes | None
) -> None:
    alice.do(make_leader(value).campaign)
    info = alice.do(other.current)
    assert (info.value, type(info.value)) == (value, type(value))


def test_a_leader_changes_its_value(leader: Any, other: Any, alice: Any, bob: Any) -> None:
    alice.do(leader.campaign)
    for value in ("other", b"bytes", None):
        alice.do(leader.set_value, value)
        assert said(bob.do(other.current)) == (value, leader.token)
    alice.do(leader.set_value, "last")
    alice.do(leader.resign)
    alice.do(leader.campaign)
    assert bob.do(other.current).value == "last"


def test_only_a_leader_sets_a_value(leader: Any, alice: Any) -> None:
    with pytest.raises(holdfast.NotOwnedError, match=r"myLeader.*campaign\(\) first"):
        alice.do(leader.set_value, "other")
    alice.do(leader.campaign)
    alice.do(leader.resign)
    with pytest.raises(holdfast.NotOwnedError, match=NAME):
        alice.do(leader.set_value, "other")


@pytest.mark.parametrize(
    "bad",
    [(1, TypeError), (bytearray(b"a"), TypeError), ("\u00e4" * 513, ValueError)],
    ids=range(3),
)
def test_a_bad_value_is_refused_before_anything_is_sent(
    make_client: MakeClient, make_leader: MakeLeader, alice: Any, bad: Any, server: Server
) -> None:
    value, error = bad
    leader = make_leader(of=make_client(tracking="off"))  # which sends no more for ten seconds
    with pytest.raises(error, match="value must"):
        make_leader(value)
    alice.do(leader.campaign)
    before = server.scripts_run()
    with pytest.raises(error, match="value must"):
        alice.do(leader.set_value, value)
    assert server.scripts_run() == before
    assert leader.leading


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"name": ""}, ValueError),
        ({"name": 1}, TypeError),
        ({"name": NAME, "lease": 0}, ValueError),
        ({"name": NAME, "wait": -1}, ValueError),
        ({"name": NAME, "on_lost": 1}, TypeError),
    ],
)
def test_bad_options_are_refused(
    client: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        client.leader(**options)


# ---- losses


def test_a_loss_is_known_to_the_leader_and_to_all(
    make_leader: MakeLeader, other: Any, alice: Any, bob: Any
) -> None:
    seen: list[Any] = []
    leader = make_leader(on_lost=seen.append)
    alice.do(leader.campaign)
    bob.do(other._lock.force_release)
    assert bob.do(other.current) is None
    with pytest.raises(holdfast.LockLostError, match=NAME):
        alice.do(leader.set_value, "late")
    with pytest.raises(holdfast.LockLostError, match=NAME):
        alice.do(leader.resign)
    eventually(lambda: seen == [leader])
    assert leader.leading is False
    assert alice.do(leader.campaign) is True
    assert (leader.leading, leader.lost) == (True, False)
    stays(lambda: seen == [leader], 0.1)


@pytest.mark.flavours("asyncio")
def test_on_lost_may_be_a_coroutine_function(
    make_leader: MakeLeader, other: Any, alice: Any, bob: Any
) -> None:
    seen: list[Any] = []

    async def on_lost(leader: Any) -> None:
        await asyncio.sleep(0)
        seen.append((leader, leader.lost, leader.leading))

    leader = make_leader(on_lost=on_lost)
    alice.do(leader.campaign)
    bob.do(other._lock.force_release)
    eventually(lambda: seen == [(leader, True, False)])


def test_a_leader_that_is_not_renewed_is_over_with_its_lease(
    hasty: Any, other: Any, alice: Any, bob: Any, server: Server
) -> None:
    alice.do(hasty.campaign)
    watching = Watching(bob, other)
    assert watching.next().value == "hasty"
    step = watching.waits(server)
    hasty._client._core.pause_renewals(True)
    assert step.result(BOUND) is None
    eventually(lambda: hasty.lost)
    assert hasty.leading is False


def test_all_is_flushed_and_the_next_leader_has_a_greater_token(
    leader: Any, other: Any, alice: Any, bob: Any, server: Server
) -> None:
    alice.do(leader.campaign)
    token = leader.token
    watching = Watching(bob, other)
    assert watching.next().token == token
    server.flush()
    assert alice.do(other.campaign) is True
    assert said(watching.next()) in (None, ("second", other.token))
    assert other.token > token


# ---- run


def test_run_ends_when_main_returns(leader: Any, other: Any, alice: Any) -> None:
    def body(led: Any) -> Any:
        return led.leading, led.token

    leading, token = alice.do(leader.run, main_of(leader, body))
    assert (leading, token is None) == (True, False)
    assert leader.leading is False
    assert alice.do(other.campaign, timeout=0) is True


def test_run_raises_the_error_of_main_after_resigning(leader: Any, other: Any, alice: Any) -> None:
    def body(led: Any) -> Any:
        raise KeyError(led.name)

    with pytest.raises(KeyError, match=NAME):
        alice.do(leader.run, main_of(leader, body))
    assert alice.do(other.campaign, timeout=0) is True


@pytest.mark.flavours("sync")
def test_run_of_threads_takes_no_coroutine_function(leader: Any) -> None:
    async def main(led: Any) -> None: ...

    with pytest.raises(TypeError, match=r"main must be a function"):
        leader.run(main)
    with pytest.raises(TypeError, match="main must be callable"):
        leader.run("main")
    assert leader.leading is False


def test_run_without_a_main_is_refused_before_the_election(leader: Any, alice: Any) -> None:
    with pytest.raises(TypeError, match="main must be callable, not NoneType"):
        alice.do(leader.run, None)
    assert (leader.leading, leader.lost) == (False, False)


@pytest.mark.flavours("asyncio")
def test_run_of_tasks_needs_a_coroutine(leader: Any, other: Any, alice: Any) -> None:
    with pytest.raises(TypeError, match=r"main must be a coroutine function: .* type str"):
        alice.do(leader.run, lambda led: led.name)
    assert leader.leading is False
    assert alice.do(other.campaign, timeout=0) is True


def test_an_election_is_an_acquisition_to_the_figures(leader: Any, alice: Any) -> None:
    alice.do(leader.campaign)
    alice.do(leader.current)
    stats = leader._client.stats()
    assert (stats.acquired, stats.held, stats.waiting) == (1, 1, 0)
    alice.do(leader.resign)
    assert leader._client.stats().released == 1


def test_run_allows_main_to_resign(leader: Any, alice: Any) -> None:
    def main(led: Any) -> str:
        led.resign()
        return "done"

    async def coroutine(led: Any) -> str:
        await led.resign()
        return "done"

    asynchronous = leader._client._asynchronous
    assert alice.do(leader.run, coroutine if asynchronous else main) == "done"


def test_run_campaigns_again_after_a_loss(hasty: Any, other: Any, alice: Any, bob: Any) -> None:
    tokens: list[int] = []

    def body(led: Any) -> Any:
        if led.leading and led.token not in tokens:
            tokens.append(led.token)
        return "done" if len(tokens) == 2 or not led.leading else None

    running = alice.begin(hasty.run, main_of(hasty, body))
    eventually(lambda: len(tokens) == 1)
    bob.do(other._lock.force_release)
    assert running.result(BOUND) == "done"
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 2


@pytest.mark.flavours("asyncio")
def test_run_cancels_main_at_the_loss(hasty: Any, other: Any, alice: Any, bob: Any) -> None:
    terms: list[str] = []

    async def main(led: Any) -> str:
        if terms:
            return "done"
        terms.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            terms.append("cancelled")
        return "never"

    running = alice.begin(hasty.run, main)
    eventually(lambda: terms)
    bob.do(other._lock.force_release)
    assert running.result(BOUND) == "done"
    assert terms == ["begun", "cancelled"]


@pytest.mark.flavours("asyncio")
def test_a_cancelled_run_cancels_main_and_resigns(
    leader: Any, other: Any, alice: Any, bob: Any
) -> None:
    terms: list[str] = []

    async def main(led: Any) -> None:
        terms.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            terms.append("cancelled")

    alice.begin(leader.run, main)
    eventually(lambda: terms)
    alice.cancel()
    assert bob.do(other.campaign, timeout=BOUND) is True
    assert terms == ["begun", "cancelled"]


@pytest.mark.flavours("asyncio")
def test_a_shielded_clean_up_of_main_is_not_cut_by_a_cancelled_scope(
    leader: Any, alice: Any
) -> None:
    """Nor is the leadership given up under it."""
    ended: list[bool] = []
    cancels: list[Callable[[], None]] = []

    async def main(led: Any) -> None:
        asyncio.get_running_loop().call_soon(cancels[0])
        try:
            await asyncio.Event().wait()
        finally:
            with anyio.CancelScope(shield=True):
                for _ in range(5):
                    await anyio.sleep(0.01)
                ended.append(led.leading)

    async def run() -> None:
        with anyio.CancelScope() as scope:
            cancels.append(scope.cancel)
            await leader.run(main)

    alice.do(run)
    assert ended == [True]
    assert leader.leading is False


@pytest.mark.flavours("asyncio")
def test_a_run_that_is_cancelled_twice_resigns(
    leader: Any, other: Any, alice: Any, bob: Any
) -> None:
    terms: list[str] = []

    async def main(led: Any) -> None:
        terms.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            terms.append("cleans up")
            await asyncio.Event().wait()

    alice.begin(leader.run, main)
    for seen in (["begun"], ["begun", "cleans up"]):
        eventually(lambda seen=seen: terms == seen)
        alice.cancel()
    assert bob.do(other.campaign, timeout=BOUND) is True


@pytest.mark.flavours("sync")
def test_a_campaign_that_comes_second_finds_that_its_object_leads(
    leader: Any, alice: Any, bob: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two threads that have both seen that it does not lead."""
    campaigning = type(leader)._campaigning

    def begin_late(candidate: Any, campaign: Any) -> Any:
        monkeypatch.undo()
        assert alice.do(candidate.campaign) is True
        return campaigning(candidate, campaign)

    monkeypatch.setattr(type(leader), "_campaigning", begin_late)
    assert bob.do(leader.campaign, timeout=0) is True


@pytest.mark.flavours("asyncio")
def test_a_cancelled_campaign_leaves_nothing_behind(
    leader: Any, other: Any, alice: Any, bob: Any, server: Server
) -> None:
    alice.do(other.campaign)
    bob.begin(leader.campaign)
    eventually(lambda: leader._client.stats().waiting == 1)
    bob.cancel()
    eventually(lambda: leader._client.stats().waiting == 0)
    alice.do(other.resign)
    eventually(lambda: server.keys() == {TOKENS})
    assert alice.do(leader.campaign) is True


# ---- the object


def test_it_is_not_copied_and_says_what_it_is(leader: Any, alice: Any) -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        copy.copy(leader)
    assert repr(leader) == "<Leader 'myLeader' not leading>"
    alice.do(leader.campaign)
    assert repr(leader).startswith(f"<Leader 'myLeader' leading with token {leader.token}, ")


def test_the_name_has_the_prefix_of_its_client(
    make_client: MakeClient, make_leader: MakeLeader, alice: Any, server: Server
) -> None:
    alice.do(make_leader(of=make_client(name_prefix="app:")).campaign)
    keys = {b"app:myLeader", b"holdfast_state:{app:myLeader}"}
    assert keys | {b"redisson_lock_token:{app:myLeader}"} == server.keys()
