"""The recorded operations on permits as calls of ours; ids are known by the recordings' names."""

from __future__ import annotations

import re
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import holdfast
from tests.support.waiting import BOUND
from tests.wire.recordings import Error, Key, Step, about
from tests.wire.replay import Owner, Replay

METHODS = {
    "acquire": "acquire",
    "tryAcquire": "acquire",
    "release": "release",
    "tryRelease": "try_release",
    "extend": "extend",
    "trySetPermits": "try_set_permits",
    "availablePermits": "available_permits",
    "delete": "delete",
}
NEVER = 922337203685477
UNKNOWN = "f" * 32
ID = re.compile(r"<id\d+>")
MOMENT = re.compile(r"<now([+-]\d+)>")


class PermitReplay(Replay):
    """A playing of a scenario with permits. What our interface has not is done by hand."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._ids: dict[str, str] = {}

    def _play(self, step: Step) -> None:
        if step.op == "addPermits":
            self._add(step, step.args["permits"])
        elif step.op == "setPermits":
            self._server.inspect.set(step.name, step.args["permits"])
            self._publish(step)
        else:
            super()._play(step)

    def _add(self, step: Step, permits: int) -> None:
        self._server.inspect.incrby(step.name, permits)
        if permits > 0:
            self._publish(step)

    def _publish(self, step: Step) -> None:
        self._server.inspect.publish(f"redisson_sc:{{{step.name}}}", step.args["permits"])

    def _call(self, step: Step, owner: Owner) -> None:
        future = self._waiting.pop(str(step.by), None)
        if not step.ends_wait:
            assert future is None
            method = getattr(owner.client.permit_semaphore(step.name), METHODS[step.op])
            future = owner.actor.begin(method, **self._arguments(step))
        assert future is not None
        if step.waits:
            self._waiting[str(step.by)] = future
            return
        outcome = self._outcome(step, future)
        assert outcome == step.result, f"the outcome was {outcome}"

    def _arguments(self, step: Step) -> dict[str, Any]:
        named = dict(step.args)
        if "lease" in named:
            named["lease"] /= 1000
        if "permit" in named:
            named["permit"] = self._ids.get(named["permit"], UNKNOWN)
        if "wait" in named:
            named["timeout"] = named.pop("wait") / 1000
        elif step.op == "tryAcquire":
            named["blocking"] = False
        return named

    def _outcome(self, step: Step, future: Future[Any]) -> Any:
        """How the call ended, in the recording's words."""
        try:
            value = future.result(BOUND)
        except holdfast.NotOwnedError:
            return Error("NotOwnedError")
        if step.op == "release":
            return True
        if isinstance(value, str) and ID.fullmatch(str(step.result)):
            return step.result if self._ids.setdefault(step.result, value) == value else value
        return value

    def _key(self, name: bytes) -> Key:
        inspect = self._server.inspect
        if inspect.type(name) != b"zset":
            return super()._key(name)
        seconds, micros = inspect.time()
        now = seconds * 1000 + micros // 1000
        scores = inspect.zrange(name, 0, -1, withscores=True)
        left = inspect.pttl(name)
        value = [(permit.hex(), s if s == NEVER else s - now) for permit, s in scores]
        return Key("zset", value, None if left == -1 else left)

    def _with_fields(self, expected: Key, there: Key) -> Key:
        """The expected key with the real ids; a new one is learned from what is there."""
        if expected.kind != "zset" or there.kind != "zset":
            return expected
        names = [member.split()[0] for member, _ in expected.value]
        self._learn(set(names), {permit for permit, _ in there.value})
        permits = [self._ids.get(name) for name in names]
        scores = [_score(score) for _, score in expected.value]
        return replace(expected, value=list(zip(permits, scores, strict=True)))

    def _learn(self, names: set[str], permits: set[str]) -> None:
        fresh = permits - set(self._ids.values())
        unknown = names - self._ids.keys()
        if len(unknown) == len(fresh) == 1:
            self._ids[unknown.pop()] = fresh.pop()


def _score(recorded: Any) -> Any:
    moment = MOMENT.fullmatch(recorded)
    return about(int(moment[1])) if moment else int(recorded)
