"""The recorded operations as calls of our interface; how these end, in the recording's words."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import holdfast
from tests.support.waiting import BOUND
from tests.wire.recordings import Error, Step

CONSTRUCTORS: dict[str, Callable[[Any, Step], Any]] = {
    "lock": lambda client, step: client.lock(step.name),
    "read": lambda client, step: client.read_write_lock(step.name).read,
    "write": lambda client, step: client.read_write_lock(step.name).write,
}

METHODS = {
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


def begin(step: Step, actor: Any, client: Any) -> Future[Any]:
    """Let the actor make the call of a step."""
    method = getattr(CONSTRUCTORS[step.kind](client, step), METHODS[step.op])
    future: Future[Any] = actor.begin(method, **arguments(step))
    return future


def arguments(step: Step) -> dict[str, Any]:
    """What the method is given, in seconds."""
    named: dict[str, Any] = {}
    if "lease" in step.args:
        named["lease"] = step.args["lease"] / 1000
    if "wait" in step.args:
        named["timeout"] = step.args["wait"] / 1000
    elif step.op == "tryLock":
        named["blocking"] = False
    return named


def outcome(step: Step, future: Future[Any]) -> Any:
    """How the call ended; waits for it. An error that no recording has comes out itself."""
    try:
        value = future.result(BOUND)
    except (KeyboardInterrupt, CancelledError):
        return Error("interrupted")
    except holdfast.ServerError as error:
        return Error(f"ServerError {error.code}")
    except holdfast.LockError as error:
        owned = not isinstance(error, holdfast.NotOwnedError)
        return Error("LockError" if owned else "NotOwnedError")
    if step.op == "unlock":
        return True
    if step.op == "ttl":
        return -2 if value is None else value * 1000
    return value
