"""The candidates of the tests of leaders, and what an observer sees of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = "myLeader"
STATE = b"holdfast_state:{myLeader}"
CHANNEL = "holdfast_changed:{myLeader}"

MakeLeader = Callable[..., Any]


def said(info: Any) -> Any:
    return info and info[:2]


class Watching:
    """The steps of a `watch()`, one at a time, by an owner."""

    def __init__(self, actor: Any, leader: Any, **how: Any) -> None:
        self._actor = actor
        self._seen = leader.watch(**how)

    def begin(self) -> Future[Any]:
        step = getattr(self._seen, "__anext__", None)
        return self._actor.begin(step or self._seen.__next__)  # type: ignore[no-any-return]

    def next(self) -> Any:
        return self.begin().result(BOUND)

    def waits(self, server: Server) -> Future[Any]:
        """The next step, once its client listens."""
        step = self.begin()
        eventually(lambda: step.done() or server.subscribers(CHANNEL) == 1)
        return step
