"""Every call of every kind, by threads and tasks, at every fault: the product of the contract.

A cell is a call (tests/contract/calls.py), a fault, and the exchange of the call before which the
fault comes, from 1 on. What is promised is the fault's: one row of `FAULTS`. In each cell the call
ends as promised, and leaves nothing behind: another client is granted the same at once, and every
key has an end, but for the documented ones. A call that has no such exchange ends without the
fault, and is no cell: the first run of a cell finds that.

A plain run takes a sample, `HOLDFAST_TEST_PRODUCT=all` all cells.
`python -m tests.faults.test_product` prints the product as a table.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

import holdfast
from holdfast import _core
from tests.contract.calls import CALLINGS, TIME, Call, calls, missing_rows
from tests.support.actors import Flavour
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

#: Cells of a plain run, of each flavour.
SAMPLE = 75
MOST_STEPS = max(row.steps for row in CALLINGS)
#: Options of clients whose own limits are longer than a test waits for a caller's.
PATIENT: dict[str, Any] = {"command_timeout": 600, "connect_timeout": 600, "retries": 100_000}


class Stage:
    """A server, the way of a client to it, and what happens before an exchange of its call."""

    def __init__(self, flavour: Flavour, server: Any, proxy: Any, client: Any) -> None:
        self.flavour = flavour
        self.server = server
        self.proxy = proxy
        self.client = client
        self.actor = flavour.actor()
        self.thing: Any = None
        self.granted: Any = None
        self.children: list[int] = []

    def heal(self) -> None:
        self.proxy.heal()
        self.server.inspect.config_set("maxmemory", 0)


@dataclass(frozen=True, eq=False)
class Fault:
    """What happens before an exchange, and how the call ends.

    `ends`: what the call raises, and what the error says; `None`: it is granted. `ways`: for which
    it is promised. `options`: those of the client.
    """

    name: str
    happen: Callable[[Stage], Any]
    ends: tuple[type[BaseException], str | None] | None = None
    ways: tuple[str, ...] = ("try", "wait", "with")
    options: Mapping[str, Any] = field(default_factory=dict)
    flavours: tuple[str, ...] = ("sync", "asyncio")
    #: It is there when the client connects.
    connects: bool = False
    #: It may come before any exchange.
    between_any: bool = True
    #: It comes to one server's reply, of which a red lock needs no more than some.
    one_reply: bool = False
    #: It is promised of calls that need memory on the server.
    memory: bool = False
    #: It comes between two exchanges: of the engine's own calls other tests show it.
    between: bool = False
    #: The call is a child's, which dies of it; a call that has ended by then dies with what it has.
    kills: bool = False

    @property
    def frees(self) -> bool:
        """The caller has nothing afterwards."""
        return self.kills or self.ends is not None

    def __repr__(self) -> str:
        return self.name


def interrupt(_: Stage) -> None:
    raise KeyboardInterrupt


def close(stage: Stage) -> None:
    stage.client._begin_close(False)


def fork(stage: Stage) -> None:
    """The child leaves the call by an interrupt, and dies."""
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        raise KeyboardInterrupt
    stage.children.append(child)


def kill(_: Stage) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fill(stage: Stage) -> None:
    stage.server.inspect.config_set("maxmemory", 1)


def cancel(_: Stage) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


SECONDS = holdfast.ConnectionError, rf"within {TIME:g} s"

#: What calls send.
REFUSED = (b"EVALSHA", b"EVAL", b"GET")
READONLY = b"-READONLY You can't write against a read only replica.\r\n"

FAULTS = (
    Fault("none", lambda _: None, between_any=False),
    Fault(
        "link of 300 ms",
        lambda stage: stage.proxy.delay(0.15),
        ways=("try",),
        connects=True,
        between_any=False,
    ),
    Fault("stopped", lambda stage: stage.proxy.black_hole(), SECONDS, ("wait", "with"), PATIENT),
    Fault(
        "refused",
        lambda stage: stage.proxy.refuse(),
        (holdfast.ConnectionError, None),
        options=PATIENT,
    ),
    Fault("cut", lambda stage: stage.proxy.cut()),
    Fault("reply lost", lambda stage: stage.proxy.lose_reply()),
    *(
        Fault(f"reply cut at {size}", lambda stage, size=size: stage.proxy.truncate_reply(size))
        for size in (1, 2, 3, 4, 5, 8, 13)
    ),
    *(
        Fault(f"request cut at {size}", lambda stage, size=size: stage.proxy.truncate_request(size))
        for size in (0, 1, 17, 60)
    ),
    Fault(
        "demoted",
        lambda stage: stage.proxy.replace_reply(READONLY, b"EVALSHA"),
        ways=("wait", "with"),
    ),
    Fault("out of memory", fill, (holdfast.HoldfastError, "OOM"), memory=True),
    Fault("scripts flushed", lambda stage: stage.server.inspect.script_flush()),
    Fault(
        "right refused",
        lambda stage: stage.proxy.replace_reply(b"-NOPERM no such right\r\n", *REFUSED),
        (holdfast.ServerError, "NOPERM"),
        options={"lease": 1},  # the server has executed it
        one_reply=True,
    ),
    Fault(
        "closed",
        close,
        (holdfast.ConnectionError, "client was closed"),
        options={"lease": 600},
        between=True,
    ),
    Fault("forked", fork, flavours=("sync",), between=True),
    Fault("interrupted", interrupt, (KeyboardInterrupt, None), flavours=("sync",), between=True),
    Fault("cancelled", cancel, (asyncio.CancelledError, None), flavours=("asyncio",), between=True),
    Fault("killed", kill, options={"lease": 1}, kills=True),
    Fault("killed with a guard", kill, options={"lease": 600, "guard": True}, kills=True),
)


@dataclass(frozen=True)
class Cell:
    call: Call
    fault: Fault
    step: int
    flavour: str

    @property
    def exists(self) -> bool:
        """Whether it is promised, and no other cell is the same."""
        of, fault = self.call.of, self.fault
        excluded = (
            self.call.way not in fault.ways,
            self.flavour not in fault.flavours,
            fault.between and of.steps == 1,
            fault.memory and not self.call.needs_memory,
            of.hurried and (fault.connects or fault.one_reply),
            fault.options is PATIENT and self.after_time,
        )
        if any(excluded):
            return False
        last = of.steps + (fault.kills and of.steps > 1)  # behind the last one, it holds
        return self.step == 1 or (self.step <= last and fault.between_any)

    @property
    def after_time(self) -> bool:
        """The exchange does not have the caller's time: of once, whose work has run by then."""
        return self.step > (self.call.of.timed or self.call.of.steps)

    @property
    def ends(self) -> tuple[type[BaseException], str | None] | None:
        """As of the fault; what refuses the result of work that has run says so."""
        refused = self.fault.ends is not None and self.fault.ends[0] is holdfast.ServerError
        if refused and self.after_time:
            return holdfast.ResultNotKeptError, "NOPERM"
        return self.fault.ends

    def __repr__(self) -> str:
        return f"{self.call}-{self.fault}-{self.step}-{self.flavour}"


