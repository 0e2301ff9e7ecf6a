"""Ctrl-C at any moment of a program that uses `Hold`s: nothing stays that is renewed."""

from __future__ import annotations

import pytest

from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

ROUNDS = 400

PROGRAM = """
import random, warnings
warnings.simplefilter("ignore", ResourceWarning)
signal.signal(signal.SIGALRM, signal.default_int_handler)
client = holdfast.Client(URL, lease=LEASE)
client.ping()
interrupted = 0

def use(name, delay):
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        with client.lock(name).hold() as hold:
            hold.left
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

def time_of_a_round():
    start = time.monotonic()
    use("first", 3600)
    return time.monotonic() - start

typical = min(time_of_a_round() for _ in range(20))
draw = random.Random(7)
for number in range(ROUNDS):
    try:
        use(f"lock {number}", max(1e-6, draw.uniform(0, 1.5 * typical)))
    except KeyboardInterrupt:
        interrupted += 1
say("interrupted", interrupted)
hear("go")
client.close()
"""


@pytest.mark.realtime
def test_ctrl_c_leaves_no_hold_that_is_renewed(start_child: StartChild, server: Server) -> None:
    """forgotten-hold: between the grant and the assignment, inside the block, in its release."""
    child = start_child(PROGRAM, URL=server.url, LEASE=1.0, ROUNDS=ROUNDS)
    [interrupted] = child.expect("interrupted", within=6 * BOUND)
    assert int(interrupted) > ROUNDS // 20
    eventually(lambda: server.keys() == set())
    child.send("go")
    assert child.wait() == 0


LEADING = PROGRAM.replace("client.lock(name).hold() as hold", "client.leader(name) as leader")


@pytest.mark.realtime
def test_ctrl_c_leaves_no_leader_that_is_renewed(start_child: StartChild, server: Server) -> None:
    """forgotten-hold: while it is elected and announced, inside the block, while it resigns."""
    child = start_child(
        LEADING.replace("hold.left", "leader.leading"), URL=server.url, LEASE=1.0, ROUNDS=ROUNDS
    )
    [interrupted] = child.expect("interrupted", within=6 * BOUND)
    assert int(interrupted) > ROUNDS // 20
    eventually(lambda: not server.inspect.keys("lock *") + server.inspect.keys("first"))
    child.send("go")
    assert child.wait() == 0
