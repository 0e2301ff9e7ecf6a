"""Programs under gevent: a greenlet waits cooperatively and is the owner."""

from __future__ import annotations

import pytest

from tests.support.processes import StartChild
from tests.support.servers import Server

pytest.importorskip("gevent")
pytestmark = pytest.mark.servers("real")

NAME = "myLock"

EXCLUSION = """
from gevent import monkey
monkey.patch_all(thread=THREAD)
import gevent
client = holdfast.Client(URL)
lock = client.lock(NAME)
inside, most, ticks = 0, 0, 0

def work():
    global inside, most
    for _ in range(5):
        with lock:
            inside += 1
            most = max(most, inside)
            gevent.sleep(0.002)
            inside -= 1

def tick():
    global ticks
    while True:
        ticks += 1
        gevent.sleep(0.001)

ticker = gevent.spawn(tick)
gevent.joinall([gevent.spawn(work) for _ in range(10)], raise_error=True)
say("most", most)
say("ticked", ticks > 10)
try:
    gevent.spawn(lock.acquire).get()
    lock.release()
except holdfast.NotOwnedError as error:
    say("not-owned", "greenlet that has ended" in str(error))
"""

OUT_OF_ORDER = """
from gevent import monkey
monkey.patch_all()
import gevent
client = holdfast.Client(URL)
inside, most = 0, 0

def work(number):
    global inside, most
    for _ in range(3):
        with client.lock(NAME).hold(wait=20):
            inside += 1
            most = max(most, inside)
            gevent.sleep(0.002 * (number % 3))
            inside -= 1

def look(number):
    for _ in range(20):
        client.lock(NAME).locked()
        client.lock(NAME).ttl()
        gevent.sleep(0.001 * (number % 3))

def give_up():
    with gevent.Timeout(0.05, False):
        client.lock("kept").hold()

latch = client.count_down_latch("latch")
latch.try_set_count(1)
with client.lock("kept").hold():
    pool = [gevent.spawn(work, number) for number in range(6)]
    pool += [gevent.spawn(look, number) for number in range(4)]
    pool += [gevent.spawn(give_up), gevent.spawn(latch.wait)]
    gevent.joinall(pool[:-1], timeout=60, raise_error=True)
latch.count_down()
gevent.joinall(pool, timeout=20, raise_error=True)
say("most", most)
say("ended", all(greenlet.successful() for greenlet in pool))
client.close()
"""

LOSS = """
from gevent import monkey
monkey.patch_all()
import gevent
from greenlet import getcurrent
client = holdfast.Client(URL)
seen = []

def work():
    hub = gevent.get_hub()
    lock = client.lock(NAME, on_lost=lambda lock: seen.append(
        (gevent.get_hub() is hub, lock.lost, getcurrent() is not hub)))
    lock.acquire()
    client.lock(NAME).force_release()
    with gevent.Timeout(10):
        while not seen:
            gevent.sleep(0.005)

gevent.spawn(work).get()
say("seen", *seen[0])
"""

LOSS_WITHOUT_THREADS = """
from gevent import monkey
monkey.patch_all(thread=False)
import gevent
client = holdfast.Client(URL)
told = []
lock = client.lock(NAME, on_lost=lambda lock: told.append(lock.lost))

def work():
    lock.acquire()
    say("tried", gevent.spawn(lock.acquire, blocking=False).get())
    client.lock(NAME).force_release()
    with gevent.Timeout(10):
        while not told:
            gevent.sleep(0.005)

gevent.spawn(work).get()
say("told", *told)
"""

KILLED = """
from gevent import monkey
monkey.patch_all()
import gevent
client = holdfast.Client(URL)
lock = client.lock(NAME)

def give_up():
    with gevent.Timeout(0.1, False):
        lock.acquire()
        return "held"
    return "gave-up"

with lock:
    say(gevent.spawn(give_up).get())
    waiting = gevent.spawn(lock.acquire)
    gevent.sleep(0.05)
    waiting.kill()
say("free", not lock.locked())
client.close()
"""


DEFERRED = """
from gevent import monkey
monkey.patch_all()
import gevent
# The release is to find the loss, not a message of the server.
client = holdfast.Client(URL, releases="deferred", tracking="off")
another = holdfast.Client(URL)
inside, most, seen = 0, 0, []

def work(lock):
    global inside, most
    for _ in range(20):
        with lock:
            inside += 1
            most = max(most, inside)
            gevent.sleep(0)
            inside -= 1

def lose():
    hub = gevent.get_hub()
    with client.lock("lost", on_lost=lambda lock: seen.append(gevent.get_hub() is hub)):
        another.lock("lost").force_release()
    with gevent.Timeout(10):
        while not seen:
            gevent.sleep(0.005)

pool = [gevent.spawn(work, each.lock(NAME)) for each in (client, client, client, another)]
gevent.joinall([*pool, gevent.spawn(lose)], timeout=60, raise_error=True)
client.close()
stats = client.stats()
say("counted", most, stats.released, stats.lost, *seen)
"""

