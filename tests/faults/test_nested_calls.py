"""A signal handler that uses the lock whose `acquire()` or `release()` it interrupts.

While the main thread waits for a reply, the engine runs Python's signal handlers. The replies are
held back at the proxy until the handler has ended.
"""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Callable

import pytest

import holdfast
from tests.contract.kinds import KINDS, Kind
from tests.faults.conftest import NAME, holds
from tests.support.processes import Child, StartChild
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import eventually, settled

PROGRAM = """
from tests.contract.kinds import KINDS

kind = next(each for each in KINDS if each.name == KIND)
client = holdfast.Client(URL)
lock = kind.make(client, NAME)

def meanwhile(number, frame):
    say("in the handler")
    try:
        say("result", handler())
    except Exception as error:
        say("raised", type(error).__name__, error)

def step(call):
    hear("go")
    try:
        say("returned", call())
    except Exception as error:
        say("failed", type(error).__name__, error)

signal.signal(signal.SIGUSR1, meanwhile)
with lock:
    pass  # the server knows the scripts, and the connections are there
"""

REFUSED = (
    "raised RuntimeError lock '{}' is being acquired by this thread: "
    "a signal handler (or __del__) must not use the same lock"
)
LOCK = next(kind for kind in KINDS if kind.name == "lock")

pytestmark = pytest.mark.sampled
all_kinds = pytest.mark.parametrize("kind", KINDS, ids=repr)
Interrupted = Callable[[Child], str]


@pytest.fixture
def interrupted(proxy: FaultProxy) -> Interrupted:
    """Lets the child do its next step, and runs its handler before the reply; what it says."""

    def interrupt(child: Child) -> str:
        proxy.stall()
        before = proxy.scripts
        child.send("go")
        eventually(lambda: proxy.scripts > before)
        child.signal(signal.SIGUSR1)
        child.expect("in")
        proxy.heal()
        return child.next_line()

    return interrupt


def _start(start_child: StartChild, proxy: FaultProxy, kind: Kind, program: str) -> Child:
    text = PROGRAM + textwrap.dedent(program)
    child = start_child(text, URL=proxy.url, NAME=NAME, KIND=kind.name)
    child.expect("ready")
    return child


def _recorded_by_a_reader(kind: Kind) -> bool:
    """A lock of locks records its members' grants in the thread that waits."""
    return not kind.part_of and kind.name not in {"multi_lock", "red_lock"}


def _queues_up(kind: Kind) -> bool:
    """Its waiters stand in a queue of the client."""
    return _recorded_by_a_reader(kind) and kind.name not in {"fair_lock", "spin_lock"}


def _refused(said: str, name: str = NAME) -> bool:
    return said == REFUSED.format(name)


@all_kinds
@pytest.mark.parametrize("lease", ["", "lease=25"], ids=["plain", "with a lease"])
def test_an_acquire_inside_an_acquire_is_refused(
    start_child: StartChild, proxy: FaultProxy, interrupted: Interrupted, kind: Kind, lease: str
) -> None:
    """handler-during-acquire.

    Both would be first holds, and the release of one would free the other.
    """
    program = """
    def handler():
        with lock:
            return lock._core.known_count(0)

    say("ready")
    step(lambda: lock.acquire(LEASE))
    say("counts", lock._core.known_count(0), lock.lost)
    lock.release()
    say("counts", lock._core.known_count(0), lock.lost)
    """
    child = _start(start_child, proxy, kind, program.replace("LEASE", lease))
    assert _refused(interrupted(child))
    assert child.expect("returned") == ["True"]
    assert child.expect("counts") == ["1", "False"]
    assert child.expect("counts") == ["0", "False"]


@all_kinds
@pytest.mark.parametrize("deferred", [False, True], ids=["awaited", "deferred"])
def test_a_release_inside_an_acquire_is_refused(
    start_child: StartChild, proxy: FaultProxy, interrupted: Interrupted, kind: Kind, deferred: bool
) -> None:
    """handler-during-acquire.

    The second hold would be counted on top of a first one that is gone.
    """
    program = """
    def handler():
        return lock.release(WAIT)

    lock.acquire()
    say("ready")
    step(lock.acquire)
    say("counts", lock._core.known_count(0))
    """
    defers = deferred and _recorded_by_a_reader(kind)
    child = _start(start_child, proxy, kind, program.replace("WAIT", "wait=False" * defers))
    assert _refused(interrupted(child))
    assert child.expect("returned") == ["True"]
    assert child.expect("counts") == ["2"]


