"""The recorded operations as calls of our interface; how these end, in the recording's words."""

from __future__ import annotations

import sys
from asyncio import CancelledError
from concurrent.futures import Future
from typing import Any

import holdfast
from tests.support.waiting import BOUND
from tests.wire.recordings import Error, Step

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
    method = getattr(_lock(step, client), METHODS[step.op])
    future: Future[Any] = actor.begin(method, **arguments(step))
    return future


def _lock(step: Step, client: Any) -> Any:
    if step.kind == "lock":
        return client.lock(step.name)
    members = [client.lock(name) for name in step.args["members"]]
    if step.kind == "multi":
        return client.multi_lock(*members)
    return sys.modules[type(client).__module__].RedLock(*members)


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
    except holdfast.NotOwnedError:
        return Error("NotOwnedError")
    except holdfast.ServerError as error:
        return Error(f"ServerError {error.code}")
    if step.op == "unlock":
        return True
    if step.op == "ttl":
        return -2 if value is None else value * 1000
    return value
