"""The time that a caller gives an acquisition: it is kept whatever the server does."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import holdfast
from holdfast._locks import steps
from tests.contract.calls import Call, calls
from tests.contract.kinds import SYNCHRONIZERS, Kind, Synchronizer
from tests.contract.test_steps import drive, once
from tests.faults.conftest import NAME
from tests.support.actors import Flavour
from tests.support.fixtures import StartServer
from tests.support.impostors import impostor
from tests.support.limits import no_descriptors
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass

pytestmark = [pytest.mark.servers("redis"), pytest.mark.realtime]

TIME = 0.5
"""Seconds that the callers give."""

PATIENT: dict[str, Any] = {"command_timeout": 600, "connect_timeout": 600, "retries": 100_000}
"""Options of clients whose own limits are longer than a test waits for the callers'."""

NAMES_SECONDS = rf"within {TIME:g} s"
"""In the error of a wait that got no answer."""


def _other(name: str, synchronizer: Synchronizer) -> Any:
    """Makes a synchronizer that is no lock, and how to wait for it."""

    def make(client: Any, **options: Any) -> Any:
        if name == "count_down_latch":
            return synchronizer.make(client, NAME)
        return getattr(client, name)(NAME, **options)

    return make


OTHERS = {each.name: _other(each.name, each) for each in SYNCHRONIZERS}


#: Of each kind that is not for short ways only, a wait of no time.
NO_TIME = [
    call
    for call in calls("try")
    if call.name in {"acquire(timeout=0)", "campaign(0)", "run with wait=0", "wait(0)"}
    and not call.of.hurried
]


def _ways(thing: Any) -> Iterator[Callable[..., Any]]:
    """The calls of a synchronizer that is no lock, each with a `timeout`."""
    if hasattr(thing, "count_down"):
        yield thing.wait
        return
    yield thing.acquire
    if hasattr(thing, "acquire_many"):
        yield lambda timeout: thing.acquire_many(2, timeout=timeout)


@contextmanager
def no_answer(match: str = NAMES_SECONDS) -> Iterator[None]:
    """The block ends in the error of a server that has not answered."""
    with pytest.raises(holdfast.ConnectionError, match=match):
        yield


@pytest.fixture
def own(start_server: StartServer, make_client: MakeClient) -> Iterator[Server]:
    """A server that a test may stop; it runs again before the clients are closed."""
    server = start_server()
    yield server
    server.resume()


def test_a_server_that_stopped_before_the_wait(
    alice: Any, own: Server, make_client: MakeClient, kind: Kind
) -> None:
    """expired-wait: each kind of lock, by `acquire`, `with` and `hold`; its grant is taken back."""
    client = make_client(own.url, **PATIENT)
    lock = kind.make(client, NAME, wait=TIME)
    alice.do(lock.acquire)
    alice.do(lock.release)
    own.pause()
    with no_answer():
        alice.do(lock.acquire, timeout=TIME)
    with no_answer():
        alice.inside(lock, lambda: None)
    if hasattr(lock, "hold"):
        with no_answer():
            alice.do(lock.hold)
    own.resume()
    eventually(lambda: not kind.holds(own, NAME))


def test_a_server_that_stops_during_the_wait(
    alice: Any, bob: Any, own: Server, make_client: MakeClient, kind: Kind
) -> None:
    """expired-wait: the lock was held by another owner when the server answered last."""
    make = kind.make_rival or kind.make
    alice.do(make(make_client(own.url), NAME).acquire)
    lock = kind.make(make_client(own.url, **PATIENT), NAME)
    assert bob.do_briefly(lock.acquire, timeout=0.01) is False  # has loaded what it needs
    waiting = bob.begin(lock.acquire, timeout=TIME)
    let_pass(0.2)
    own.pause()
    if kind.polls:  # a majority that does not answer any more
        with pytest.raises(holdfast.ConnectionError, match=NAMES_SECONDS):
            waiting.result(BOUND)
    else:
        assert waiting.result(BOUND) is False


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_lock_and_a_server_that_stopped_before(
    alice: Any, own: Server, make_client: MakeClient, name: str
) -> None:
    """expired-wait: semaphores, several permits at once, and a latch."""
    client = make_client(own.url, **PATIENT)
    thing = OTHERS[name](client)
    alice.do(client.lock("other").locked)
    own.pause()
    for wait in _ways(thing):
        with no_answer():
            alice.do(wait, timeout=TIME)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_lock_and_a_server_that_stops_during_the_wait(
    alice: Any, own: Server, make_client: MakeClient, name: str
) -> None:
    """expired-wait: none was free, or it was closed, when the server answered last."""
    client = make_client(own.url, **PATIENT)
    other = OTHERS[name](make_client(own.url))
    if name == "count_down_latch":
        alice.do(other.try_set_count, 1)
    else:
        alice.do(other.try_set_permits, 1)
        alice.do(other.acquire)
    for wait in _ways(OTHERS[name](client)):
        waiting = alice.begin(wait, timeout=TIME)
        let_pass(0.2)
        own.pause()
        assert waiting.result(BOUND) in (False, None)
        own.resume()


