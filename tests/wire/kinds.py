"""The recorded kinds, one row each: what they are with us, and the recorded operations as calls."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import holdfast
import holdfast.asyncio
from tests.support.waiting import BOUND
from tests.wire.recordings import TELL_TOKEN, Error, Step

UNKNOWN_PERMIT = "f" * 32

ANSWER_NOTHING = {"unlock", "release", "addPermits", "countDown"}
"""With us; Redisson's word for it is true."""

Method = str | Callable[..., Any]
"""A method's name, or a function of the object and the method's arguments."""


class Woken(Enum):
    """Who of several that wait goes on when one may."""

    ANY_ONE = "any one"
    THE_FIRST = "the first"
    ALL_THAT_MAY = "all that may"


def acquire_token(lock: Any, **named: Any) -> Generator[Any, Any, int | None]:
    """Acquire, and tell the token of the grant."""
    granted = yield lock.acquire(**named)
    return lock.token if granted else None


LOCK: dict[str, Method] = {
    "lock": "acquire",
    "lockInterruptibly": "acquire",
    "tryLock": "acquire",
    "unlock": "release",
    "forceUnlock": "force_release",
    "isLocked": "locked",
    "isHeld": "owned",
    "holdCount": "hold_count",
    "ttl": "ttl",
}
FENCED_LOCK: dict[str, Method] = LOCK | {
    "lockAndGetToken": acquire_token,
    # Without a wait Redisson's tryLockAndGetToken() waits like lock().
    "tryLockAndGetToken": acquire_token,
    "token": lambda lock: lock.token,
}
SEMAPHORE: dict[str, Method] = {
    "acquire": "acquire",
    "tryAcquire": "acquire",
    "release": "release",
    "trySetPermits": "try_set_permits",
    "addPermits": "add_permits",
    "drainPermits": "drain_permits",
    "availablePermits": "available_permits",
    "delete": "delete",
}
PERMIT_SEMAPHORE: dict[str, Method] = {
    "acquire": "acquire",
    "tryAcquire": "acquire",
    "release": "release",
    "tryRelease": "try_release",
    "extend": "extend",
    "trySetPermits": "try_set_permits",
    "availablePermits": "available_permits",
    "delete": "delete",
}
LATCH: dict[str, Method] = {
    "await": "wait",
    "countDown": "count_down",
    "trySetCount": "try_set_count",
    "getCount": "count",
    "delete": "delete",
}


@dataclass(frozen=True)
class Kind:
    """How things of one kind are made, asked, and compared."""

    make: Callable[[Any, Step], Any]
    """The object that a step of a client is about."""
    methods: dict[str, Method] = field(default_factory=lambda: LOCK)
    woken: Woken = Woken.ANY_ONE
    side_by_side: bool = False
    """Its members are released together, so their messages come in any order."""
    keeps_answers: bool = False
    """It leaves the answers to requests on the server for a while, and Redisson's has none."""


def _members(client: Any, step: Step) -> list[Any]:
    return [client.lock(name) for name in step.args["members"]]


def _red_lock(client: Any, step: Step) -> Any:
    module = holdfast.asyncio if client._asynchronous else holdfast
    return module.RedLock(*_members(client, step))


KINDS = {
    "lock": Kind(lambda client, step: client.lock(step.name)),
    "fair": Kind(
        lambda client, step: client.fair_lock(step.name, **step.options), woken=Woken.THE_FIRST
    ),
    "fenced": Kind(lambda client, step: client.fenced_lock(step.name), FENCED_LOCK),
    "spin": Kind(lambda client, step: client.spin_lock(step.name)),
    "read": Kind(
        lambda client, step: client.read_write_lock(step.name).read, woken=Woken.ALL_THAT_MAY
    ),
    "write": Kind(lambda client, step: client.read_write_lock(step.name).write),
    "rw": Kind(lambda client, step: client.read_write_lock(step.name), {}),
    "multi": Kind(
        lambda client, step: client.multi_lock(*_members(client, step)), side_by_side=True
    ),
    "redlock": Kind(_red_lock, side_by_side=True),
    "semaphore": Kind(
        lambda client, step: client.semaphore(step.name),
        SEMAPHORE,
        woken=Woken.ALL_THAT_MAY,
        keeps_answers=True,
    ),
    "permit": Kind(lambda client, step: client.permit_semaphore(step.name), PERMIT_SEMAPHORE),
    "count_down_latch": Kind(
        lambda client, step: client.count_down_latch(step.name),
        LATCH,
        woken=Woken.ALL_THAT_MAY,
        keeps_answers=True,
    ),
}
"""By the word that a recorded step has for it; of an `rw` only its sides are used."""


def by_hand(step: Step) -> list[list[Any]]:
    """The commands of a step that is not a call of holdfast; none for a call."""
    if step.by == "recorder":
        return [step.op.split()]
    if step.kind != "permit" or step.op not in {"addPermits", "setPermits"}:
        return []
    permits = step.args["permits"]
    command = "INCRBY" if step.op == "addPermits" else "SET"
    change = [command, step.name, permits]
    # Fewer permits are nothing to wake for.
    return (
        [change] if permits < 0 else [change, ["PUBLISH", f"redisson_sc:{{{step.name}}}", permits]]
    )


def begin(step: Step, actor: Any, client: Any) -> Future[Any]:
    """Let the actor make the call of a step."""
    kind = KINDS[step.kind]
    thing, method = kind.make(client, step), kind.methods[step.op]
    numbers, named = _arguments(step, method)
    future: Future[Any]
    if isinstance(method, str):
        future = actor.begin(getattr(thing, method), *numbers, **named)
    else:
        future = actor.begin(method, thing, **named)
    return future


def _arguments(step: Step, method: Method) -> tuple[list[int], dict[str, Any]]:
    """What the method is given, by position and by name."""
    named = _times(step)
    if step.op in {"tryLock", "tryAcquire"} and "timeout" not in named:
        named["blocking"] = False
    if "permit" in step.args:
        permit = step.args["permit"]
        named["permit"] = UNKNOWN_PERMIT if permit.startswith("<") else permit
    numbers = [step.args[word] for word in ("permits", "count") if word in step.args]
    if method == "acquire" and numbers:
        named["permits"] = numbers.pop()
    return numbers, named


def _times(step: Step) -> dict[str, Any]:
    """In seconds."""
    words = {"lease": "lease", "wait": "timeout", "timeout": "timeout"}
    return {words[word]: ms / 1000 for word, ms in step.args.items() if word in words}


def outcome(step: Step, future: Future[Any]) -> Any:
    """How the call ended, in the recording's words; waits for it."""
    try:
        value = future.result(BOUND)
    except (KeyboardInterrupt, CancelledError):
        return Error("interrupted")
    except holdfast.ServerError as error:
        return Error(f"ServerError {error.code}")
    except (holdfast.HoldfastError, ValueError) as error:
        return Error(type(error).__name__)
    return _in_their_words(step.op, value)


def _in_their_words(op: str, value: Any) -> Any:
    if op == "ttl":
        return -2 if value is None else value * 1000
    if op in TELL_TOKEN:
        return None if value is None else str(value)
    if op in ANSWER_NOTHING:
        assert value is None
        return True
    return value
