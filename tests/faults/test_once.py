"""A thing that runs once: its runner dies, loses its hold, or gets no answer."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

import holdfast
from tests.contract.once import KEY, LOCK, RESULT, Stage
from tests.faults.conftest import IMPATIENT, LASTING, SHORT
from tests.support.actors import Flavour
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually


@pytest.fixture
def stage(flavour: Flavour, server: Server, make_client: MakeClient) -> Stage:
    return Stage(flavour, server, make_client)


RUNNING = """
def work():
    say("runs")
    hear("go on")

holdfast.Client(URL, **OPTIONS).once(KEY).run(work)
"""


@pytest.mark.realtime
@pytest.mark.parametrize("options", [{"lease": SHORT}, {"guard": True}], ids=str)
def test_the_run_of_a_killed_process_is_taken_over(
    alice: Any, stage: Stage, start_child: StartChild, options: dict[str, Any]
) -> None:
    """killed-process: a waiter runs it when the lease is over, and at once with a guard."""
    child = start_child(RUNNING, URL=stage.server.url, KEY=KEY, OPTIONS=options)
    child.expect("runs")
    runs = stage.work("taken over")
    waiting = stage.wait(alice, stage.once(), runs)
    assert not waiting.done()
    child.kill()
    assert waiting.result(BOUND) == "taken over"
    assert runs.calls == 1


def test_a_run_whose_lock_is_taken_away_keeps_nothing(alice: Any, bob: Any, stage: Stage) -> None:
    """changed-key: its caller has an error, and the result of the next one stays."""
    first, second = stage.work("first", held=True), stage.work("second")
    running = stage.begin(alice, stage.once(), first)
    assert stage.server.inspect.delete(LOCK) == 1
    assert bob.do(stage.once().run, second) == "second"
    first.goes_on.set()
    with pytest.raises(holdfast.LockLostError, match=r"'invoice:7' is not kept"):
        running.result(BOUND)
    assert alice.do(stage.once().run, first) == "second"
    assert (first.calls, second.calls) == (1, 1)


@pytest.mark.filterwarnings("ignore:.* was collected while held:ResourceWarning")
def test_a_run_goes_on_under_its_lock_when_its_client_is_closed(
    alice: Any, bob: Any, stage: Stage
) -> None:
    """grant-at-close: it ends with its lease, not while the function works."""
    client, runs = stage.client(lease=LASTING), stage.work(held=True)
    running = stage.begin(alice, stage.once(client), runs)
    with pytest.warns(ResourceWarning, match="expires with its lease"):
        bob.do(client.close)
    assert bob.do(stage.once().status) == "running"
    runs.goes_on.set()
    with pytest.raises(holdfast.ConnectionError, match="client was closed"):
        running.result(BOUND)
    assert bob.do(stage.once().status) == "running"
    del running
    gc.collect()  # what it held, within this test


def test_a_server_that_is_flushed_has_forgotten_all(alice: Any, bob: Any, stage: Stage) -> None:
    """restart-without-data: during a run nothing is kept; after it, it is new."""
    once = stage.once()
    runs = stage.work(held=True)
    running = stage.begin(alice, once, runs)
    stage.server.inspect.flushall()
    runs.goes_on.set()
    with pytest.raises(holdfast.LockLostError):
        running.result(BOUND)
    assert stage.server.keys() == set()
    assert bob.do(once.run, runs) == "done"
    stage.server.inspect.flushall()
    assert bob.do(once.status) == "new"
    assert bob.do(once.run, runs) == "done"
    assert runs.calls == 3


@pytest.mark.realtime
def test_a_run_that_outlasts_its_fixed_lease_keeps_nothing(
    alice: Any, bob: Any, stage: Stage
) -> None:
    """expired-on-arrival: a lease that is over while the function runs.

    Another caller may run by then.
    """
    first, second = stage.work("first", held=True), stage.work("second")
    running = stage.begin(alice, stage.once(lease=SHORT), first)
    assert bob.do(stage.once().run, second) == "second"
    first.goes_on.set()
    with pytest.raises(holdfast.LockLostError, match="not kept"):
        running.result(BOUND)
    assert alice.do(stage.once().run, first) == "second"


@pytest.mark.realtime
def test_a_run_that_is_lost_by_its_clients_clock_keeps_nothing(
    alice: Any, bob: Any, stage: Stage
) -> None:
    """server-clock-ahead: also where the server still has its hold; nothing is sent."""
    client, runs = stage.client(tracking="off"), stage.work(held=True)
    running = stage.begin(alice, stage.once(client, lease=SHORT), runs)
    assert stage.server.inspect.pexpire(LOCK, 3_600_000)
    eventually(lambda: client.stats().lost == 1)
    runs.goes_on.set()
    with pytest.raises(holdfast.LockLostError, match="not kept"):
        running.result(BOUND)
    assert stage.server.keys() <= {LOCK.encode()}
    assert bob.do(stage.once().status) in {"new", "running"}


@pytest.mark.parametrize("kept", [0, 2], ids=["no byte", "two bytes"])
def test_a_result_whose_reply_is_lost_is_kept_once(
    alice: Any, bob: Any, stage: Stage, proxy: FaultProxy, kept: int
) -> None:
    """lost-reply: the step is sent again while the runner still holds the lock."""
    runs = stage.work(held=True)
    running = stage.begin(alice, stage.once(stage.client(proxy.url)), runs)
    lost = proxy.truncate_reply(kept)
    runs.goes_on.set()
    assert running.result(BOUND) == "done"
    assert lost.is_set()
    assert bob.do(stage.once().run, runs) == "done"
    assert runs.calls == 1
    eventually(lambda: stage.server.keys() == {RESULT.encode()})  # the release is not awaited


def test_a_result_without_a_reply_may_be_kept(
    alice: Any, bob: Any, stage: Stage, proxy: FaultProxy
) -> None:
    """silent-network: its caller has an error, and the status says which it is."""
    runs = stage.work(held=True)
    client = stage.client(proxy.url, command_timeout=IMPATIENT)
    running = stage.begin(alice, stage.once(client), runs)
    proxy.pass_one_more()
    runs.goes_on.set()
    with pytest.raises(holdfast.ConnectionError):
        running.result(BOUND)
    proxy.heal()
    once = stage.once()
    assert bob.do(once.status) == "done"
    assert bob.do(once.run, runs) == "done"
    assert runs.calls == 1


def test_a_release_that_fails_does_not_hide_the_result(
    alice: Any, stage: Stage, proxy: FaultProxy
) -> None:
    """unanswered-release: it is kept by then."""
    runs = stage.work(held=True)
    running = stage.begin(alice, stage.once(stage.client(proxy.url)), runs)
    stored = proxy.replace_reply(b":1\r\n")
    refused = proxy.replace_reply(b"-NOPERM no such right\r\n")
    runs.goes_on.set()
    assert running.result(BOUND) == "done"
    eventually(stored.is_set)
    eventually(refused.is_set)


def test_a_server_without_memory_keeps_that_it_has_run(
    alice: Any, private_server: Server, make_client: MakeClient, flavour: Flavour
) -> None:
    """out-of-memory: the error has the value, and the server's reason."""
    stage = Stage(flavour, private_server, make_client)
    client = stage.client(private_server.url, command_timeout=IMPATIENT)
    runs = stage.work(held=True)
    running = stage.begin(alice, stage.once(client), runs)
    private_server.inspect.config_set("maxmemory", 1)
    runs.goes_on.set()
    with pytest.raises(holdfast.ResultNotKeptError, match="OOM") as caught:
        running.result(BOUND)
    assert caught.value.result == "done"
    private_server.inspect.config_set("maxmemory", 0)
    with pytest.raises(holdfast.ResultNotKeptError, match="OOM"):
        alice.do(stage.once(client).run, runs)
    assert runs.calls == 1