@pytest.mark.parametrize("name", ["semaphore", "permit_semaphore"])
def test_a_block_of_a_semaphore_whose_server_stops(
    alice: Any, own: Server, make_client: MakeClient, name: str
) -> None:
    """expired-wait: the error says what is known."""
    other = OTHERS[name](make_client(own.url))
    alice.do(other.try_set_permits, 1)
    alice.do(other.acquire)
    semaphore = OTHERS[name](make_client(own.url, **PATIENT), wait=TIME)
    waiting = alice.begin_inside(semaphore, lambda: None)
    let_pass(0.2)
    own.pause()
    with pytest.raises(holdfast.LockTimeout, match="none was free when the server answered last"):
        waiting.result(BOUND)


def test_a_try_at_a_server_that_hangs(alice: Any, own: Server, make_client: MakeClient) -> None:
    """expired-wait: it has the time of a command."""
    client = make_client(own.url, command_timeout=1)
    alice.do(client.lock("other").locked)
    own.pause()
    with no_answer("no reply"):
        alice.do(client.lock(NAME).acquire, blocking=False)


def _absent(client: Any, alice: Any, match: str) -> None:
    """A wait ends in its time, and a try at once: it is known that there is no server."""
    for thing in (client.lock(NAME), client.semaphore(NAME), client.permit_semaphore(NAME)):
        with no_answer(match):
            alice.do(thing.acquire, timeout=TIME)
        with no_answer(match):
            alice.do(thing.acquire, blocking=False)


def test_a_port_that_accepts_and_closes(alice: Any, make_client: MakeClient) -> None:
    """nothing-listens: such as a proxy without a server behind it."""
    with impostor(b"", closes=True) as port:
        options = {**PATIENT, "command_timeout": 4}  # which a close waits for
        _absent(make_client(f"redis://127.0.0.1:{port}", **options), alice, f":{port}")


def test_a_name_without_a_host(alice: Any, make_client: MakeClient) -> None:
    """nothing-listens: however the machine resolves names, a wait ends in time."""
    client = make_client("redis://no-such-host.invalid:6379", **PATIENT)
    with no_answer("no-such-host.invalid"):
        alice.do(client.lock(NAME).acquire, timeout=TIME)


def test_a_single_server_in_the_place_of_a_cluster(
    alice: Any, server: Server, make_client: MakeClient
) -> None:
    """nothing-listens: the error says which scheme to use."""
    client = make_client(f"redis+cluster://127.0.0.1:{server.port}", **PATIENT)
    _absent(client, alice, "it is a single server")


def test_members_on_servers_of_which_one_has_stopped(
    alice: Any, own: Server, server: Server, make_client: MakeClient
) -> None:
    """failed-members, expired-wait: a multi lock has no answer.

    What it was granted elsewhere is given back.
    """
    here = make_client(server.url, **PATIENT)
    there = make_client(own.url, **PATIENT)
    multi = here.multi_lock(here.lock(NAME), there.lock("other"))
    alice.do(multi.acquire)
    alice.do(multi.release)
    own.pause()
    with no_answer():
        alice.do(multi.acquire, timeout=TIME)
    eventually(lambda: not server.inspect.exists(NAME))


def test_a_red_lock_whose_majority_has_stopped(
    alice: Any, own: Server, server: Server, make_client: MakeClient, flavour: Flavour
) -> None:
    """failed-members, expired-wait: it is unknown whether another owner holds it."""
    module = importlib.import_module("holdfast.asyncio" if flavour.asyncio else "holdfast")
    there = [make_client(own.url, **PATIENT) for _ in range(2)]
    locks = [make_client(server.url).lock(NAME), there[0].lock("a"), there[1].lock("b")]
    red = module.RedLock(*locks)
    own.pause()
    with no_answer():
        alice.do(red.acquire, timeout=TIME)
    eventually(lambda: not server.inspect.exists(NAME))


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("call", NO_TIME, ids=repr)
def test_a_wait_of_no_time_waits_for_the_answer(
    alice: Any, flavour: Flavour, make_client: MakeClient, proxy: FaultProxy, call: Call
) -> None:
    """slow-link: it does not wait for an owner, and the way to the server may be long."""
    thing = call.make(make_client(proxy.url))
    proxy.delay(0.15)
    granted = alice.do(call.begin(flavour, thing))
    assert granted is not None
    assert granted is not False
    if call.of.kind == "leader":
        alice.do(thing.resign)
    proxy.delay(0)


@pytest.mark.parametrize("what", ["step", "commands"])
def test_an_exchange_of_a_call_ends_with_the_time_of_its_call(
    alice: Any, own: Server, make_client: MakeClient, what: str
) -> None:
    """expired-wait: what leader, slots, once and barrier are built on."""
    client = make_client(own.url, **PATIENT)
    core, key = client._core, b"key"
    alice.do(client.ping)
    own.pause()
    time = steps.time_of(core, TIME)
    if what == "step":
        exchange = steps.step(core, time, "lock/ttl", [key])
    else:
        exchange = steps.commands(core, key, [(b"GET", key)], time)
    with no_answer():
        alice.do(drive(client), once(exchange))


def test_no_descriptor_is_left(alice: Any, own: Server, make_client: MakeClient) -> None:
    """nothing-listens: for a new connection; with one again, the client works."""
    client = make_client(own.url, **PATIENT)
    alice.do(client.lock("other").locked)
    own.restart(keep_data=False)
    with no_descriptors():
        with no_answer(r"ulimit -n"):
            alice.do(client.lock(NAME).acquire, timeout=TIME)
        with no_answer(r"ulimit -n"):
            alice.do(client.lock(NAME).acquire, blocking=False)
    assert alice.do(client.lock(NAME).acquire, timeout=BOUND)
