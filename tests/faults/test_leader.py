"""A leader dies, gets no answer, or loses its lock: the next one is elected, and all see it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import IMPATIENT, LASTING, SHORT
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "myLeader"
STATE = "holdfast_state:{myLeader}"
TOKENS = "redisson_lock_token:{myLeader}"
CHANNEL = "holdfast_changed:{myLeader}"


class Stage:
    """Candidates of clients of one server; those that lead at the end resign."""

    def __init__(self, make_client: MakeClient, server: Server) -> None:
        self._make_client = make_client
        self.server = server
        self.made: list[Any] = []

    def leader(self, value: str = "", url: str = "", **options: Any) -> Any:
        client = self._make_client(url or self.server.url, **options)
        self.made.append(client.leader(NAME, value=value))
        return self.made[-1]

    def watch(self, actor: Any, leader: Any) -> Any:
        """The steps of a watch; `stage.step(…)` begins the next one."""
        seen = leader.watch()
        step = getattr(seen, "__anext__", None) or seen.__next__
        return lambda: actor.begin(step)

    def changes(self, begin: Any) -> Future[Any]:
        """The next step, once its client listens."""
        step: Future[Any] = begin()
        eventually(lambda: step.done() or self.server.subscribers(CHANNEL) > 0)
        return step


@pytest.fixture
def stage(make_client: MakeClient, server: Server, alice: Any) -> Iterator[Stage]:
    stage = Stage(make_client, server)
    yield stage
    for leader in stage.made:
        if leader.leading:
            with suppress(holdfast.HoldfastError):
                alice.do(leader.resign)


LEADING = """
client = holdfast.Client(URL, **OPTIONS)
leader = client.leader(NAME, value="child")
leader.campaign()
say("leads")
hear("go on")
"""

HOLDING = """
client = holdfast.Client(URL, **OPTIONS)
hold = client.fenced_lock(NAME).hold()
say("leads")
hear("go on")
"""

WAITING = """
client = holdfast.Client(URL, **OPTIONS)
say("leads")
client.leader(NAME, value="child").campaign()
"""


@pytest.mark.realtime
@pytest.mark.parametrize("options", [{"lease": LASTING}, {"guard": True, "lease": 120}], ids=str)
def test_the_next_candidate_is_elected_and_seen_after_a_kill(
    alice: Any, bob: Any, stage: Stage, start_child: StartChild, options: dict[str, Any]
) -> None:
    """killed-process: when the lease is over, and soon with a guard."""
    child = start_child(LEADING, URL=stage.server.url, NAME=NAME, OPTIONS=options)
    child.expect("leads")
    begin = stage.watch(bob, stage.leader())
    assert begin().result(BOUND).value == "child"
    seen = stage.changes(begin)
    waiting = alice.begin(stage.leader("next").campaign)
    child.kill()
    assert waiting.result(BOUND) is True
    info = seen.result(BOUND)
    if info is None:
        info = begin().result(BOUND)
    assert info.value == "next"


@pytest.mark.realtime
@pytest.mark.parametrize("options", [{"lease": LASTING}], ids=str)
def test_a_kill_is_seen_where_no_other_candidate_waits(
    bob: Any, stage: Stage, start_child: StartChild, options: dict[str, Any]
) -> None:
    """killed-process: no message says so; observers ask when the lease is over."""
    child = start_child(LEADING, URL=stage.server.url, NAME=NAME, OPTIONS=options)
    child.expect("leads")
    begin = stage.watch(bob, stage.leader())
    assert begin().result(BOUND).value == "child"
    seen = stage.changes(begin)
    child.kill()
    assert seen.result(BOUND) is None


@pytest.mark.realtime
@pytest.mark.parametrize("options", [{"lease": LASTING}, {"guard": True, "lease": 120}], ids=str)
def test_who_is_killed_between_election_and_announcement_leads_to_no_other_value(
    alice: Any, stage: Stage, start_child: StartChild, options: dict[str, Any]
) -> None:
    """killed-process: the lock is held, and no leader is announced, until it is free."""
    first = stage.leader("first")
    alice.do(first.campaign)
    alice.do(first.resign)
    child = start_child(HOLDING, URL=stage.server.url, NAME=NAME, OPTIONS=options)
    child.expect("leads")
    assert alice.do(first.current) is None
    child.kill()
    assert alice.do(first.campaign, timeout=BOUND) is True
    assert alice.do(first.current).value == "first"


def test_a_killed_candidate_leaves_nothing(
    alice: Any, bob: Any, stage: Stage, start_child: StartChild
) -> None:
    """killed-process: it held nothing, and announced nothing."""
    first = stage.leader("first")
    alice.do(first.campaign)
    child = start_child(WAITING, URL=stage.server.url, NAME=NAME, OPTIONS={})
    child.expect("leads")
    eventually(lambda: stage.server.subscribers("redisson_lock__channel:{myLeader}") == 1)
    child.kill()
    alice.do(first.resign)
    eventually(lambda: stage.server.keys() == {TOKENS.encode()})
    assert bob.do_briefly(stage.leader("second").campaign, timeout=0) is True


def test_a_change_while_an_observer_is_cut_off_is_seen(
    alice: Any, bob: Any, stage: Stage, proxy: FaultProxy
) -> None:
    """lost-subscription: it asks anew once it listens again."""
    leader = stage.leader("first")
    alice.do(leader.campaign)
    begin = stage.watch(bob, stage.leader(url=proxy.url))
    assert begin().result(BOUND).value == "first"
    seen = stage.changes(begin)
    proxy.refuse()
    alice.do(leader.set_value, "second")
    proxy.heal()
    assert seen.result(BOUND).value == "second"


@pytest.mark.parametrize("kept", [0, 2], ids=["no byte", "two bytes"])
def test_a_value_whose_reply_is_lost_is_set_once(
    alice: Any, bob: Any, stage: Stage, proxy: FaultProxy, kept: int
) -> None:
    """lost-reply: the repeat of the step changes and announces nothing."""
    leader = stage.leader("first", proxy.url)
    alice.do(leader.campaign)
    with stage.server.listening(CHANNEL) as messages:
        lost = proxy.truncate_reply(kept)
        alice.do(leader.set_value, "second")
        assert lost.is_set()
        assert len(messages.received()) == 1
    assert bob.do(stage.leader().current).value == "second"


def test_an_election_whose_reply_is_lost_is_the_callers(
    alice: Any, bob: Any, stage: Stage, proxy: FaultProxy
) -> None:
    """lost-reply: the grant is that of the repeat, with its token."""
    leader = stage.leader("first", proxy.url)
    lost = proxy.lose_reply()
    assert alice.do(leader.campaign) is True
    assert lost.is_set()
    assert bob.do(stage.leader().current).token == leader.token


def test_a_value_without_a_reply_may_be_set(
    alice: Any, bob: Any, stage: Stage, proxy: FaultProxy
) -> None:
    """silent-network: its caller has an error, and goes on leading; the next value is set."""
    leader = stage.leader("first", proxy.url, command_timeout=IMPATIENT)
    alice.do(leader.campaign)
    proxy.pass_one_more()
    with pytest.raises(holdfast.ConnectionError):
        alice.do(leader.set_value, "second")
    proxy.heal()
    assert leader.leading
    assert bob.do(stage.leader().current).value == "second"
    alice.do(leader.set_value, "third")
    assert bob.do(stage.leader().current).value == "third"


def test_a_leader_that_cannot_be_announced_gives_the_lock_back(
    alice: Any, bob: Any, stage: Stage, server: Server
) -> None:
    """changed-key: another program has written to the key of the state."""
    leader = stage.leader("first")
    server.inspect.set(STATE, "of another program")
    with pytest.raises(holdfast.ServerError, match="WRONGTYPE"):
        alice.do(leader.campaign)
    assert leader.leading is False
    eventually(lambda: not server.inspect.exists(NAME))
    server.inspect.delete(STATE)
    assert bob.do(stage.leader().campaign, timeout=BOUND) is True


def test_without_a_server_there_is_an_error(alice: Any, stage: Stage, proxy: FaultProxy) -> None:
    """connection-reset: of each call that needs it."""
    leader = stage.leader("first", proxy.url, retries=0, command_timeout=0.5)
    proxy.refuse()
    for call in (leader.campaign, leader.current):
        with pytest.raises(holdfast.ConnectionError, match=NAME):
            alice.do(call)


def test_a_server_that_is_flushed_elects_anew(
    alice: Any, bob: Any, stage: Stage, server: Server
) -> None:
    """restart-without-data: the leader loses its lock, and the next token is greater."""
    leader, other = stage.leader("first"), stage.leader("second")
    alice.do(leader.campaign)
    token = leader.token
    server.flush()
    assert bob.do(other.current) is None
    assert bob.do(other.campaign, timeout=BOUND) is True
    assert other.token > token
    with pytest.raises(holdfast.LockLostError):
        alice.do(leader.resign)
    assert bob.do(other.current).value == "second"


@pytest.mark.flavours("asyncio")
def test_a_candidate_that_is_cancelled_while_it_is_announced_leads_no_more(
    alice: Any, bob: Any, stage: Stage, proxy: FaultProxy
) -> None:
    """interrupted-acquire: what it has announced is taken back with its lock."""
    leader = stage.leader("first", proxy.url)
    bob.do(leader.current)  # connects
    proxy.delay(0.2)
    campaign = alice.begin(leader.campaign)
    eventually(lambda: stage.server.inspect.exists(STATE))
    alice.cancel()
    with pytest.raises(asyncio.CancelledError):
        campaign.result(BOUND)
    proxy.delay(0)
    eventually(lambda: stage.server.keys() == {TOKENS.encode()})
    assert leader.leading is False


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("where", ["_end", "resign", "run", "_resign"])
def test_a_block_that_is_interrupted_while_it_ends_leads_no_more(
    alice: Any, stage: Stage, where: str
) -> None:
    leader = stage.leader()

    def interrupt(frame: Any, event: str, _: object) -> None:
        if (event, frame.f_code.co_name) == ("call", where):
            sys.setprofile(None)
            raise KeyboardInterrupt

    def lead() -> None:
        try:
            with leader:
                sys.setprofile(interrupt)
        finally:
            sys.setprofile(None)

    with pytest.raises(KeyboardInterrupt):
        alice.do(lead)
    assert not leader.leading
    assert alice.do(leader.current) is None


class Interrupting(dict[int, object]):
    """Campaigns whose entry is followed by a Ctrl-C, once."""

    def setdefault(self, epoch: int, own: object, /) -> object:  # type: ignore[override]
        try:
            return super().setdefault(epoch, own)
        finally:
            if not vars(self).setdefault("done", False):
                vars(self)["done"] = True
                raise KeyboardInterrupt


@pytest.mark.flavours("sync")
def test_a_campaign_that_is_interrupted_as_it_begins_can_be_begun_again(
    alice: Any, stage: Stage
) -> None:
    leader = stage.leader()
    leader._campaigns = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        alice.do(leader.campaign)
    assert alice.do(leader.campaign)


class InterruptedLate(dict[int, Any]):
    """Campaigns whose end is interrupted where it looks for its entry."""

    def get(self, *_: Any) -> Any:
        raise KeyboardInterrupt


@pytest.mark.flavours("sync")
def test_a_campaign_that_is_interrupted_as_it_ends_can_be_begun_again(
    alice: Any, stage: Stage
) -> None:
    leader = stage.leader()
    leader._campaigns = InterruptedLate()
    with pytest.raises(KeyboardInterrupt) as caught:  # which keeps the frames of the call
        alice.do(leader.campaign)
    leader._campaigns = dict(leader._campaigns)
    assert alice.do(leader.campaign)
    assert caught


@pytest.mark.flavours("sync")
def test_a_leader_that_no_variable_refers_to_is_not_renewed(
    make_client: MakeClient, stage: Stage, server: Server
) -> None:
    """ended-owner: it is reported, and its lease runs out."""
    client = make_client(server.url, lease=SHORT)
    kept = [client.leader(NAME, on_lost=print)]
    kept[0].campaign()
    with pytest.warns(ResourceWarning, match=NAME):
        kept.clear()
    eventually(lambda: not server.inspect.exists(NAME))
    assert stage.leader("second").campaign(timeout=BOUND) is True


FORKING = """
client = holdfast.Client(URL)
leader = client.leader(NAME, value="parent")
leader.campaign()
child = os.fork()
if not child:
    say("child", leader.leading, leader.campaign(timeout=0))
    try:
        leader.resign()
    except holdfast.NotOwnedError:
        say("refused")
    os._exit(0)
