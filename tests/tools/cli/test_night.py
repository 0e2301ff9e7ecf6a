"""An operator's night: 300 locks of all kinds, dead owners and queues, and what the tools say."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from time import time
from typing import Any

import pytest

import holdfast
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.cli.conftest import Run

#: It says of which library each connection is.
pytestmark = [pytest.mark.slow, pytest.mark.servers("valkey")]

MANY = 300
DEAD = 40
#: Besides: one of Java, and six of the other kinds.
ALIVE = MANY - DEAD - 7
HOSTILE: tuple[str | bytes, ...] = (
    "order:17", "tab\there", "bell\x07\x1b[31m", b"\xff\xfe", "{tag}:x", "x{y}z", "}{", "*?[a]",
    "\u05e9\u05dc\u05d5\u05dd \u202eabc", "n" * 700, "<b>bold</b>", "two\nlines", "\U0001f512",
)  # fmt: skip
JAVA = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2"
PROGRAM = """
client = holdfast.Client(url, label="dead worker")
held = []
for number in range(int(count)):
    make = (client.lock, client.fair_lock, client.fenced_lock)[number % 3]
    held.append(make(f"dead:{number}", label=f"job {number}", lease=600))
    held[-1].acquire()
say(client.id)
hear()
"""


def name_of(number: int) -> bytes:
    """The name of a lock: a hostile text behind its number."""
    text = HOSTILE[number % len(HOSTILE)]
    return f"night:{number}:".encode() + (text if isinstance(text, bytes) else text.encode())


def hold(client: holdfast.Client, number: int) -> Any:
    """Take a lock of the next kind."""
    name = name_of(number)
    lease: dict[str, Any] = {"lease": 600.0}
    label = f"order {number}" if number % 2 else None
    both = client.read_write_lock(name, label=label, **lease)
    things: tuple[Any, ...] = (
        client.lock(name, label=label, **lease),
        client.fair_lock(name, label=label, **lease),
        client.fenced_lock(name, label=label, **lease),
        client.spin_lock(name, label=label, **lease),
        both.read,
        both.write,
        client.leader(name, value="10.0.0.7", label=label, **lease),
    )
    thing = things[number % len(things)]
    assert thing.campaign() if number % len(things) == 6 else thing.acquire()
    return thing


@contextmanager
def waiting(what: Any, *, threads: int = 1) -> Iterator[None]:
    """While some threads wait; their waits end with their client."""

    def wait() -> None:
        with suppress(holdfast.HoldfastError):
            what()

    started = [threading.Thread(target=wait, daemon=True) for _ in range(threads)]
    for thread in started:
        thread.start()
    yield
    for thread in started:
        thread.join(60)


@contextmanager
def night(server: Server, start_child: StartChild) -> Iterator[holdfast.Client]:
    """All of it, of a client that is alive."""
    child = start_child(PROGRAM, url=server.url, count=str(DEAD))
    dead = child.next_line()
    server.inspect.hset(f"java:{JAVA[:4]}", f"{JAVA}:1", 1)
    server.inspect.hset(f"holdfast:client:{JAVA}", mapping={"label": "ledger", "host": "java-1"})
    with (
        ExitStack() as stack,
        holdfast.Client(server.url, label="billing worker 3") as client,
        holdfast.Client(server.url, label="the next one") as second,
    ):
        held: list[Any] = [hold(client, number) for number in range(ALIVE)]
        client.semaphore("of all kinds: semaphore").try_set_permits(1)
        assert client.semaphore("of all kinds: semaphore").acquire()
        client.count_down_latch("of all kinds: latch").try_set_count(2)
        permits = client.permit_semaphore("of all kinds: permits", permits=3, lease=600)
        permits.acquire_many(2)
        slots = client.slots("of all kinds: slots", ["gpu0", "gpu1"], lease=600, label="train")
        held.append(slots.acquire())
        barrier = second.barrier("of all kinds: barrier", 3, label="epoch 4")
        once = second.once("of all kinds", label="invoice 7")
        over = threading.Event()
        stack.callback(over.set)
        queued = second.fair_lock("dead:1", label="waits for the dead", wait=300)
        latch = second.count_down_latch("of all kinds: latch")
        stack.enter_context(waiting(queued.acquire, threads=3))
        stack.enter_context(waiting(lambda: latch.wait(300)))
        stack.enter_context(waiting(lambda: barrier.wait(300)))
        stack.enter_context(waiting(lambda: once.run(over.wait, 300)))
        stack.callback(second.close)
        eventually(lambda: server.inspect.llen("redisson_lock_queue:{dead:1}") == 3)
        child.kill()
        eventually(lambda: dead[:8].encode() not in server.inspect.execute_command("CLIENT LIST"))
        yield client
        over.set()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the night ends with all of it held
def test_one_command_answers_for_each_lock_of_a_night(
    server: Server, start_child: StartChild, run: Run
) -> None:
    """Who holds each lock, where, since when, and whether it is alive."""
    began, here = time(), socket.gethostname()
    with night(server, start_child) as client:

        def listed() -> dict[str, Any]:
            return {one["name"]: one for one in json.loads(run("ls", "--json").stdout)}

        def unnoted() -> list[str]:
            """Those whose time is still to come: of holds without a purpose, for two seconds."""
            owners = [(name, owner) for name, one in listed().items() for owner in one["owners"]]
            known = [one for one in owners if one[1]["label"] not in {None, "ledger"}]
            return [name for name, owner in known if owner["since"] is None]

        eventually(lambda: unnoted() == [])
        found = listed()
        assert len(found) == MANY
        for number in range(ALIVE):
            name = holdfast.inspect.shown(name_of(number))
            [owner] = found[name]["owners"]
            assert (owner["label"], owner["host"]) == ("billing worker 3", here), name
            assert (owner["pid"], owner["connection"]) == (os.getpid(), "connected"), name
            assert began - 1 < owner["since"] < time() + 1, name
            assert owner["purpose"] == (f"order {number}" if number % 2 else None), name
        for number in range(DEAD):
            [owner] = found[f"dead:{number}"]["owners"]
            assert (owner["label"], owner["purpose"]) == ("dead worker", f"job {number}")
            assert (owner["host"], owner["connection"]) == (here, "not connected")
            assert began - 1 < owner["since"] < time() + 1
        assert found["dead:1"]["waiters"] == 3
        [java] = found["java:5921"]["owners"]
        assert (java["label"], java["host"], java["since"]) == ("ledger", "java-1", None)
        built = {name: one for name, one in found.items() if name.startswith("of all kinds")}
        assert {one.get("use", one["kind"]) for one in built.values()} == {
            "semaphore", "permit_semaphore", "slots", "barrier", "once", "count_down_latch",
        }  # fmt: skip
        for one in built.values():
            assert {owner["pid"] for owner in one["owners"]} <= {os.getpid()}, one["name"]
        lines = run("ls").stdout.splitlines()
        assert len(lines) == MANY, "a name never takes a second line"
        assert {len(line.split("\t")) for line in lines} == {7}
        for number in range(len(HOSTILE)):
            name = holdfast.inspect.shown(name_of(number))
            done = run("show", "--", name)
            assert done.returncode == 0, name
            shown = [line.split("\t", 1) for line in done.stdout.splitlines()]
            assert {"name", "owner", "label", "since", "client"} <= {word for word, _ in shown}
        assert client.stats().held >= ALIVE