@pytest.mark.parametrize("call", ["release()", "release(wait=False)", "acquire()"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if _queues_up(kind)], ids=repr)
def test_a_grant_that_another_thread_records_is_not_the_handlers(
    start_child: StartChild, proxy: FaultProxy, interrupted: Interrupted, kind: Kind, call: str
) -> None:
    """handler-during-acquire.

    The acquire ends for its caller when it returns, not when its reply is read.

    Beside a waiter of the same client an acquire is an operation from the start, whose reply any
    thread of the engine records.
    """
    program = """
    def handler():
        until(lambda: lock._core.known_count(0) == 2)
        return lock.CALL

    lock.acquire()
    rival = (kind.make_rival or kind.make)(client, NAME)
    threading.Thread(target=rival.acquire, daemon=True).start()
    until(lambda: client.stats().waiting == 1)
    say("ready")
    step(lock.acquire)
    say("counts", lock._core.known_count(0))
    """
    child = _start(start_child, proxy, kind, program.replace("CALL", call))
    settled(lambda: proxy.scripts)  # the rival tries once more when it has subscribed
    assert _refused(interrupted(child))
    assert child.expect("returned") == ["True"]
    assert child.expect("counts") == ["2"]


@all_kinds
@pytest.mark.parametrize(
    "call",
    ["lock.acquire(blocking=False)", "lock.release()", "lock.extend(5)"],
    ids=["try", "release", "extend"],
)
def test_what_waits_for_another_owner_is_being_acquired(
    start_child: StartChild, proxy: FaultProxy, server: Server, kind: Kind, call: str
) -> None:
    """handler-during-acquire: from its beginning to its end, also where no command is under way."""
    program = """
    rival = (kind.make_rival or kind.make)(holdfast.Client(URL), NAME)
    held, leave = threading.Event(), threading.Event()

    def hold():
        with rival:
            held.set()
            leave.wait()

    holder = threading.Thread(target=hold)
    calls = []

    def handler():
        calls.append(1)
        if len(calls) == 3:
            leave.set()
        return CALL

    holder.start()
    held.wait()
    say("ready")
    step(lock.acquire)
    say("counts", lock._core.known_count(0))
    """
    child = _start(start_child, proxy, kind, program.replace("CALL", call))
    before = proxy.scripts
    child.send("go")
    eventually(lambda: proxy.scripts > before)
    for _ in range(3):
        child.signal(signal.SIGUSR1)
        child.expect("in")
        assert _refused(child.next_line())
    assert child.expect("returned") == ["True"]
    assert child.expect("counts") == ["1"]


def test_an_interrupted_acquire_keeps_its_watcher(
    start_child: StartChild, proxy: FaultProxy, interrupted: Interrupted, server: Server
) -> None:
    """handler-during-acquire: the call that is refused does not take `on_lost` from the hold."""
    program = """
    lock = client.lock(NAME, on_lost=lambda lock: say("lost"), lease=LEASE)

    def handler():
        return CALL

    say("ready")
    step(lock.acquire)
    hear("go")
    """
    for call in ("lock.acquire()", "lock.release()"):
        child = _start(
            start_child, proxy, LOCK, program.replace("CALL", call).replace("LEASE", "1")
        )
        assert _refused(interrupted(child))
        assert child.expect("returned") == ["True"]
        assert child.expect("lost") == []
        child.kill()
        server.inspect.delete(NAME)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a reader"])
def test_a_waiter_takes_its_turn_while_its_handler_waits_for_another_lock(
    start_child: StartChild, proxy: FaultProxy, server: Server, beside: bool
) -> None:
    """handler-during-acquire.

    Else the lock stays free, or held without a record, until the handler has ended.
    """
    program = """
    def handler():
        say("waits")
        return client.lock("other").acquire()

    def report():
        until(lambda: client.stats().acquired == 2)
        say("granted")

    if BESIDE:
        threading.Thread(target=client.lock("third").acquire, daemon=True).start()
        until(lambda: client.stats().waiting == 1)
    threading.Thread(target=report, daemon=True).start()
    say("ready")
    step(lock.acquire)
    """
    with holdfast.Client(server.url) as outside:
        first, second, third = (outside.lock(name) for name in (NAME, "other", "third"))
        second.acquire()
        third.acquire()
        child = _start(start_child, proxy, LOCK, program.replace("BESIDE", str(beside)))
        first.acquire()
        child.send("go")
        eventually(lambda: len(server.subscribed_channels()) == 1 + beside)
        child.signal(signal.SIGUSR1)
        child.expect("in")
        child.expect("waits")
        eventually(lambda: len(server.subscribed_channels()) == 2 + beside)
        first.release()
        child.expect("granted")
        second.release()
        assert child.expect("result") == ["True"]
        assert child.expect("returned") == ["True"]
        third.release()
        child.kill()