def cells(flavour: str) -> list[Cell]:
    """All cells of a flavour."""
    product = itertools.product(calls(), FAULTS, range(1, MOST_STEPS + 2))
    every = (Cell(call, fault, step, flavour) for call, fault, step in product)
    return [cell for cell in every if cell.exists]


def chosen(flavour: str) -> list[Cell]:
    """Those of this run: a sample has about as many of each fault, and of a cut at each byte."""
    every = cells(flavour)
    if os.environ.get("HOLDFAST_TEST_PRODUCT") == "all":
        return every
    turns: Counter[str] = Counter()
    ranked: list[tuple[int, Cell]] = []
    for cell in random.Random(7).sample(every, len(every)):
        fault = cell.fault.name.partition(" at ")[0]
        ranked.append((turns[fault], cell))
        turns[fault] += 1
    return [cell for _, cell in sorted(ranked, key=lambda one: one[0])[:SAMPLE]]


def test_every_kind_has_its_row() -> None:
    missing = missing_rows()
    assert not missing, (
        f"add to CALLINGS of tests/contract/calls.py how these are called: {missing}"
    )


#: Where the exchanges of a call begin that has several; the engine's own calls have one.
EXCHANGES = ("step_of", "commands_of", "lasting_step_of", "keeping", "granting")


