"""Who holds what is no lock by itself: a row for each kind, compared with those of the library."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import anyio
import pytest

from holdfast._locks.kinds import BUILT, KINDS
from tests.support.actors import Flavour
from tests.support.losses import entered, left
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, timed_out

NAME = "myName"
LABEL = "billing worker 3"
#: The contract of locks has theirs: tests/contract/test_holders.py.
LOCKS = {kind.word for kind in KINDS if kind.type == b"hash"}
#: Those without owners.
UNKNOWN = {kind.word for kind in KINDS if kind.number}

#: How each is made, given a client and the seconds that its block waits.
Make = Callable[[Any, Any], Any]
MAKES: dict[str, Make] = {
    "permit_semaphore": lambda client, wait: client.permit_semaphore(NAME, permits=1, wait=wait),
    "slots": lambda client, wait: client.slots(NAME, ["gpu0"], wait=wait),
    "leader": lambda client, wait: client.leader(NAME, wait=wait),
    "once": lambda client, wait: client.once(NAME, wait=wait),
    "barrier": lambda client, _: client.barrier(NAME, 2),
}


class Case:
    """A kind, of which somebody holds one."""

    def __init__(self, kind: str, flavour: Flavour, make_client: MakeClient, url: str) -> None:
        self.kind, self._flavour = kind, flavour
        self.client = make_client(url, label=LABEL)
        self.thing = MAKES[kind](self.client, None)
        self.stranger = MAKES[kind](make_client(url), 0.05)
        # The server does not say whose a permit is.
        known = kind != "permit_semaphore"
        self.other = self.stranger if known else MAKES[kind](self.client, 0.05)
        self.over: Any = anyio.Event() if flavour.asyncio else threading.Event()
        self._actor = flavour.actor()

    def hold(self) -> Future[Any]:
        """Begin to hold it, or wait at the barrier, or run the function of the once."""
        if self.kind == "once":
            function = self._run_task if self._flavour.asyncio else self._run
            return self._actor.begin(self.thing.run, function)
        if self.kind == "barrier":
            return self._actor.begin(self.thing.wait)
        return self._actor.begin(entered, self.thing)

    def _run(self) -> int:
        self.over.wait(BOUND)
        return 7

    async def _run_task(self) -> int:
        await self.over.wait()
        return 7

    def let_go(self) -> None:
        if self.kind == "barrier":
            self._flavour.actor().do(self.other.wait)
        elif self.kind == "once":
            self._flavour.actor().do(self.over.set)
        else:
            self._actor.do(left, self.thing)

    def who(self, by: Any, bob: Any) -> list[Any]:
        found: list[Any] = bob.do(by.holders)
        return found

    def time_out(self, bob: Any) -> Any:
        """Wait for it in vain."""
        if self.kind == "once":
            return bob.do(self.other.run, self._run_task if self._flavour.asyncio else self._run)
        return bob.do(entered, self.other)


def check(case: Case, bob: Any) -> None:
    """That its holder is named, by `holders()` and by the time-out of another."""
    kind = case.kind
    assert case.who(case.other, bob) == []
    holding = case.hold()
    eventually(lambda: [one.label for one in case.who(case.other, bob)] == [LABEL], what=kind)
    [holder] = case.who(case.other, bob)
    assert (holder.host, holder.pid) == (socket.gethostname(), os.getpid())
    assert (holder.holds, holder.mode, 0 < holder.ttl <= 30) == (1, None, True)
    # What the acquire says of its client may be there before all of the client's key.
    eventually(lambda: (one := case.who(case.other, bob)[0]).within == 2 or one.since, what=kind)
    eventually(lambda: case.who(case.other, bob)[0].since, what=kind)
    assert case.who(case.other, bob)[0].within is None
    if kind == "permit_semaphore":
        unknown = case.who(case.stranger, bob)
        assert [(one.owner, one.label) for one in unknown] == [(holder.owner, None)]
        assert len(bytes.fromhex(holder.owner)) == 16
    else:
        assert holder.owner.startswith(f"{case.client.id}:")
    if kind != "barrier":
        timed_out(
            lambda: case.time_out(bob),
            f"'{LABEL}' on {socket.gethostname()}:{os.getpid()}.* s of its lease left",
        )
    case.let_go()
    if kind in {"once", "barrier"}:
        holding.result(BOUND)
    assert case.who(case.other, bob) == []


@pytest.mark.parametrize("kind", MAKES)
def test_every_kind_names_its_holders(
    server: Server, flavour: Flavour, make_client: MakeClient, bob: Any, kind: str
) -> None:
    check(Case(kind, flavour, make_client, server.url), bob)


def test_no_kind_is_without_a_row() -> None:
    words = {kind.word for kind in (*KINDS, *BUILT)}
    assert words == LOCKS | UNKNOWN | set(MAKES), "a kind without a row: who holds it?"