def test_a_mark_that_the_server_refuses_goes_on_while_the_lock_stays(
    alice: Any, private_server: Server, make_client: MakeClient, flavour: Flavour
) -> None:
    """The next caller waits, and finds that it has run."""
    stage = Stage(flavour, private_server, make_client)
    client = stage.client(private_server.url, command_timeout=IMPATIENT, lease=LASTING)
    runs = stage.work(object(), held=True)
    running = stage.begin(alice, stage.once(client), runs)
    private_server.inspect.config_set("min-replicas-to-write", 1)
    runs.goes_on.set()
    with pytest.raises(holdfast.LockLostError, match="the next call runs it again"):
        running.result(BOUND)
    private_server.inspect.config_set("min-replicas-to-write", 0)
    with pytest.raises(holdfast.ResultNotKeptError):
        alice.do(stage.once(client).run, runs)
    assert runs.calls == 1


@pytest.mark.realtime
def test_a_lock_whose_mark_is_refused_is_over_with_its_lease(
    alice: Any, private_server: Server, make_client: MakeClient, flavour: Flavour
) -> None:
    """lasting-refusal: also while the program keeps the error, and the hold with it."""
    may = ["on", "nopass", "+@all", "&*", "%R~holdfast_result:*"]
    private_server.inspect.execute_command("ACL", "SETUSER", "worker", *may, f"~{LOCK}")
    url = private_server.url.replace("://", "://worker:any@")
    stage = Stage(flavour, private_server, make_client)
    client = stage.client(url, lease=SHORT)
    with pytest.raises(holdfast.LockLostError, match="the next call runs it again") as caught:
        alice.do(stage.once(client).run, stage.work())
    eventually(lambda: not private_server.inspect.exists(LOCK))
    assert isinstance(caught.value.__context__, holdfast.ServerError)


