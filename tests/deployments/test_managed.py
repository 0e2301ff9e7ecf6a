"""A failover behind an address that stays: a managed endpoint, a service of Kubernetes.

The old primary lives on as a replica and keeps all connections: nothing breaks, and only what it
answers shows that another server has its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.deployments.conftest import CHANNEL, LASTING, LONG, NAME
from tests.support.managed import Managed
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.renewals import see_longer, see_renewals
from tests.support.servers import Server
from tests.support.waiting import BOUND, Stopwatch, eventually

pytestmark = [pytest.mark.servers("real")]


@pytest.fixture
def managed(server_kind: str) -> Iterator[Managed]:
    with Managed(server_kind) as managed:
        yield managed


@pytest.fixture
def client(managed: Managed, make_client: MakeClient) -> Any:
    return make_client(managed.url)


@pytest.fixture
def other(managed: Managed, make_client: MakeClient) -> Any:
    """A client of the same address."""
    return make_client(managed.url)


def holders(server: Server, name: str = NAME) -> int:
    return int(server.inspect.hlen(name))


def test_a_lock_is_acquired_and_released(alice: Any, managed: Managed, client: Any) -> None:
    """hidden-failover: also by a try; no call sees the failover."""
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    alice.do(lock.release)
    managed.swap()
    assert alice.do(lock.acquire, blocking=False)
    assert holders(managed.primary) == 1
    alice.do(lock.release)
    assert holders(managed.primary) == 0


def test_a_hold_goes_on(alice: Any, managed: Managed, make_client: MakeClient) -> None:
    """hidden-failover: renewals follow, though no call is made; and its release."""
    lock = make_client(managed.url, lease=LASTING).lock(NAME)
    alice.do(lock.acquire)
    managed.swap()
    see_renewals(managed.primary)
    assert not alice.do(lambda: lock.lost)
    alice.do(lock.release)
    assert holders(managed.primary) == 0


def test_a_waiter_is_woken(alice: Any, bob: Any, managed: Managed, make_client: MakeClient) -> None:
    """hidden-failover: its subscription, which no server refuses, moves with the calls."""
    lock = make_client(managed.url, lease=LONG).lock(NAME)
    theirs = make_client(managed.url, lease=LONG).lock(NAME)
    alice.do(lock.acquire)
    waiting = bob.begin(theirs.acquire)
    eventually(lambda: managed.primary.subscribers(CHANNEL) == 1)
    managed.swap()
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    bob.do(theirs.release)
    assert holders(managed.primary) == 0


def test_a_permit_is_kept_and_returned(alice: Any, managed: Managed, client: Any) -> None:
    """hidden-failover: also a permit's release, and a try while it is taken."""
    semaphore = client.permit_semaphore(NAME, permits=1)
    permit = alice.do(semaphore.acquire)
    managed.swap()
    assert alice.do(semaphore.acquire, blocking=False) is None
    alice.do(semaphore.release, permit)
    assert alice.do(semaphore.acquire, blocking=False)


def test_a_slot_is_kept_and_returned(alice: Any, managed: Managed, make_client: MakeClient) -> None:
    """hidden-failover: it is renewed at the new primary."""
    slots = make_client(managed.url, lease=LASTING).slots(NAME, 1)
    slot = alice.do(slots.acquire)
    managed.swap()
    timeouts = f"{{{NAME}}}:timeout"
    see_longer(lambda: managed.primary.inspect.zrange(timeouts, 0, 0, withscores=True)[0][1])
    assert not slot.lost
    alice.do(slot.release)
    assert alice.do(slots.acquire, blocking=False) is not None


def test_a_leader_goes_on_and_is_seen(
    alice: Any, bob: Any, managed: Managed, make_client: MakeClient
) -> None:
    """hidden-failover: a candidate that sleeps learns from the new primary that it is free."""
    leader = make_client(managed.url, lease=LASTING).leader(NAME, value="first")
    rival = make_client(managed.url, lease=LASTING).leader(NAME, value="second")
    assert alice.do(leader.campaign)
    campaign = bob.begin(rival.campaign)
    managed.swap()
    see_renewals(managed.primary)
    assert leader.leading
    alice.do(leader.resign)
    assert campaign.result(BOUND)
    bob.do(rival.resign)


