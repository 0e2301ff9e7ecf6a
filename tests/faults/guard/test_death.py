"""A program that dies frees what it held, at once; one that lives keeps it."""

from __future__ import annotations

import signal
from typing import Any

import pytest

import holdfast
from tests.faults.guard.conftest import Program, StartProgram, ended
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

NAME = "myLock"


def is_freed(next_owner: holdfast.Client, name: str = NAME) -> bool:
    """Whether the next owner gets it long before the lease is over."""
    return next_owner.lock(name).acquire(timeout=BOUND)


def end_another(start_program: StartProgram, next_owner: holdfast.Client) -> None:
    """Return when the guard of a program that has just died has done its work."""
    other = start_program("of another")
    other.kill()
    assert is_freed(next_owner, "of another")
    ended(other.guard)


@pytest.mark.parametrize(
    "line",
    [
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "ctypes.string_at(0)",
        "os.abort()",
        "os._exit(0)",
        "sys.exit(3)",
    ],
)
def test_the_next_owner_is_granted_the_lock(
    start_program: StartProgram, next_owner: holdfast.Client, line: str
) -> None:
    program = start_program(NAME)
    program.do(line)
    assert is_freed(next_owner)
    ended(program.guard)


def test_a_waiter_is_woken(
    start_program: StartProgram, start_child: StartChild, server: Server
) -> None:
    program = start_program(NAME)
    waiter = start_child(
        """
        lock = holdfast.Client(URL, lease=60.0).lock("myLock")
        say("waits")
        lock.acquire()
        say("got")
        """,
        URL=server.url,
    )
    waiter.expect("waits")
    eventually(server.subscribed_channels)
    program.kill()
    waiter.expect("got", BOUND)