class Before:
    """Lets something happen before an exchange of a call, which is counted from 1 on."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, step: int, happen: Callable[[], Any]
    ) -> None:
        self._left = step
        self._happen = happen
        self._begins = {name: getattr(_core, name) for name in EXCHANGES}
        for name in EXCHANGES:
            monkeypatch.setattr(_core, name, partial(self._begin, name))

    @property
    def happened(self) -> bool:
        return self._left <= 0

    def _begin(self, name: str, *given: Any) -> Any:
        self.count()
        return self._begins[name](*given)

    def count(self) -> None:
        """An exchange begins."""
        self._left -= 1
        if self._left == 0:
            self._happen()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cell" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("flavours")
        assert marker is not None
        every = [pytest.param(cell, id=repr(cell)) for cell in chosen(marker.args[0])]
        metafunc.parametrize("cell", every)


@pytest.fixture
def stage(
    cell: Cell, flavour: Flavour, server: Server, proxy: FaultProxy, make_client: MakeClient
) -> Iterator[Stage]:
    options = dict(cell.fault.options)
    if cell.call.of.hurried:
        options["lease"] = 600  # of which its members have a part
    stage = Stage(flavour, server, proxy, make_client(proxy.url, **options))
    yield stage
    stage.heal()
    for child in stage.children:
        os.waitpid(child, 0)


@pytest.mark.servers("redis")
@pytest.mark.flavours("sync")
def test_a_call_of_a_thread(
    cell: Cell, stage: Stage, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(cell, stage, make_client, monkeypatch)


@pytest.mark.servers("redis")
@pytest.mark.flavours("asyncio")
def test_a_call_of_a_task(
    cell: Cell, stage: Stage, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(cell, stage, make_client, monkeypatch)


def check(
    cell: Cell, stage: Stage, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call ends as its fault promises, and leaves nothing behind."""
    if not cell.fault.connects:
        stage.actor.do(stage.client.ping)
    happened = (die if cell.fault.kills else act)(cell, stage, monkeypatch)
    stage.heal()
    if happened and cell.fault.frees:
        thing, again = cell.call.of.again(make_client(stage.server.url))
        actor = stage.flavour.actor()
        eventually(lambda: is_granted(tried(actor, again)))
        if hasattr(thing, "resign"):
            actor.do(thing.resign)
    eventually(lambda: without_end(cell, stage.server) == [])
    give_up(stage)


def tried(actor: Any, again: Callable[[], Any]) -> Any:
    """`None` where a red lock's members were too slow."""
    try:
        return actor.do(again)
    except holdfast.ConnectionError:
        return None
    except holdfast.ResultNotKeptError:
        return True  # it has run


def act(cell: Cell, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Make the call; whether its fault happened."""
    call, fault, ends = cell.call, cell.fault, cell.ends
    thing = stage.thing = call.make(stage.client)
    with monkeypatch.context() as patch:
        before = Before(patch, cell.step, lambda: fault.happen(stage))
        if call.of.steps == 1:
            before.count()
        outcome = stage.actor.begin(call.begin(stage.flavour, thing))
        if ends is None:
            stage.granted = outcome.result(BOUND)
            assert call.name.startswith("watch") or is_granted(stage.granted)
            return before.happened
        error = outcome.exception(BOUND)
        if error is None:  # it has fewer exchanges, or its reply is there before the cancellation
            stage.granted = outcome.result(BOUND)
            assert not before.happened or fault.name == "cancelled"
            return False
        with pytest.raises(ends[0], match=ends[1]):
            raise error
        return before.happened


def die(cell: Cell, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Let a child make the call, and die of it."""
    child = os.fork()
    if child == 0:
        try:
            flavour = Flavour(cell.flavour)  # no thread of its parent's is there
            client = flavour.client(stage.proxy.url, **cell.fault.options)
            actor = flavour.actor()
            actor.do(client.ping)
            Before(monkeypatch, cell.step, lambda: kill(stage))
            actor.do(cell.call.begin(flavour, cell.call.make(client)))
            kill(stage)
        except BaseException:  # noqa: BLE001 - whatever it is, the child goes no further
            traceback.print_exc()
        finally:
            os._exit(1)  # the call has failed, or has gone on
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    return True


def is_granted(result: Any) -> bool:
    return result is not None and result is not False


def give_up(stage: Stage) -> None:
    """Release what a call has returned."""
    if not is_granted(stage.granted):
        return
    for thing in (stage.granted, stage.thing):
        end = getattr(thing, "resign", None) or getattr(thing, "release", None)
        if end is not None and hasattr(thing, "lost"):
            with suppress(holdfast.NotOwnedError, TypeError):
                stage.actor.do(end)


def without_end(cell: Cell, server: Server) -> list[bytes]:
    """The keys that stay for ever, but for the documented ones."""
    keys = [key for key in sorted(server.keys()) if server.inspect.pttl(key) == -1]
    return [key for key in keys if not key.startswith(cell.call.of.stays)]


if __name__ == "__main__":
    print("| kind | " + " | ".join(fault.name for fault in FAULTS) + " |")
    print("|---|" + "--:|" * len(FAULTS))
    all_cells = [cell for flavour in ("sync", "asyncio") for cell in cells(flavour)]
    for row in CALLINGS:
        counts = Counter(cell.fault for cell in all_cells if cell.call.of is row)
        print(f"| {row} | " + " | ".join(str(counts[fault]) for fault in FAULTS) + " |")
    print(f"{len(all_cells)} cells")
