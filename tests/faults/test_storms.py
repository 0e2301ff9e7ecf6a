"""Ctrl-C and cancellations at any moment of a call of what is built on locks: nothing is left.

`HOLDFAST_INTERRUPTS` is the number of interrupts of each kind, of which two fifths are made as
cancellations: 300 in the usual run, 20,000 by `nox -s interrupts`.
"""

from __future__ import annotations

import pytest

from holdfast._locks.kinds import BUILT
from tests.contract.calls import NAME
from tests.faults.test_interrupted_blocks import INTERRUPTS, ROUND, STORM
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually

MADE = """
from tests.contract.calls import CALLINGS
row = next(each for each in CALLINGS if each.kind == KIND)
"""

INTERRUPTED = (
    STORM
    + MADE
    + """
thing = row.make(holdfast.Client(URL, lease=600.0), None)

def work():
    if KIND == "once":
        thing.run(lambda: 7)
        thing.forget()
    elif KIND == "barrier":
        try:
            thing.wait()
        except holdfast.BrokenBarrierError:  # by an earlier party
            thing.reset()
    else:
        with thing:
            pass

work()
storm_calls(work, lambda: False)
say("there")
hear("end")
"""
)

CANCELLED = (
    MADE
    + """
import asyncio
import random
import holdfast.asyncio

async def work(thing):
    if KIND == "once":
        await thing.run(lambda: 7)
        await thing.forget()
    elif KIND == "barrier":
        try:
            await thing.wait()
        except holdfast.BrokenBarrierError:  # by an earlier party
            await thing.reset()
    else:
        async with thing:
            pass

async def storm():
    random.seed(SEED)
    client = holdfast.asyncio.Client(URL, lease=600.0)
    thing = row.make(client, None)
    cancelled = 0
    while cancelled < CANCELLATIONS:
        task = asyncio.ensure_future(work(thing))
        await asyncio.sleep(random.uniform(0, ROUND))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            cancelled += 1
    say("there")
    await asyncio.to_thread(hear, "end")
    await client.close()

asyncio.run(storm())
"""
)

#: Scopes that are cancelled from outside or by a deadline, shielded or not.
CANCELLED_IN_TRIO = (
    MADE
    + """
import random
import trio
import holdfast.trio
from holdfast._engine.trio_run import bridge

"""
    + CANCELLED[CANCELLED.index("async def work") : CANCELLED.index("async def storm")]
    + """
async def stop(scope, seconds):
    await trio.sleep(seconds)
    scope.cancel()

async def storm():
    random.seed(SEED)
    client = holdfast.trio.Client(URL, lease=600.0)
    thing = row.make(client, None)
    cancelled = number = 0
    async with trio.open_nursery() as nursery:
        while cancelled < CANCELLATIONS:
            number += 1
            seconds = random.uniform(0, ROUND)
            with trio.CancelScope(shield=number % 2 == 0) as scope:
                if number % 3:
                    scope.deadline = trio.current_time() + seconds
                else:
                    nursery.start_soon(stop, scope, seconds)
                await work(thing)
            cancelled += scope.cancelled_caught
        nursery.cancel_scope.cancel()
    assert not bridge()._waiting
    say("there")
    await trio.to_thread.run_sync(hear, "end")
    await client.close()

trio.run(storm)
"""
)


def held(server: Server) -> list[str]:
    """The locks and permits of the name that somebody has."""
    locks = [key for key in (NAME, f"{NAME}:holdfast_once") if server.inspect.type(key) == b"hash"]
    return locks + [each.hex() for each in server.inspect.zrange(f"{{{NAME}}}:timeout", 0, -1)]


@pytest.mark.servers("real")
@pytest.mark.flavours("sync")
@pytest.mark.parametrize("kind", [kind.word for kind in BUILT])
@pytest.mark.parametrize("storm", [INTERRUPTED, CANCELLED], ids=["interrupted", "cancelled"])
def test_a_call_that_is_left_at_any_moment_leaves_nothing(
    server: Server, start_child: StartChild, kind: str, storm: str
) -> None:
    """interrupted-acquire, interrupted-release."""
    many = {"INTERRUPTS": INTERRUPTS, "CANCELLATIONS": INTERRUPTS * 2 // 5}
    child = start_child(storm, URL=server.url, KIND=kind, ROUND=ROUND, SEED=1, **many)
    child.expect("there", within=7200)
    eventually(lambda: held(server) == [])


@pytest.mark.servers("real")
@pytest.mark.flavours("sync")
@pytest.mark.parametrize(
    "kind", ["lock", "fair_lock", "red_lock", "permit_semaphore", *(kind.word for kind in BUILT)]
)
def test_a_call_of_trio_that_is_cancelled_at_any_moment_leaves_nothing(
    server: Server, start_child: StartChild, kind: str
) -> None:
    """interrupted-acquire, interrupted-release."""
    many = {"CANCELLATIONS": INTERRUPTS * 2 // 5}
    child = start_child(CANCELLED_IN_TRIO, URL=server.url, KIND=kind, ROUND=ROUND, SEED=1, **many)
    child.expect("there", within=7200)
    eventually(lambda: held(server) == [])