KINDS = {
    "fair": "client.fair_lock(NAME).acquire()",
    "fenced": "client.fenced_lock(NAME).acquire()",
    "spin": "client.spin_lock(NAME).acquire()",
    "read": "client.read_write_lock(NAME).read.acquire()",
    "write": "client.read_write_lock(NAME).write.acquire()",
    "nested": "[client.lock(NAME).acquire() for _ in range(3)]",
    "hold": "kept = client.lock(NAME).hold()",
    "leased": "client.lock(NAME).acquire(lease=120.0)",
    "extended": "client.lock(NAME).acquire(lease=2.0); client.lock(NAME).extend(140.0)",
    "multi": "client.multi_lock(client.lock(NAME), client.lock('second')).acquire()",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_lock_is_freed(
    start_program: StartProgram, next_owner: holdfast.Client, kind: str
) -> None:
    program = start_program()
    program.do(KINDS[kind].replace("NAME", repr(NAME)) + "; say('acquired')")
    program.child.expect("acquired")
    program.kill()
    if kind in {"read", "write"}:
        assert next_owner.read_write_lock(NAME).write.acquire(timeout=BOUND)
        return
    if kind == "fair":  # its release calls the waiters of a fair lock only
        assert next_owner.fair_lock(NAME).acquire(timeout=BOUND)
        return
    assert is_freed(next_owner)
    assert kind != "multi" or is_freed(next_owner, "second")


@pytest.mark.parametrize("lease", [None, 120.0], ids=["renewed", "leased"])
def test_permits_are_given_back(
    start_program: StartProgram, next_owner: holdfast.Client, lease: float | None
) -> None:
    permits = next_owner.permit_semaphore(NAME)
    permits.try_set_permits(1)
    program = start_program()
    program.do(f"client.permit_semaphore({NAME!r}).acquire(lease={lease}); say('acquired')")
    program.child.expect("acquired")
    program.kill()
    assert permits.acquire(timeout=BOUND)


def test_a_permit_that_was_extended_is_given_back(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    permits = next_owner.permit_semaphore(NAME)
    permits.try_set_permits(1)
    program = start_program()
    program.do(f"p = client.permit_semaphore({NAME!r}); p.extend(p.acquire(lease=1.0), 140.0)")
    program.do("say('extended')")
    program.child.expect("extended")
    program.kill()
    assert permits.acquire(timeout=BOUND)


def test_the_place_of_a_waiter_in_a_fair_queue_is_freed(
    start_program: StartProgram, next_owner: holdfast.Client, server: Server
) -> None:
    queue = f"redisson_lock_queue:{{{NAME}}}"
    fair = next_owner.fair_lock(NAME, queue_timeout=60.0)
    assert fair.acquire()
    program = start_program()
    program.do(f"client.fair_lock({NAME!r}, queue_timeout=60.0).acquire()")
    eventually(lambda: server.inspect.llen(queue) == 1)
    program.kill()
    eventually(lambda: server.inspect.llen(queue) == 0, BOUND)


def test_a_read_hold_of_another_program_stays(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    reader = next_owner.read_write_lock(NAME).read.hold()
    program = start_program()
    program.do(f"client.read_write_lock({NAME!r}).read.acquire(); say('acquired')")
    program.child.expect("acquired")
    program.kill()
    end_another(start_program, next_owner)
    ended(program.guard)
    assert not next_owner.read_write_lock(NAME).write.acquire(blocking=False)
    reader.release()
    assert next_owner.read_write_lock(NAME).write.acquire(timeout=BOUND)


def test_a_program_that_lives_keeps_its_locks_beside_one_that_dies(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    start_program(NAME)
    end_another(start_program, next_owner)
    assert not next_owner.lock(NAME).acquire(blocking=False)


def test_a_program_that_is_stopped_keeps_its_locks(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    program = start_program(NAME)
    program.child.pause()
    end_another(start_program, next_owner)
    assert not next_owner.lock(NAME).acquire(blocking=False)
    program.child.resume()


def test_the_end_of_a_child_frees_nothing(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    program = start_program(NAME)
    program.do("if os.fork() == 0: os._exit(0)")
    program.do("os.wait(); say('ended')")
    program.child.expect("ended")
    end_another(start_program, next_owner)
    assert not next_owner.lock(NAME).acquire(blocking=False)
    program.kill()
    assert is_freed(next_owner)


def test_exec_frees_nothing_and_the_end_of_what_follows_does(
    start_program: StartProgram, next_owner: holdfast.Client, server: Server
) -> None:
    program = start_program(NAME)
    connected = len(server.connections())
    program.do("os.execlp('sleep', 'sleep', '60')")
    eventually(
        lambda: len(server.connections()) < connected, what="the end of the program's client"
    )
    end_another(start_program, next_owner)
    assert not next_owner.lock(NAME).acquire(blocking=False)
    program.kill()
    assert is_freed(next_owner)


def test_a_hold_that_was_detached_stays(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    program = start_program("other")
    program.do(f"say(client.lock({NAME!r}).hold().detach())")
    (ticket,) = program.child.next_line().split()
    program.kill()
    assert is_freed(next_owner, "other")
    ended(program.guard)
    hold = next_owner.attach(ticket)
    hold.release()


def test_a_lock_with_a_minimum_stays_closed(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    program = start_program("other", "held twice")
    program.do(
        "assert client.lock('held twice', at_least=20).acquire();"
        f"say(client.lock({NAME!r}, at_least=20).acquire())"
    )
    program.child.expect("True")
    program.kill()
    assert is_freed(next_owner, "other")
    ended(program.guard)
    for name in (NAME, "held twice"):
        assert not next_owner.lock(name).acquire(blocking=False)


def test_a_lock_that_was_released_and_is_another_owners_stays(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    program = start_program(NAME, "other")
    program.do("held[0].release(); say('released')")
    program.child.expect("released")
    lock = next_owner.lock(NAME)
    assert lock.acquire(blocking=False)
    program.kill()
    assert is_freed(next_owner, "other")
    ended(program.guard)
    lock.release()


def test_each_of_two_programs_frees_its_own(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    first, second = start_program("first"), start_program("second")
    first.kill()
    assert is_freed(next_owner, "first")
    assert not next_owner.lock("second").acquire(blocking=False)
    second.kill()
    assert is_freed(next_owner, "second")


def test_a_forked_child_has_a_separate_guard(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    program = start_program(NAME)
    work = "client.lock('of the child').acquire(), say('held'), time.sleep(60)"
    program.do(f"child = os.fork(); child or ({work})")  # in one line: both read the next one
    program.child.expect("held")
    _kill_child(program)
    assert is_freed(next_owner, "of the child")
    assert not next_owner.lock(NAME).acquire(blocking=False)
    program.kill()
    assert is_freed(next_owner)


def _kill_child(program: Program) -> None:
    program.do(f"os.kill(child, {signal.SIGKILL:d}); os.wait(); say('killed')")
    program.child.expect("killed")


def test_all_clients_of_a_program_have_one_guard(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    program = start_program("first")
    program.do("two = holdfast.Client(URL, guard=True, lease=120); two.lock('second').acquire()")
    program.do("say(two._core.guard_pid)")
    assert int(program.child.next_line()) == program.guard
    program.kill()
    assert is_freed(next_owner, "first")
    assert is_freed(next_owner, "second")


def test_tasks_have_a_guard(
    start_child: StartChild, server: Server, next_owner: holdfast.Client
) -> None:
    child = start_child(
        """
        async def main():
            client = holdfast.asyncio.Client(URL, guard=True, lease=120)
            await client.lock("myLock").acquire()
            say("held")
            await asyncio.sleep(60)
        asyncio.run(main())
        """,
        URL=server.url,
    )
    child.expect("held")
    child.kill()
    assert is_freed(next_owner)


GREENLET = """
from gevent import monkey
monkey.patch_all()
client = holdfast.Client(URL, guard=True, lease=120)
client.lock("myLock").acquire()
say("held")
import gevent
gevent.sleep(60)
"""
UVLOOP = """
import uvloop
async def main():
    client = holdfast.asyncio.Client(URL, guard=True, lease=120)
    await client.lock("myLock").acquire()
    say("held")
    await asyncio.sleep(60)
uvloop.install()
asyncio.run(main())
"""


@pytest.mark.parametrize(("module", "program"), [("gevent", GREENLET), ("uvloop", UVLOOP)])
def test_another_event_loop_changes_nothing(
    start_child: StartChild, server: Server, next_owner: holdfast.Client, module: str, program: str
) -> None:
    pytest.importorskip(module)
    child = start_child(program, URL=server.url)
    child.expect("held")
    child.kill()
    assert is_freed(next_owner)


@pytest.mark.parametrize("way", ["url", "environment"])
def test_the_url_and_the_environment_ask_for_a_guard(
    start_child: StartChild, server: Server, next_owner: holdfast.Client, way: str
) -> None:
    url = f"{server.url}?guard=true" if way == "url" else server.url
    environment: dict[str, Any] = {"HOLDFAST_GUARD": "1"} if way == "environment" else {}
    child = start_child(
        "client = holdfast.Client(URL); client.lock('myLock').acquire(); say('held'); hear()",
        URL=url,
        environment=environment,
    )
    child.expect("held")
    child.kill()
    assert is_freed(next_owner)
