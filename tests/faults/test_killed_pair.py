"""Two processes are killed and stopped at random: flock(2) judges that one at a time owns it.

An owner takes a file lock of the kernel without waiting, and gives that back before its hold; it
ends with the process. So the file lock is free unless two processes own one thing at the same time.
Stops are shorter than the lease. `HOLDFAST_KILLED_SECONDS` is the time for each kind: 20, or 600.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from holdfast._locks.kinds import BUILT
from tests.support.processes import Child, StartChild
from tests.support.servers import Server

SECONDS = float(os.environ.get("HOLDFAST_KILLED_SECONDS", "20"))
NAME = "pair"
#: Of the lease, and the longest stop.
LEASE, STOP = 4.0, 0.8

OWNING = """
import fcntl
import random

def note(what):
    with open(NOTES, "ab", 0) as notes:
        notes.write(f"{what} {os.getpid()}\\n".encode())

def alone():
    with open(FILE, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note("TWO")
            return 0
        note("owns")
        let_pass(random.uniform(0, 0.02))
        fcntl.flock(file, fcntl.LOCK_UN)
    return 7

client = holdfast.Client(URL, lease=LEASE, guard=GUARD)
say("begins")
while KIND == "slots":
    with client.slots(NAME, 1):
        alone()
while KIND == "leader":
    with client.leader(NAME):
        alone()
turn = 0
while KIND == "once":  # both walk through the same keys: a key's other caller gets the result
    turn += 1
    if client.once(f"{NAME}:{turn}", keep=600).run(alone) != 7:
        note("RESULT")
while KIND == "barrier":  # of each round one party is the first: the other waits until it is ready
    try:
        if client.barrier(NAME, 2).wait(1.0) == 0:
            alone()
        client.barrier(NAME, 2).wait(1.0)
    except holdfast.BrokenBarrierError:
        client.barrier(NAME, 2).reset()
"""


@pytest.mark.slow
@pytest.mark.servers("real")
@pytest.mark.flavours("sync")
@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("guard", [False, True], ids=["unguarded", "guarded"])
@pytest.mark.parametrize("kind", [kind.word for kind in BUILT])
def test_one_at_a_time_owns_it_though_owners_die(
    server: Server, start_child: StartChild, tmp_path: Path, kind: str, guard: bool
) -> None:
    """killed-process, suspended-machine."""
    notes, chance = tmp_path / "notes", random.Random(SECONDS)
    notes.touch()
    how = {"URL": server.url, "NAME": NAME, "KIND": kind, "GUARD": guard, "LEASE": LEASE}
    files = {"NOTES": str(notes), "FILE": str(tmp_path / "file")}

    def begun() -> Child:
        child = start_child(OWNING, **how, **files)
        child.expect("begins")
        return child

    pair, killed = [begun(), begun()], 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        time.sleep(chance.uniform(0.05, 0.5))
        place = chance.randrange(2)
        if chance.random() < 0.4:
            pair[place].kill()
            pair[place], killed = begun(), killed + 1
        else:
            pair[place].signal(signal.SIGSTOP)
            time.sleep(chance.uniform(0, STOP))
            pair[place].signal(signal.SIGCONT)
    said = [line.split()[0] for line in notes.read_text().splitlines()]
    assert [word for word in said if word != "owns"] == []
    assert killed > 0
    assert len(said) > SECONDS
