"""Ctrl-C at any moment: a `with` block that it ends holds nothing afterwards.

An alarm rings at a random moment of each round, in the program's main thread, and raises
KeyboardInterrupt as Ctrl-C does. `HOLDFAST_INTERRUPTS` is the number of interrupts of each kind:
300 in the usual run, 20,000 by `nox -s interrupts`.
"""

from __future__ import annotations

import os

import pytest

import holdfast
from tests.contract.kinds import KINDS, Kind
from tests.faults.conftest import NAME, left
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually

INTERRUPTS = int(os.environ.get("HOLDFAST_INTERRUPTS", "300"))
ROUND = 0.0015
"""Seconds within which the alarm of a round rings: somewhat longer than a round."""

STORM = """
import random
sys.setswitchinterval(0.0001)

def ring(number, frame):
    raise KeyboardInterrupt

def storm(block, held):
    '''Storm calls of `with block(): pass`.'''
    def work():
        with block():
            pass

    return storm_calls(work, held)

def storm_calls(work, held):
    '''Call `work` until INTERRUPTS calls were interrupted; return those that leave a hold.'''
    signal.signal(signal.SIGALRM, ring)
    random.seed(SEED)
    interrupted, leaks = 0, []
    while interrupted < INTERRUPTS:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00002, ROUND))
            try:
                while signal.getitimer(signal.ITIMER_REAL)[0]:  # 0: a finalizer got it
                    work()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
        if held():
            leaks.append(interrupted)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return leaks
"""

LOCKS = (
    STORM
    + """
from tests.contract.kinds import KINDS
kind = next(each for each in KINDS if each.name == KIND)
client = holdfast.Client(URL)
losses = []
lock = kind.make(client, NAME, on_lost=losses.append if WATCHED else None)
with lock:
    pass
say("leaks", len(storm(lambda: lock, lambda: lock._core.known_count(0))))
hear("go")
with lock:  # for all that was interrupted the lock can be acquired at once
    pass
say("done")
"""
)

DECORATED = (
    STORM
    + """
client = holdfast.Client(URL)
lock = client.lock(NAME)

@client.locked(NAME)
def work():
    pass

work()
say("leaks", len(storm_calls(work, lambda: lock._core.known_count(0))))
hear("go")
work()  # for all that was interrupted the lock can be acquired at once
say("done")
"""
)

LISTENERS = (
    STORM
    + """
client = holdfast.Client(URL)

def make():
    return client.lock(NAME, on_lost=print)

lock = make()
with lock:
    pass
storm(make if SEPARATE else lambda: lock, lambda: False)
with lock:
    pass
say("listeners", len(client._listeners))
"""
)

SEMAPHORES = (
    STORM
    + """
client = holdfast.Client(URL)
semaphore = getattr(client, KIND)(NAME)
semaphore.try_set_permits(3)
say("leaks", len(storm(lambda: semaphore, lambda: False)))
hear("go")
say("free", semaphore.available_permits())
"""
)


@pytest.mark.servers("real")
@pytest.mark.parametrize(
    ("kind", "watched"),
    [*((kind, False) for kind in KINDS), (KINDS[0], True)],
    ids=[*(kind.name for kind in KINDS), "lock with on_lost"],
)
def test_an_interrupted_block_holds_no_lock(
    start_child: StartChild, server: Server, kind: Kind, watched: bool
) -> None:
    """interrupted-acquire, I7.

    Whenever the signal arrives, nothing is held, on the client and on the server.
    """
    child = start_child(
        LOCKS,
        URL=server.url,
        NAME=NAME,
        KIND=kind.name,
        WATCHED=watched,
        INTERRUPTS=INTERRUPTS,
        ROUND=ROUND,
        SEED=1,
    )
    assert child.expect("leaks", within=3600) == ["0"]
    eventually(lambda: left(kind, server) == set())
    child.send("go")
    child.expect("done")


@pytest.mark.servers("real")
def test_an_interrupted_call_of_a_decorated_function_holds_no_lock(
    start_child: StartChild, server: Server
) -> None:
    """interrupted-acquire, I7.

    Nor does `client.locked` leave anything held, whenever the signal arrives.
    """
    child = start_child(
        DECORATED, URL=server.url, NAME=NAME, INTERRUPTS=INTERRUPTS, ROUND=ROUND, SEED=1
    )
    assert child.expect("leaks", within=3600) == ["0"]
    eventually(lambda: not server.inspect.exists(NAME))
    child.send("go")
    child.expect("done")


@pytest.mark.servers("real")
@pytest.mark.parametrize("separate", [False, True], ids=["one lock", "a lock for each block"])
def test_an_interrupted_block_leaves_no_listener(
    start_child: StartChild, server: Server, separate: bool
) -> None:
    """interrupted-acquire: nothing that was prepared for ``on_lost`` stays with the client."""
    child = start_child(
        LISTENERS,
        URL=server.url,
        NAME=NAME,
        SEPARATE=separate,
        INTERRUPTS=INTERRUPTS,
        ROUND=ROUND,
        SEED=1,
    )
    assert child.expect("listeners", within=3600) == ["0"]


def test_an_interrupt_right_after_the_preparation_leaves_no_listener(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """interrupted-acquire: only Python 3.10 runs a signal handler there."""
    watch = holdfast.Lock._watch

    def interrupted(lock: holdfast.Lock) -> None:
        watch(lock)
        raise KeyboardInterrupt

    with holdfast.Client(server.url) as client:
        lock = client.lock(NAME, on_lost=print)
        monkeypatch.setattr(holdfast.Lock, "_watch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lock.acquire()
        assert client._listeners == {}


@pytest.mark.servers("real")
@pytest.mark.parametrize("kind", ["semaphore", "permit_semaphore"])
def test_an_interrupted_block_holds_no_permit(
    start_child: StartChild, server: Server, kind: str
) -> None:
    """interrupted-acquire, I7: all permits are back."""
    child = start_child(
        SEMAPHORES,
        URL=server.url,
        NAME=NAME,
        KIND=kind,
        INTERRUPTS=INTERRUPTS,
        ROUND=ROUND,
        SEED=1,
    )
    child.expect("leaks", within=3600)
    eventually(lambda: server.inspect.get(NAME) == b"3")
    child.send("go")
    assert child.expect("free") == ["3"]