# A greenlet in which an interrupt is raised ends by it; the others go on.
INTERRUPTED = """
from gevent import monkey
monkey.patch_all()
import gevent, os, random, signal
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
parent = os.getpid()
another = os.fork()
while another == 0 and os.getppid() == parent:
    monkey.get_original("time", "sleep")(random.uniform(0.001, 0.003))
    os.kill(parent, signal.SIGUSR1)
if another == 0:
    os._exit(0)

def interrupt(_, frame):
    global interrupts
    interrupts += 1
    if frame is not None and "holdfast" in frame.f_code.co_filename:
        raise KeyboardInterrupt

client = holdfast.Client(URL)
gevent.get_hub().exception_stream = None
interrupts, going, pool = 0, True, []

def look():
    lock = client.lock(NAME)
    while going:
        lock.locked()

def through(function):
    # gevent has an interrupt for the main greenlet when that waits next, or is confused by it.
    while True:
        try:
            return function()
        except (KeyboardInterrupt, gevent.exceptions.InvalidSwitchError):
            pass

def storm():
    global pool
    while interrupts < 300:
        pool = [each for each in pool if not each.dead]
        pool += [gevent.spawn(look) for _ in range(5 - len(pool))]
        gevent.sleep(0.01)

signal.signal(signal.SIGUSR1, interrupt)
through(storm)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
os.kill(another, signal.SIGKILL)
os.waitpid(another, 0)
going = False
through(lambda: gevent.joinall(pool, timeout=10))
say("waiting", sum(not each.dead for each in pool))
"""


@pytest.mark.parametrize("thread", [True, False], ids=["patched", "without threads"])
def test_greenlets_exclude_each_other(
    start_child: StartChild, server: Server, thread: bool
) -> None:
    child = start_child(EXCLUSION, URL=server.url, NAME=NAME, THREAD=thread)
    assert child.expect("most") == ["1"]
    assert child.expect("ticked") == ["True"]
    assert child.expect("not-owned") == ["True"]


def test_calls_of_greenlets_may_end_in_any_order(start_child: StartChild, server: Server) -> None:
    child = start_child(OUT_OF_ORDER, URL=server.url, NAME=NAME)
    assert child.expect("most", within=60) == ["1"]
    assert child.expect("ended") == ["True"]
    assert child.wait() == 0, child.errors


def test_on_lost_runs_on_the_acquirers_hub(start_child: StartChild, server: Server) -> None:
    child = start_child(LOSS, URL=server.url, NAME=NAME)
    assert child.expect("seen") == ["True", "True", "True"]
    assert child.wait() == 0


def test_a_loss_is_reported_after_another_greenlet_has_tried(
    start_child: StartChild, server: Server
) -> None:
    """Each greenlet has its own watcher, also where the threads are not patched."""
    child = start_child(LOSS_WITHOUT_THREADS, URL=server.url, NAME=NAME)
    assert child.expect("tried") == ["False"]
    assert child.expect("told") == ["True"]
    assert child.wait() == 0


def test_a_greenlet_that_gives_up_leaves_nothing(start_child: StartChild, server: Server) -> None:
    child = start_child(KILLED, URL=server.url, NAME=NAME)
    child.expect("gave-up")
    assert child.expect("free") == ["True"]
    assert child.wait() == 0


def test_an_interrupt_loses_no_answer_of_another_greenlet(
    start_child: StartChild, server: Server
) -> None:
    """Also where it comes while the hub takes the answers."""
    child = start_child(INTERRUPTED, URL=server.url, NAME=NAME)
    assert child.expect("waiting", within=60) == ["0"]


def test_greenlets_leave_their_releases(start_child: StartChild, server: Server) -> None:
    child = start_child(DEFERRED, URL=server.url, NAME=NAME)
    assert child.expect("counted", within=60) == ["1", "60", "1", "True"]
    assert child.wait() == 0, child.errors


def test_eventlet_is_refused(start_child: StartChild, server: Server) -> None:
    child = start_child(
        """
        import types
        patcher = types.ModuleType("eventlet.patcher")
        patcher.already_patched = {"socket": True}
        sys.modules["eventlet.patcher"] = patcher
        try:
            holdfast.Client(URL)
        except RuntimeError as error:
            say("refused", "eventlet" in str(error))
        """,
        URL=server.url,
    )
    assert child.expect("refused") == ["True"]


def test_a_subinterpreter_is_refused(start_child: StartChild) -> None:
    child = start_child(
        """
        is_new = sys.version_info >= (3, 13)
        interpreters = __import__("_interpreters" if is_new else "_xxsubinterpreters")
        name = interpreters.create()
        text = (
            "try:\\n import holdfast\\nexcept ImportError as error:\\n"
            " import os; os.write(1, b'refused\\\\n')"
        )
        interpreters.run_string(name, text)
        """
    )
    child.expect("refused")
    assert child.wait() == 0
