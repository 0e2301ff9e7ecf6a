"""What a program says of itself, under faults: its locks do not depend on it."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import NAME
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass

pytestmark = pytest.mark.servers("real")

LABEL = "billing worker 3"


def labels(server: Server) -> set[bytes]:
    """What the clients that are known to the server say they are, whole keys only."""
    keys = filter(lambda key: key.startswith(b"holdfast:client:"), server.keys())
    return {server.inspect.hget(key, "label") or b"" for key in keys}


def connections(server: Server, client: Any) -> list[str]:
    names = [one["name"] for one in server.inspect.client_list()]
    return [name for name in names if name.endswith(f":{client.id[:8]}")]


FORKING = """
client = holdfast.Client(URL, label="a parent", lease=LEASE)
client.ping()
say("ready", client.id)
hear("fork")
if os.fork() == 0:
    with client.lock(NAME):
        say("child", client.id, os.getpid())
        hear("end")
    client.close()
    os._exit(0)
os.wait()
client.ping()
say("parent", client.id)
hear("end")
"""


def test_a_child_of_fork_has_another_key(start_child: StartChild, server: Server) -> None:
    """forked-process: and leaves its parent's alone."""
    parent = start_child(FORKING, URL=server.url, NAME=NAME, LEASE=30.0)
    [identity] = parent.expect("ready")
    parent.send("fork")
    child, pid = parent.expect("child")
    assert child != identity
    eventually(lambda: server.inspect.hget(f"holdfast:client:{child}", "pid") == pid.encode())
    assert server.inspect.exists(f"holdfast:client:{identity}")
    parent.send("end")
    assert parent.expect("parent") == [identity]
    assert not server.inspect.exists(f"holdfast:client:{child}")
    assert server.inspect.exists(f"holdfast:client:{identity}")
    parent.send("end")


HOLDING = """
client = holdfast.Client(URL, label="a worker", lease=LEASE, guard=GUARD)
lock = client.lock(NAME, label="nightly")
lock.acquire()
say("held", client.id)
hear("end")
"""


@pytest.mark.parametrize("guard", [False, True], ids=["lease", "guard"])
def test_a_killed_programs_label_ends(start_child: StartChild, server: Server, guard: bool) -> None:
    """killed-process: with its lease, or by the guard."""
    lease = 30.0 if guard else 0.5
    child = start_child(HOLDING, URL=server.url, NAME=NAME, LEASE=lease, GUARD=guard)
    [identity] = child.expect("held")
    eventually(lambda: labels(server) == {b"a worker"})
    child.kill()
    eventually(lambda: not server.inspect.exists(f"holdfast:client:{identity}"))


def test_a_user_without_the_right_has_locks_and_one_warning(
    start_server: StartServer, make_client: MakeClient, alice: Any, caplog: Any
) -> None:
    """lasting-refusal: what is refused is said once, and no lock fails by it."""
    server = start_server()
    server.inspect.acl_setuser(
        "few", enabled=True, passwords=["+secret"], keys=[f"{NAME}*", "redisson*"],
        channels=["*"], categories=["+@all"],
    )  # fmt: skip
    url = server.url.replace("redis://", "redis://few:secret@")
    with caplog.at_level(logging.WARNING, "holdfast"):
        client = make_client(url, label=LABEL, lease=1)
        lock = client.lock(NAME, label="nightly")
        alice.do(lock.acquire)
        eventually(lambda: "labels of this client" in caplog.text)
        eventually(lambda: client.stats().renewals > 4)
        [holder] = alice.do(lock.holders)
        assert (holder.label, holder.purpose, holder.since) == (None, None, None)
        alice.do(lock.release)
    assert caplog.text.count("labels of this client") == 1
    assert "NOPERM" in caplog.text
    assert "rights to holdfast:client:*" in caplog.text
    assert server.keys() == set()


def notes_of(server: Server, client: Any) -> dict[bytes, bytes]:
    """What the client's key says of its owners."""
    said: dict[bytes, bytes] = server.inspect.hgetall(f"holdfast:client:{client.id}")
    return {field: said[field] for field in said if b":" in field}


def test_a_lost_hold_is_noted_no_more(server: Server, make_client: MakeClient, alice: Any) -> None:
    """restart-without-data: a later hold without a label shows neither of its words."""
    client = make_client(server.url, lease=0.6)
    lock = client.lock(NAME, label="nightly")
    alice.do(lock.acquire)
    assert len(notes_of(server, client)) == 1
    server.inspect.delete(NAME)
    eventually(lambda: not notes_of(server, client))
    assert alice.do(lambda: lock.lost)
    with pytest.raises(holdfast.LockLostError):
        alice.do(lock.release)
    plain = client.lock(NAME)
    alice.do(plain.acquire)
    [holder] = alice.do(plain.holders)
    assert (holder.purpose, holder.since) == (None, None)
    alice.do(plain.release)