os.waitpid(child, 0)
say("parent", leader.leading, leader.current().value)
leader.resign()
"""


def test_a_child_of_fork_does_not_lead(start_child: StartChild, server: Server) -> None:
    """forked-process: the leadership is its parent's."""
    child = start_child(FORKING, URL=server.url, NAME=NAME)
    assert child.expect("child") == ["False", "False"]
    child.expect("refused")
    assert child.expect("parent") == ["True", "parent"]
    assert child.wait() == 0


FORKING_CANDIDATE = """
client = holdfast.Client(URL)
leader = client.leader(NAME)
campaign = threading.Thread(target=leader.campaign, daemon=True)
campaign.start()
until(lambda: client.stats().waiting == 1)
child = os.fork()
if not child:
    say("child", leader.campaign(timeout=0))
    os._exit(0)
os.waitpid(child, 0)
say("waits")
hear("go on")
campaign.join()
say("leads", leader.leading)
leader.resign()
"""


def test_a_child_of_fork_is_a_candidate_while_its_parent_campaigns(
    start_child: StartChild, server: Server
) -> None:
    """forked-process: the campaign is its parent's, which goes on with it."""
    with holdfast.Client(server.url) as client, client.leader(NAME) as leader:
        child = start_child(FORKING_CANDIDATE, URL=server.url, NAME=NAME)
        assert child.expect("child") == ["False"]
        child.expect("waits")
        leader.resign()
        child.send("go on")
        assert child.expect("leads") == ["True"]
        assert child.wait() == 0
        leader.campaign()