@pytest.mark.flavours("sync")
def test_a_deferred_release_reaches_the_new_primary(
    alice: Any, managed: Managed, make_client: MakeClient
) -> None:
    """hidden-failover: no caller waits for it."""
    lock = make_client(managed.url, lease=LONG, releases="deferred").lock(NAME)
    alice.do(lock.acquire)
    managed.swap()
    alice.do(lock.release)
    eventually(lambda: holders(managed.primary) == 0)


def test_replicas_confirm_at_the_new_primary(
    alice: Any, managed: Managed, make_client: MakeClient
) -> None:
    """hidden-failover: with WAIT, which a replica refuses in other words."""
    lock = make_client(managed.url, replicas_to_wait=1).lock(NAME)
    alice.do(lock.acquire)
    alice.do(lock.release)
    managed.swap()
    eventually(lambda: managed.replica.inspect.info("replication")["master_link_status"] == "up")
    alice.do(lock.acquire)
    assert holders(managed.primary) == holders(managed.replica) == 1
    alice.do(lock.release)


@pytest.fixture(params=["no right to ROLE", "no ROLE"])
def silent(request: pytest.FixtureRequest, server_kind: str, tmp_path: Path) -> Iterator[Managed]:
    """Servers that do not say their roles: they know no HELLO, and refuse ROLE."""
    disabled = ["HELLO"] if request.param == "no right to ROLE" else ["HELLO", "ROLE"]
    include = tmp_path / "without.conf"
    include.write_text("".join(f'rename-command {word} ""\n' for word in disabled))
    with Managed(server_kind, {"include": str(include)}) as managed:
        for server in (managed.primary, managed.replica):
            if "ROLE" not in disabled:
                server.inspect.execute_command("ACL", "SETUSER", "default", "-role")
        yield managed


def test_servers_that_do_not_say_their_roles(
    alice: Any, silent: Managed, make_client: MakeClient
) -> None:
    """hidden-failover: what a script is refused is enough."""
    managed = silent
    assert alice.do(make_client(managed.url).ping)
    lock = make_client(managed.url, lease=LASTING).lock(NAME)
    alice.do(lock.acquire)
    managed.swap()
    see_renewals(managed.primary)
    alice.do(lock.release)
    assert alice.do(lock.acquire, blocking=False)


@pytest.mark.flavours("sync")
def test_all_connections_leave_the_old_primary(
    alice: Any, bob: Any, managed: Managed, make_client: MakeClient
) -> None:
    """hidden-failover: calls, renewals and messages.

    What is sent to the old one later cannot be refused.
    """
    lock = make_client(managed.url, lease=LONG).lock(NAME)
    theirs = make_client(managed.url, lease=LONG).lock(NAME)
    alice.do(lock.acquire)
    waiting = bob.begin(theirs.acquire)
    eventually(lambda: managed.primary.subscribers(CHANNEL) == 1)
    old = managed.primary
    managed.swap()
    alice.do(lock.release)
    assert waiting.result(BOUND) is True
    bob.do(theirs.release)
    assert _own(managed.primary)
    eventually(lambda: not _own(old), what="no connection is left at the old primary")


def _own(server: Server) -> list[str]:
    """The connections of clients, not those between the servers."""
    return [each["id"] for each in server.connections() if each["flags"] in ("N", "P")]


@pytest.mark.flavours("sync")
def test_the_guard_frees_what_its_program_held(
    managed: Managed, start_child: StartChild, alice: Any, client: Any
) -> None:
    """hidden-failover: the program died between the failover and its next command."""
    program = """
        client = holdfast.Client(URL, guard=True, lease=120.0)
        client.lock(NAME).acquire()
        say("held")
        hear("end")
    """
    child = start_child(program, URL=managed.url, NAME=NAME)
    child.expect("held")
    managed.swap()
    child.kill()
    eventually(lambda: holders(managed.primary) == 0, what="the guard has freed it")
    assert alice.do(client.lock(NAME).acquire, blocking=False)