def test_a_purpose_is_said_again_to_a_server_without_its_script(
    private_server: Server, make_client: MakeClient, alice: Any
) -> None:
    """script-flush: soon, and by the next ones at once; nothing of it stays."""
    client = make_client(private_server.url)
    lock = client.lock(NAME)
    for _ in range(2):
        alice.do(lock.acquire, label="before")
        alice.do(lock.release)
    private_server.inspect.script_flush()
    alice.do(lock.acquire, label="behind")  # its note's field is that of the ones before
    eventually(lambda: [one.purpose for one in alice.do(lock.holders)] == ["behind"])
    alice.do(lock.release)
    alice.do(lock.acquire, label="later")
    assert [one.purpose for one in alice.do(lock.holders)] == ["later"]
    alice.do(lock.release)
    eventually(lambda: not notes_of(private_server, client))


def test_a_server_without_memory_keeps_the_holds_of_a_client_with_a_label(
    private_server: Server, make_client: MakeClient, alice: Any, caplog: Any
) -> None:
    """out-of-memory: and the holds are noted when it has some."""
    client = make_client(private_server.url, label=LABEL, lease=2)
    lock = client.lock(NAME)
    alice.do(client.ping)
    eventually(lambda: labels(private_server) == {LABEL.encode()})
    alice.do(lock.acquire)
    private_server.inspect.config_set("maxmemory", 1)
    let_pass(2.0)
    assert not notes_of(private_server, client)
    assert not alice.do(lambda: lock.lost)
    private_server.inspect.config_set("maxmemory", 0)
    eventually(lambda: notes_of(private_server, client))
    alice.do(lock.release)
    assert "labels of this client" not in caplog.text


def test_a_label_is_there_again_after_a_restart_of_the_server(
    private_server: Server, make_client: MakeClient, alice: Any
) -> None:
    """restart-without-data: it is never lost.

    The next renewal makes it, also long after the lease.
    """
    client = make_client(private_server.url, label=LABEL, lease=0.4)
    alice.do(client.ping)
    eventually(lambda: labels(private_server) == {LABEL.encode()})
    private_server.prepare_restart(keep_data=False)
    private_server.stop()
    let_pass(1.0)
    private_server.start()
    eventually(lambda: labels(private_server) == {LABEL.encode()})
    let_pass(1.0)  # the greeting of a new connection makes it for one lease
    eventually(lambda: labels(private_server) == {LABEL.encode()})
    assert client.stats().lost == 0


def test_a_time_out_does_not_wait_for_a_server_that_hangs(
    private_server: Server, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """expired-wait: it asks for 0.2 s who holds the lock."""
    alice.do(make_client(private_server.url).lock(NAME).acquire)
    waiting = make_client(private_server.url, command_timeout=600).lock(NAME, wait=0.5)
    assert not bob.do(waiting.acquire, blocking=False)
    entering = bob.begin_inside(waiting, lambda _: None)
    eventually(private_server.subscribed_channels)
    private_server.pause()
    try:
        with pytest.raises((holdfast.LockTimeout, holdfast.ConnectionError)) as late:
            entering.result(BOUND)
        assert "billing" not in str(late.value)
    finally:
        private_server.resume()


def test_a_close_waits_for_its_label_for_a_moment(
    private_server: Server, make_client: MakeClient, alice: Any
) -> None:
    """expired-wait: the key ends with its lease in any case."""
    client = make_client(private_server.url, label=LABEL, command_timeout=600)
    alice.do(client.ping)
    eventually(lambda: labels(private_server) == {LABEL.encode()})
    private_server.pause()
    try:
        alice.do(client.close)
    finally:
        private_server.resume()
    eventually(lambda: labels(private_server) == set())


def test_a_client_that_closes_while_it_connects_leaves_no_label(
    private_server: Server, make_client: MakeClient, alice: Any, bob: Any
) -> None:
    """deferred-at-close: only the connection for calls makes the key, as it removes it."""
    alice.do(make_client(private_server.url).lock(NAME).acquire)
    for _ in range(20):
        client = make_client(private_server.url, label=LABEL)
        waiting = bob.begin(client.lock(NAME).acquire)
        alice.do(client.close)
        with pytest.raises(holdfast.ConnectionError):
            waiting.result(BOUND)
    eventually(lambda: labels(private_server) == set())


@pytest.mark.filterwarnings("ignore:.*was closed while it held:ResourceWarning")
def test_a_close_amid_labelled_acquires_ends_the_connections(server: Server) -> None:
    """deferred-at-close: also where a thread has just become the reader of the connection."""

    def acquire_until_closed(client: Any, name: str) -> None:
        lock = client.lock(name, label="nightly")
        with suppress(holdfast.HoldfastError):
            while True:
                lock.acquire()
                lock.release()

    for _ in range(15):
        client = holdfast.Client(server.url, label=LABEL)
        threads = [
            threading.Thread(target=acquire_until_closed, args=(client, f"{NAME}:{i}"))
            for i in range(4)
        ]
        for thread in threads:
            thread.start()
        eventually(lambda client=client: client.stats().released > 20)
        client.close()
        for thread in threads:
            thread.join(BOUND)
        eventually(lambda client=client: not connections(server, client))
