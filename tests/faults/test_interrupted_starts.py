"""Signals while the first acquire starts a thread: none is taken for a system without threads."""

from __future__ import annotations

import pytest

from tests.faults.conftest import NAME
from tests.support.processes import StartChild
from tests.support.servers import Server

STARTS = """
class Stop(RuntimeError):
    pass

class At:
    '''Raises what a signal's handler does, where Python calls one: at a call in threading.py.'''
    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename == threading.__file__ and event in ("call", "c_return"):
            self.left -= 1
            if self.left == 0:
                raise INTERRUPT("pressed")

def interrupted(number):
    client = holdfast.Client(URL)
    lock = client.lock(NAME, on_lost=print) if WATCHED else client.lock(NAME)
    at = At(number)
    sys.setprofile(at)
    try:
        lock.acquire()
    except INTERRUPT as error:
        outcome = "pressed" if str(error) == "pressed" else repr(error)
    except BaseException as error:
        outcome = repr(error)
    else:
        outcome = "acquired"
    finally:
        sys.setprofile(None)
    if not lock.hold_count():
        lock.acquire(timeout=30)  # nothing of what was interrupted stands in the way
    lock.release()
    client.close()
    return outcome, at.left > 0

INTERRUPT = Stop if OWN else KeyboardInterrupt
if WATCHED:
    with holdfast.Client(URL).lock(NAME):  # the other threads run by now
        pass
outcomes, number, over = set(), 0, False
while not over:
    number += 1
    outcome, over = interrupted(number)
    outcomes.add(outcome)
    if not WATCHED:
        holdfast._engine.events.stop()
say("steps", number)
say("outcomes", *sorted(outcomes))
"""


@pytest.mark.parametrize("own", [False, True], ids=["Ctrl-C", "a handler that raises"])
@pytest.mark.parametrize("watched", [False, True], ids=["reports", "on_lost"])
def test_an_interrupted_start_of_a_thread_is_no_refused_one(
    start_child: StartChild, server: Server, own: bool, watched: bool
) -> None:
    """interrupted-acquire, process-limits.

    At each call of the start, the exception of the signal's handler comes out.
    """
    child = start_child(STARTS, URL=server.url, NAME=NAME, OWN=own, WATCHED=watched)
    assert int(child.expect("steps")[0]) > 10
    assert child.expect("outcomes") == ["acquired", "pressed"]
    assert child.wait() == 0, child.errors


EXPLAINED = (
    STARTS[: STARTS.index("def interrupted(")]
    + """
async def lose(client, other, at):
    lock = client.lock(NAME)
    await lock.acquire()
    await other.lock(NAME).force_release()
    sys.setprofile(at)  # from here on: who has released it is found out on a thread
    try:
        await lock.release()
    finally:
        sys.setprofile(None)

async def clients(at):
    async with holdfast.asyncio.Client(URL) as client, holdfast.asyncio.Client(URL) as other:
        await lose(client, other, at)

def interrupted(number):
    at = At(number)
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(clients(at))
    except INTERRUPT:
        outcome = "pressed"
    except holdfast.LockLostError:
        outcome = "lost" if at.left > 0 else f"lost at {number}"
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
    return outcome, at.left > 0

INTERRUPT = KeyboardInterrupt
outcomes, number, over = set(), 0, False
while not over:
    number += 1
    outcome, over = interrupted(number)
    outcomes.add(outcome)
say("steps", number)
say("outcomes", *sorted(outcomes))
"""
)


def test_an_interrupt_is_not_lost_where_a_thread_explains_a_loss(
    start_child: StartChild, server: Server
) -> None:
    """interrupted-acquire, process-limits.

    A loop without a handler for Ctrl-C has KeyboardInterrupt come out.
    """
    child = start_child(EXPLAINED, URL=server.url, NAME=NAME)
    assert int(child.expect("steps")[0]) > 10
    assert child.expect("outcomes") == ["lost", "pressed"]