def test_without_a_server_nothing_runs(alice: Any, stage: Stage, proxy: FaultProxy) -> None:
    """connection-reset: the error of a call comes before the function."""
    runs = stage.work()
    once = stage.once(stage.client(proxy.url, retries=0, command_timeout=0.5))
    proxy.refuse()
    for call in (lambda: once.run(runs), once.status, once.forget):
        with pytest.raises(holdfast.ConnectionError, match="invoice:7:holdfast_once"):
            alice.do(call)
    assert runs.calls == 0


@pytest.mark.flavours("asyncio")
def test_a_waiter_that_is_cancelled_leaves_nothing(
    alice: Any, bob: Any, make_actor: Any, stage: Stage
) -> None:
    """interrupted-acquire: nor does it stop the run."""
    runs = stage.work(held=True)
    client = stage.client()
    running = stage.begin(alice, stage.once(client), runs)
    leaving = make_actor()
    waiting = stage.wait(leaving, stage.once(client), runs)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        waiting.result(BOUND)
    eventually(lambda: client.stats().waiting == 0)
    runs.goes_on.set()
    assert running.result(BOUND) == "done"
    assert bob.do(stage.once().run, runs) == "done"
    assert runs.calls == 1


@pytest.mark.flavours("asyncio")
def test_a_runner_that_is_cancelled_keeps_nothing(bob: Any, make_actor: Any, stage: Stage) -> None:
    """interrupted-acquire: the next caller runs it at once."""
    held, runs = stage.work(held=True), stage.work("second")
    leaving = make_actor()
    running = stage.begin(leaving, stage.once(), held)
    waiting = stage.wait(bob, stage.once(), runs)
    leaving.cancel()
    assert waiting.result(BOUND) == "second"
    held.goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        running.result(BOUND)


FORKING = """
client = holdfast.Client(URL)
once = client.once(KEY)
parent = os.getpid()

def work():
    if os.fork():
        os.wait()
        return "of the parent"
    return "of the child"

try:
    say("result", once.run(work))
except holdfast.LockLostError as error:
    assert os.getpid() != parent
    say("lost", once.status())
    os._exit(0)
say("status", once.status())
"""


def test_a_child_of_fork_keeps_no_result_of_its_parents_run(
    start_child: StartChild, server: Server
) -> None:
    """forked-process: the hold is the parent's."""
    child = start_child(FORKING, URL=server.url, KEY=KEY)
    assert child.expect("lost") == ["running"]
    assert child.expect("result") == ["of", "the", "parent"]
    assert child.expect("status") == ["done"]