@pytest.mark.parametrize("inner", ["lock", "other", "both"], ids=["the lock", "other", "both"])
def test_a_lock_of_locks_and_its_members(
    start_child: StartChild, proxy: FaultProxy, interrupted: Interrupted, inner: str
) -> None:
    """handler-during-acquire: a lock made of locks acquires its members.

    Another lock may be used meanwhile.
    """
    program = """
    lock, other, third = client.lock(NAME), client.lock("other"), client.lock("third")
    both = client.multi_lock(lock, other)
    outer = lock if INNER is both else both

    def handler():
        third.acquire()
        third.release()
        try:
            INNER.release()
        except RuntimeError as error:
            say("refused", error)
        return INNER.acquire(blocking=False)

    with both:
        pass
    say("ready")
    step(outer.acquire)
    say("counts", *(each._core.known_count(0) for each in (lock, other)))
    outer.release()
    say("counts", *(each._core.known_count(0) for each in (lock, other)))
    """
    child = _start(start_child, proxy, LOCK, program.replace("INNER", inner))
    name = "other" if inner == "other" else NAME
    assert interrupted(child) == REFUSED.format(name).replace("raised RuntimeError", "refused")
    assert _refused(child.next_line(), name)
    assert child.expect("returned") == ["True"]
    assert child.expect("counts") == (["1", "0"] if inner == "both" else ["1", "1"])
    assert child.expect("counts") == ["0", "0"]


@all_kinds
def test_other_owners_and_other_locks_may_be_used(
    start_child: StartChild, proxy: FaultProxy, interrupted: Interrupted, kind: Kind
) -> None:
    """handler-during-acquire: the rule is for one owner and one name."""
    program = """
    other = kind.make(client, NAME + "-other")

    def handler():
        with other, other:
            pass
        try:
            lock.hold(wait=0).release()
            return "held"
        except holdfast.LockTimeout:
            return "busy"

    with other:
        pass
    say("ready")
    step(lock.acquire)
    lock.release()
    say("counts", lock._core.known_count(0))
    """
    child = _start(start_child, proxy, kind, program)
    assert interrupted(child) in {"result held", "result busy"}
    assert child.expect("returned") == ["True"]
    assert child.expect("counts") == ["0"]


@pytest.mark.parametrize(
    "calls",
    [
        (1, "lock.acquire()", 1),
        (1, "lock.acquire() and lock.release()", 0),
        (1, "lock.release()", 0),
        (2, "lock.acquire()", 2),
        (2, "lock.acquire() and lock.release()", 1),
        (2, "lock.release()", 0),
    ],
)
@all_kinds
def test_inside_a_release_each_call_counts(
    start_child: StartChild,
    proxy: FaultProxy,
    interrupted: Interrupted,
    kind: Kind,
    calls: tuple[int, str, int],
) -> None:
    """handler-during-release: the release has been counted when its command is sent."""
    program = """
    def handler():
        return HANDLER

    for _ in range(HELD):
        lock.acquire()
    say("ready")
    step(lock.release)
    say("counts", lock._core.known_count(0), lock.hold_count(), lock.lost)
    """
    held, handler, after = calls
    program = program.replace("HANDLER", handler).replace("HELD", str(held))
    child = _start(start_child, proxy, kind, program)
    said = interrupted(child)
    if calls == (1, "lock.release()", 0) and said.startswith("raised"):
        assert "is not held by the caller" in said  # the first one had ended before
    else:
        assert said == f"result {True if handler == 'lock.acquire()' else None}"
    assert child.expect("returned") == ["None"]
    assert child.expect("counts") == [str(after), str(after), "False"]


def test_a_refused_release_does_not_free_what_its_handler_has_acquired(
    start_child: StartChild, proxy: FaultProxy, interrupted: Interrupted, server: Server
) -> None:
    """handler-during-release: it is sent again when the server did not know the script."""
    program = """
    def handler():
        return lock.acquire()

    lock.acquire()
    say("ready")
    step(lock.release)
    say("counts", lock._core.known_count(0))
    hear("end")
    """
    child = _start(start_child, proxy, LOCK, program)
    server.inspect.script_flush()
    assert interrupted(child) == "result True"
    assert child.expect("returned") == ["None"]
    assert child.expect("counts") == ["1"]
    assert list(holds(server).values()) == [1]


def test_a_lock_may_be_used_while_the_thread_of_events_starts(
    start_child: StartChild, server: Server
) -> None:
    """handler-during-acquire.

    A signal handler may come inside the first acquisition of a process, too.
    """
    program = """
    from holdfast._engine import events as _events
    client = holdfast.Client(URL)
    with _events._starting:  # as inside start()
        client.lock(NAME).acquire()
    say("running", _events.running())
    client.close()
    """
    child = start_child(program, URL=server.url, NAME=NAME)
    assert child.expect("running") == ["True"]
    assert child.wait() == 0
