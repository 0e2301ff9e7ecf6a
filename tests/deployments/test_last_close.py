"""The library's threads and descriptors end with the last client; a new one starts them again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.processes import StartChild
from tests.support.servers import Server

pytestmark = [pytest.mark.servers("real")]

COUNTING = """
import contextlib

def threads():
    with open("/proc/self/stat") as stat:  # as os.fork() counts them before it warns
        return int(stat.read().rpartition(")")[2].split()[17])

def sockets_and_such():
    kinds = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # of the listing itself
            kinds.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(kind for kind in kinds if kind.startswith(("socket", "anon_inode")))

def await_the_end():
    give_up = time.monotonic() + 10
    while (threads(), sockets_and_such()) != (1, []) and time.monotonic() < give_up:
        time.sleep(0.001)

def contend(client):
    held = client.lock("myLock", on_lost=print)
    held.acquire()
    waiter = threading.Thread(target=lambda: held.acquire() and held.release())
    waiter.start()
    time.sleep(0.02)  # it may wait by now, and then there is a subscription
    held.release()
    waiter.join()
"""

BLOCKING = """
assert (threads(), sockets_and_such()) == (1, [])
for turn in range(3):
    first, second = holdfast.Client(URL), holdfast.Client(URL)
    contend(first)
    second.lock("other").acquire()
    first.close()
    assert threads() > 1 and second.lock("other").owned()
    second.close(release_held=True)
    say(threads(), sockets_and_such())
"""

ASYNCIO = """
async def use():
    async with holdfast.asyncio.Client(URL) as client:
        lock = client.lock("myLock")
        async with lock:
            waiting = asyncio.create_task(lock.acquire())
            await asyncio.sleep(0.02)
            waiting.cancel()
    await asyncio.sleep(0)  # out of the loop's callback, in which close() may have ended

async def main():
    of_the_loop = sockets_and_such()
    for turn in range(3):
        await use()
        left = sockets_and_such()
        for each in of_the_loop:
            left.remove(each)
        say(threads(), left)

asyncio.run(main())
"""

FORGOTTEN = """
client = holdfast.Client(URL)
with client.lock("myLock"):
    pass
del client
await_the_end()
for turn in range(3):
    say(threads(), sockets_and_such())
"""

FROM_ON_LOST = """
def lost(lock):
    client.close()
    say(threads() <= 2)

for turn in range(3):
    client = holdfast.Client(URL)
    lock = client.lock("myLock", lease=0.4, on_lost=lost)
    lock.acquire()
    hear("next")
    await_the_end()
    say(threads(), sockets_and_such())
"""


@pytest.mark.parametrize("deployment", ["server", "service", "cluster"])
@pytest.mark.parametrize("program", [BLOCKING, ASYNCIO], ids=["blocking", "asyncio"])
def test_no_thread_and_no_descriptor_outlives_the_last_client(
    program: str, deployment: str, request: pytest.FixtureRequest, start_child: StartChild
) -> None:
    target: Any = request.getfixturevalue(deployment)
    child = start_child(COUNTING + program, URL=target.url)
    for _ in range(3):
        assert child.next_line(30) == "1 []"
    assert child.wait() == 0


def test_the_threads_of_a_forgotten_client_end_by_themselves(
    server: Server, start_child: StartChild
) -> None:
    child = start_child(COUNTING + FORGOTTEN, URL=server.url)
    for _ in range(3):
        assert child.next_line(30) == "1 []"


def test_the_last_client_may_be_closed_in_on_lost(server: Server, start_child: StartChild) -> None:
    child = start_child(COUNTING + FROM_ON_LOST, URL=server.url)
    for _ in range(3):
        child.expect("True")
        child.send("next")
        assert child.next_line(30) == "1 []"