@pytest.mark.flavours("sync")
def test_a_child_of_fork_goes_on_at_the_new_primary(
    managed: Managed, start_child: StartChild
) -> None:
    """hidden-failover.

    It was forked when the address led elsewhere already, before its parent saw that.
    """
    program = """
        client = holdfast.Client(URL, lease=120.0)
        client.lock(NAME).acquire()
        say("ready")
        hear("fork")
        if os.fork() == 0:
            own = client.lock("of the child")
            say("child", own.acquire(), client.lock(NAME).acquire(blocking=False))
            own.release()
            client.close()
            os._exit(0)
        hear("release")
        client.lock(NAME).release()
        say("code", os.wait()[1])
    """
    parent = start_child(program, URL=managed.url, NAME=NAME)
    parent.expect("ready")
    managed.swap()
    parent.send("fork")
    assert parent.expect("child") == ["True", "False"]
    parent.send("release")
    assert parent.expect("code") == ["0"]
    assert holders(managed.primary) == holders(managed.primary, "of the child") == 0


# ---- What is no failover


@pytest.mark.realtime
def test_a_client_of_a_replica_gets_one_clear_error(
    alice: Any, managed: Managed, make_client: MakeClient
) -> None:
    """hidden-failover: by mistake, for ever: within the time of a try, with few connections."""
    managed.replicated()
    client = make_client(managed.replica.url)
    before = int(managed.replica.inspect.info("stats")["total_connections_received"])
    for _ in range(3):
        watch = Stopwatch()
        with pytest.raises(holdfast.ServerError, match="READONLY") as refused:
            alice.do(client.lock(NAME).acquire, blocking=False)
        assert refused.value.temporary
        assert watch.seconds < 0.5, "the time of a try, and as much for a busy machine"
    after = int(managed.replica.inspect.info("stats")["total_connections_received"])
    assert after - before < 25


def test_a_ping_says_that_the_server_is_a_replica(
    alice: Any, managed: Managed, make_client: MakeClient
) -> None:
    """hidden-failover: it answers PONG as every server does."""
    managed.replicated()
    client = make_client(managed.replica.url, command_timeout=0.5)
    with pytest.raises(holdfast.ServerError, match="READONLY") as refused:
        alice.do(client.ping)
    assert refused.value.code == "READONLY"


def test_a_ping_follows_the_address(alice: Any, managed: Managed, client: Any) -> None:
    """hidden-failover: once a call has seen that the server is another one."""
    lock = client.lock(NAME)
    assert alice.do(client.ping)
    managed.swap()
    alice.do(lock.acquire)
    assert alice.do(client.ping)
    alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_one_refusal_of_a_proxy_costs_no_connection(
    alice: Any, managed: Managed, client: Any
) -> None:
    """hidden-failover: the server itself says that it is the primary."""
    lock = client.lock(NAME)
    alice.do(lock.acquire)
    alice.do(lock.release)
    before = _own(managed.primary)
    assert before
    refusal = b"-READONLY You can't write against a read only replica.\r\n"
    replaced = managed.proxy.replace_reply(refusal)
    alice.do(lock.acquire)
    assert replaced.is_set()
    alice.do(lock.release)
    assert set(before) <= set(_own(managed.primary))


def test_it_is_found_when_the_address_follows_late(
    alice: Any, managed: Managed, make_client: MakeClient
) -> None:
    """hidden-failover: as DNS does; a wait lasts until then."""
    lock = make_client(managed.url, lease=LONG).lock(NAME)
    alice.do(lock.acquire)
    alice.do(lock.release)
    managed.replicated()
    managed.promote()
    waiting = alice.begin(lock.acquire, timeout=BOUND)
    eventually(lambda: managed.scripts_refused() >= 3)
    assert not waiting.done()
    managed.proxy.lead_to(managed.primary.port)
    assert waiting.result(BOUND) is True
    alice.do(lock.release)
