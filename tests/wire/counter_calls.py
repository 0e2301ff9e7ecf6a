"""The recorded operations on semaphores and latches as calls of our interface."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from tests.support.waiting import BOUND
from tests.wire.recordings import Error, Step

METHODS = {
    "acquire": "acquire",
    "tryAcquire": "acquire",
    "release": "release",
    "trySetPermits": "try_set_permits",
    "addPermits": "add_permits",
    "drainPermits": "drain_permits",
    "availablePermits": "available_permits",
    "await": "wait",
    "countDown": "count_down",
    "trySetCount": "try_set_count",
    "getCount": "count",
    "delete": "delete",
}


class CounterCalls:
    """`kind` says what the scenario's names are."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def begin(self, step: Step, actor: Any, client: Any) -> Future[Any]:
        """Let the actor make the call of a step."""
        thing = getattr(client, self._kind)(step.name)
        positional, named = _arguments(step)
        future: Future[Any] = actor.begin(getattr(thing, METHODS[step.op]), *positional, **named)
        return future

    def outcome(self, step: Step, future: Future[Any]) -> Any:
        """How the call ended; waits for it. What answers nothing has succeeded."""
        try:
            value = future.result(BOUND)
        except ValueError:
            return Error("ValueError")
        return True if value is None else value


def _arguments(step: Step) -> tuple[list[int], dict[str, Any]]:
    """What the method is given, in seconds."""
    named: dict[str, Any] = {}
    if step.op == "tryAcquire" and "wait" not in step.args:
        named["blocking"] = False
    for word in ("wait", "timeout"):
        if word in step.args:
            named["timeout"] = step.args[word] / 1000
    if METHODS[step.op] == "acquire":
        named["permits"] = step.args.get("permits", 1)
        return [], named
    return [step.args[word] for word in ("permits", "count") if word in step.args], named
