"""What another program wrote into a key: each call answers, or its error names the key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import holdfast
from holdfast._locks.holders import Holder, client_key
from holdfast._locks.kinds import key_beside
from holdfast._locks.permit_semaphore import Granting
from holdfast._locks.steps import run, without_limit
from tests.support.owners import MakeClient
from tests.support.servers import Server

NAME = "user:42"
#: A value of a field, or of a key, or an element of a list.
GARBAGE = (
    *(b"", b"Ada", b"\xff\xfe", b"-7", b"1.5", b"inf", b"0x10", b"99999999999999999999"),
    *(
        b"9" * 5000,
        b"999",
        b"p999",
        b"jNaN",
        b"j\xff",
        b'J{"$decimal":[]}',
        b"cx",
        b"t\xff",
        b"s\xff",
    ),
)
SCORES = ("inf", "-inf", "1.5", "-7", "1e300")
NAMED = (
    rf"{NAME}.* cannot be read: .*, so another program wrote this key|"
    rf"{NAME}.*: (WRONGTYPE .*|ERR value is not an integer or out of range)"
)
#: What is wrong with arguments, as others give them.
DIFFERENT = rf"{NAME}.* all .*must give the same|{NAME}.* is a permit semaphore, or slots"
#: Answers of calls that have read what they could read.
ANSWERS = (
    holdfast.BrokenBarrierError,
    holdfast.LockTimeout,
    holdfast.NotOwnedError,
    holdfast.ResultNotKeptError,
)

Calls = dict[str, Callable[[], Any]]


def leader(theirs: Any, ours: Any, _: Any) -> Calls:
    leads, looks = theirs.leader(NAME, value="10.0.0.1"), ours.leader(NAME)
    leads.campaign(0)
    return {
        "current": looks.current,
        "watch": lambda: next(looks.watch(0)),
        "change": lambda: run(looks._next(1, without_limit(ours._core))),
        "campaign": lambda: looks.campaign(0),
        "set_value": lambda: leads.set_value("10.0.0.2"),
        "resign": leads.resign,
        "campaign again": lambda: looks.campaign(0),
    }


def slots(theirs: Any, ours: Any, _: Any, of: Any = 3) -> Calls:
    slot, looks = theirs.slots(NAME, of).acquire(timeout=0), ours.slots(NAME, of)
    return {
        "taken": looks.taken,
        "acquire": lambda: looks.acquire(timeout=0, lease=60),
        "acquire another": lambda: ours.slots(NAME, of).acquire(timeout=0, lease=60),
        "resize": lambda: looks.resize(of),
        "extend": lambda: slot.extend(60),
        "release": slot.release,
    }


def slots_with_values(theirs: Any, ours: Any, _: Any) -> Calls:
    return slots(theirs, ours, _, ["a", "b", "c"])


def once(theirs: Any, ours: Any, _: Any) -> Calls:
    def read(data: str) -> Any:
        return {"seven": 7}[json.loads(data)]

    codec = SimpleNamespace(dumps=json.dumps, loads=read)
    theirs.once(NAME, wait=0).run(lambda: 7)
    looks, decodes = ours.once(NAME, wait=0), ours.once(NAME, wait=0, codec=codec)
    return {
        "status": looks.status,
        "run": lambda: looks.run(lambda: 8),
        "run with a codec": lambda: decodes.run(lambda: "seven"),
        "forget": looks.forget,
    }


def barrier(theirs: Any, ours: Any, _: Any) -> Calls:
    waits, looks = theirs.barrier(NAME, 2), ours.barrier(NAME, 2)
    time = without_limit(theirs._core)
    grant = Granting(waits._semaphore, 1, waits._semaphore._lease, time)
    assert grant.acquire.wait()
    grant.keeping.keep()

    def arrive() -> Any:
        # As a party that waits looks again.
        return run(waits._pass(grant, 0, time))

    waits._arrive(grant, True, time).wait()
    return {
        "n_waiting": lambda: looks.n_waiting,
        "broken": lambda: looks.broken,
        "wait of three": lambda: ours.barrier(NAME, 3).wait(0),
        "wait": lambda: looks.wait(0),
        "wait on": arrive,
        "abort": looks.abort,
        "reset": looks.reset,
        "leave": lambda: waits._semaphore.release(grant.permits[0]),
    }


def lock(theirs: Any, ours: Any, _: Any) -> Calls:
    theirs.lock(NAME, label="import").hold()
    looks = ours.lock(NAME, wait=0.001)
    return {"holders": looks.holders, "hold": looks.hold}


def read_write_lock(theirs: Any, ours: Any, _: Any) -> Calls:
    theirs.read_write_lock(NAME).read.hold()
    looks = ours.read_write_lock(NAME)
    return {"holders": looks.read.holders, "of the writer": looks.write.holders}


def fair_lock(theirs: Any, ours: Any, inspect: Any) -> Calls:
    ours.fair_lock(NAME).hold()
    waiter, looks = f"{theirs.id}:7", theirs.fair_lock(NAME)
    inspect.rpush(key_beside("fair_queue", NAME.encode()), waiter)
    inspect.zadd(key_beside("fair_timeouts", NAME.encode()), {waiter: 2**42})
    return {"queue": looks.queue, "position": looks.position, "holders": looks.holders}


def places(server: Server) -> dict[str, tuple[bytes, bytes]]:
    """Each key, and field or element of it, by a word that says the same of other owners."""
    inspect, found = server.inspect, {}
    for key in sorted(server.keys()):
        fields = {
            b"string": lambda key: [b""],
            b"hash": lambda key: [*inspect.hkeys(key), b"Ada\xff"],
            b"zset": lambda key: [*inspect.zrange(key, 0, -1), b"Ada\xff"],
            b"list": lambda key: inspect.lrange(key, 0, -1),
        }[inspect.type(key)](key)
        for field in fields:
            what = re.sub(rb"[0-9a-f]{8}-[-0-9a-f]{27}|\d{6,}", b"owner", key + b" " + field)
            found[repr(what if field[-16:].isascii() else key + b" permit")] = key, field
    return found


def garbage(inspect: Any, key: bytes, field: bytes) -> Iterator[Callable[[], Any]]:
    """What writes it."""
    write = {
        b"string": lambda value: inspect.set(key, value, keepttl=True),
        b"hash": lambda value: inspect.hset(key, field, value),
        b"zset": lambda value: inspect.zadd(key, {field: value}),
        b"list": lambda value: inspect.lset(key, 0, value),
    }
    kind = inspect.type(key)
    for value in SCORES if kind == b"zset" else GARBAGE:
        yield lambda value=value: write[kind](value) if inspect.exists(key) else None


def is_sound(answer: Any) -> bool:
    """Whether an answer is what it claims to be."""
    if isinstance(answer, dict):
        return all(0 <= place < 3 and is_sound(one) for place, one in answer.items())
    if isinstance(answer, list):
        return all(map(is_sound, answer))
    if isinstance(answer, Holder):
        return answer.ttl >= 0 and str(answer) != "" and not math.isnan(answer.ttl)
    return True


def fault_of(call: Callable[[], Any]) -> str:
    """What is wrong with the end of a call; empty: nothing."""
    try:
        answer = call()
    except ANSWERS:
        return ""
    except (holdfast.LockError, holdfast.ServerError, ValueError) as error:
        allowed = DIFFERENT if isinstance(error, ValueError) else NAMED
        lacks_codec = "give the same codec" in str(error)
        return "" if lacks_codec or re.search(allowed, str(error)) else repr(error)
    except Exception as error:  # noqa: BLE001 - the test shows it
        return repr(error)
    return "" if is_sound(answer) else repr(answer)


@pytest.mark.servers("redis")
@pytest.mark.flavours("sync")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    "scene",
    [leader, slots, slots_with_values, once, barrier, lock, read_write_lock, fair_lock],
    ids=lambda scene: scene.__name__,
)
def test_each_call_answers_or_names_the_key(
    server: Server, make_client: MakeClient, scene: Callable[[Any, Any, Any], Calls]
) -> None:
    """lasting-refusal."""
    theirs, ours = make_client(tracking="off"), make_client(tracking="off")
    about = {"label": "their program", "host": "theirs", "pid": "7", "started": "1"}

    def staged() -> Calls:
        server.flush()
        server.inspect.hset(client_key(theirs.id), mapping=about)
        return scene(theirs, ours, server.inspect)

    staged()
    faults = []
    for word, (key, field) in places(server).items():
        for number, _ in enumerate(garbage(server.inspect, key, field)):
            calls = staged()
            write = list(garbage(server.inspect, *places(server)[word]))[number]
            for name, call in calls.items():
                write()
                if fault := fault_of(call):
                    faults.append(f"{name}, {word} {number}: {fault}")
    assert faults == []
    for client in (theirs, ours):
        figures = client.stats()
        assert (figures.protocol_errors, figures.reconnects) == (0, 0)
