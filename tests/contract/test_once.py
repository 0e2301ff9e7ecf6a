"""A once: its function runs one time, and all of its callers get the one result."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pytest

import holdfast
from holdfast._locks.steps import step, without_limit
from tests.contract.once import KEY, LOCK, RESULT, Stage, Work
from tests.support.actors import Flavour
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

MEGABYTE = 1 << 20


@pytest.fixture
def stage(flavour: Flavour, server: Server, make_client: MakeClient) -> Stage:
    return Stage(flavour, server, make_client)


@pytest.fixture
def once(client: Any) -> Any:
    return client.once(KEY)


# ---- one run, one result


def test_the_function_runs_once_and_its_result_is_kept(
    alice: Any, bob: Any, once: Any, stage: Stage
) -> None:
    first, second = stage.work({"paid": 12.5, "to": ["a", None]}), stage.work("other")
    assert alice.do(once.status) == "new"
    assert alice.do(once.run, first, 1, two=2) == {"paid": 12.5, "to": ["a", None]}
    assert alice.do(once.status) == "done"
    assert bob.do(stage.once().run, second) == {"paid": 12.5, "to": ["a", None]}
    assert (first.calls, second.calls) == (1, 0)
    eventually(lambda: stage.server.keys() == {RESULT.encode()})
    assert 86_300_000 < stage.server.inspect.pttl(RESULT) <= 86_400_000


def test_arguments_are_passed_on(alice: Any, once: Any) -> None:
    def add(left: int, *, right: int) -> int:
        return left + right

    assert alice.do(once.run, add, 2, right=3) == 5


@pytest.mark.parametrize(
    "result",
    [None, False, 0, "", "text \u20ac \ud800", [], {"a": [1, 2.5]}, b"", b"\x00\xffj", 2**80],
    ids=repr,
)
def test_a_result_is_json_or_bytes(
    alice: Any, bob: Any, once: Any, result: object, stage: Stage
) -> None:
    runs = stage.work(result)
    for actor in (alice, bob, bob):
        got = actor.do(once.run, runs)
        assert got == result
        assert type(got) is type(result)
    assert runs.calls == 1


def test_the_runner_gets_what_the_others_get(alice: Any, bob: Any, once: Any, stage: Stage) -> None:
    runs = stage.work((1, {2: "two"}))
    assert alice.do(once.run, runs) == [1, {"2": "two"}]
    assert bob.do(once.run, runs) == [1, {"2": "two"}]


def test_it_is_kept_for_the_time_given(alice: Any, client: Any, stage: Stage) -> None:
    runs = stage.work()
    once = stage.once(client, keep=3600)
    alice.do(once.run, runs)
    assert 3_500_000 < stage.server.inspect.pttl(RESULT) <= 3_600_000
    stage.server.inspect.pexpire(RESULT, 1)
    eventually(lambda: not stage.server.keys())
    assert alice.do(once.status) == "new"
    alice.do(once.run, runs)
    assert runs.calls == 2


def test_a_late_copy_of_the_step_of_an_earlier_run_keeps_nothing(
    alice: Any, once: Any, stage: Stage
) -> None:
    """Of the same thread, or task."""
    owners: list[bytes] = []
    for result in ("first", "second"):
        runs = stage.work(result, held=True)
        running = stage.begin(alice, once, runs)
        owners += stage.server.inspect.hkeys(LOCK)
        keys = [LOCK.encode(), RESULT.encode()]
        with holdfast.Client(stage.server.url) as between:
            late, time = [owners[0], b'j"late"', 60_000, 1], without_limit(between._core)
            kept = step(between._core, time, "once/store", keys, late).wait()
        assert kept == (result == "first")
        runs.goes_on.set()
        assert running.result(BOUND) == result
        assert alice.do(once.forget)


def test_it_can_be_forgotten(alice: Any, once: Any, stage: Stage) -> None:
    runs = stage.work()
    assert alice.do(once.forget) is False
    alice.do(once.run, runs)
    assert alice.do(once.forget) is True
    assert alice.do(once.status) == "new"
    eventually(lambda: stage.server.keys() == set())
    alice.do(once.run, runs)
    assert runs.calls == 2


def test_the_name_prefix_is_part_of_both_keys(alice: Any, stage: Stage) -> None:
    once = stage.client(name_prefix="app:").once(KEY)
    runs = stage.work(held=True)
    running = stage.begin(alice, once, runs)
    assert stage.server.keys() == {b"app:" + LOCK.encode()}
    runs.goes_on.set()
    running.result(BOUND)
    assert stage.server.keys() == {b"holdfast_result:{app:" + LOCK.encode() + b"}"}


def test_a_lock_of_the_same_name_is_another_thing(
    alice: Any, bob: Any, client: Any, once: Any, stage: Stage
) -> None:
    lock = client.lock(KEY)
    bob.do(lock.acquire)
    assert alice.do(once.run, stage.work()) == "done"
    bob.do(lock.release)


# ---- several callers


def test_others_wait_for_the_result(
    alice: Any, bob: Any, carol: Any, client: Any, stage: Stage
) -> None:
    runs = stage.work(held=True)
    running = stage.begin(alice, stage.once(client), runs)
    waiting = [
        stage.wait(bob, stage.once(), runs),
        stage.wait(carol, stage.once(client), runs),
    ]
    assert not any(each.done() for each in waiting)
    runs.goes_on.set()
    assert [each.result(BOUND) for each in [running, *waiting]] == ["done"] * 3
    assert runs.calls == 1
    eventually(lambda: stage.server.keys() == {RESULT.encode()})


def test_while_it_runs_the_status_says_so(alice: Any, bob: Any, once: Any, stage: Stage) -> None:
    runs = stage.work(held=True)
    running = stage.begin(alice, once, runs)
    assert bob.do(once.status) == "running"
    assert bob.do(once.forget) is False
    runs.goes_on.set()
    running.result(BOUND)
    assert bob.do(once.status) == "done"


def test_a_wait_ends_with_a_time_out(alice: Any, bob: Any, client: Any, stage: Stage) -> None:
    runs, other = stage.work(held=True), stage.work()
    running = stage.begin(alice, stage.once(client), runs)
    for wait in (0, 0.05):
        with pytest.raises(holdfast.LockTimeout, match=rf"'invoice:7'.*still runs.*{client.id}"):
            bob.do(stage.once(client, wait=wait).run, other)
    assert other.calls == 0
    runs.goes_on.set()
    assert running.result(BOUND) == "done"
    assert bob.do(stage.once(client, wait=0).run, other) == "done"


def test_a_waiter_whose_time_is_over_gets_a_result_that_is_there_by_then(
    alice: Any, stage: Stage
) -> None:
    """Of many waiters, one after the other gets the lock, to read it."""
    stage.server.inspect.hset(LOCK, "c0ffee00-0000-8000-8000-00000000000a:1", 1)
    work = stage.work()
    waiting = stage.wait(alice, stage.once(wait=1), work)
    stage.server.inspect.set(RESULT, "j7")
    assert waiting.result(BOUND) == 7
    assert work.calls == 0


def test_a_result_that_is_there_needs_one_command_and_no_lock(
    alice: Any, bob: Any, client: Any, once: Any, stage: Stage
) -> None:
    alice.do(once.run, stage.work())
    bob.do(client.once("other").status)  # connected
    before = client.stats()
    assert bob.do(once.run, stage.work()) == "done"
    assert client.stats().acquired == before.acquired
    assert client.stats().commands == before.commands + 1


def test_a_run_inside_of_a_run_of_its_key_is_refused(alice: Any, client: Any, stage: Stage) -> None:
    def nested() -> Any:
        return stage.once(client).run(nested)

    with pytest.raises(holdfast.LockError, match="would wait for itself"):
        alice.do(stage.once(client).run, nested)
    eventually(lambda: stage.server.keys() == set())


# ---- errors


def test_an_error_goes_to_its_caller_and_the_next_one_runs(
    alice: Any, bob: Any, once: Any, stage: Stage
) -> None:
    fails, works = stage.work(KeyError("stock"), held=True), stage.work("second")
    running = stage.begin(alice, once, fails)
    waiting = stage.wait(bob, once, works)
    fails.goes_on.set()
    with pytest.raises(KeyError, match="stock"):
        running.result(BOUND)
    assert waiting.result(BOUND) == "second"
    assert (fails.calls, works.calls) == (1, 1)
    assert alice.do(once.run, fails) == "second"


def test_a_time_out_inside_is_an_error_like_any_other(alice: Any, once: Any, stage: Stage) -> None:
    for error in (holdfast.LockTimeout("theirs"), holdfast.LockLostError("theirs")):
        with pytest.raises(type(error), match="theirs"):
            alice.do(once.run, stage.work(error))
    eventually(lambda: stage.server.keys() == set())


def not_kept(actor: Any, once: Any, runs: Work, why: str) -> holdfast.ResultNotKeptError:
    """The error of a run whose result cannot be kept, and of all later ones."""
    with pytest.raises(holdfast.ResultNotKeptError, match=why) as caught:
        actor.do(once.run, runs)
    calls = runs.calls
    with pytest.raises(holdfast.ResultNotKeptError, match=why) as later:
        actor.do(once.run, runs)
    assert (later.value.result, later.value.__cause__) == (None, None)
    assert runs.calls == calls
    assert actor.do(once.status) == "done"
    return caught.value


@pytest.mark.parametrize(
    "result",
    [{1, 2}, object(), float("nan"), {"a": {1}}, 1j],
    ids=lambda result: type(result).__name__,
)
def test_what_is_no_json_is_not_kept_and_does_not_run_again(
    alice: Any, once: Any, result: object, stage: Stage
) -> None:
    runs = stage.work(result)
    error = not_kept(alice, once, runs, r"'invoice:7' has run, .* is neither bytes nor JSON")
    assert error.result is result
    assert isinstance(error.__cause__, (TypeError, ValueError))
    assert runs.calls == 1
    assert alice.do(once.forget) is True
    assert alice.do(once.run, stage.work("fine")) == "fine"


TIME = datetime(2026, 2, 28, 23, 59, 59, 999_999, timezone(timedelta(hours=-3, minutes=30)))


@pytest.mark.parametrize(
    "result",
    [
        Decimal("12.50"),
        Decimal("NaN"),
        TIME,
        TIME.replace(tzinfo=None),
        TIME.date(),
        TIME.timetz(),
        timedelta(days=-1, microseconds=7),
        UUID(int=7),
        {"price": Decimal("1.10"), "at": [TIME, None], "data": b"\xff\x00"},
        {"$decimal": "no number", "at": TIME},
        [{"$decimal": "no number"}, {"$$date": 1}, {"$": Decimal(1)}, {"a": {"$uuid": TIME}}],
    ],
    ids=repr,
)
def test_types_that_json_lacks_come_back_as_what_they_were(
    alice: Any, bob: Any, once: Any, result: Any, stage: Stage
) -> None:
    runs = stage.work(result)
    for actor in (alice, bob):
        assert repr(actor.do(once.run, runs)) == repr(result)
    assert runs.calls == 1


def test_an_earlier_version_refuses_what_it_would_misread(
    alice: Any, once: Any, stage: Stage
) -> None:
    """It knows the kinds j, b, c and t."""
    alice.do(once.run, stage.work({"$decimal": "1"}))
    assert stage.server.inspect.get(RESULT) == b'j{"$decimal":"1"}'
    assert alice.do(once.run, stage.work()) == {"$decimal": "1"}
    for result, kind in ((Decimal(1), b"J"), (object(), b"x")):
        alice.do(once.forget)
        with suppress(holdfast.ResultNotKeptError):
            alice.do(once.run, stage.work(result))
        assert stage.server.inspect.get(RESULT)[:1] == kind


@pytest.mark.parametrize("result", [b"x" * MEGABYTE, "x" * (MEGABYTE - 2)], ids=["bytes", "json"])
def test_a_result_may_have_a_megabyte_and_no_more(
    alice: Any, once: Any, result: Any, stage: Stage
) -> None:
    more = result + result[:1]
    error = not_kept(alice, once, stage.work(more), r"1048577 bytes, .*at most 1048576")
    assert error.result == more
    alice.do(once.forget)
    assert alice.do(once.run, stage.work(result)) == result
    assert alice.do(once.run, stage.work()) == result


def test_a_generator_function_is_refused_before_it_runs(
    alice: Any, once: Any, stage: Stage
) -> None:
    def generates() -> Any:
        yield 1

    for function in (generates, 7, None):
        with pytest.raises(TypeError, match="runs a"):
            alice.do(once.run, function)
    eventually(lambda: stage.server.keys() == set())


@pytest.mark.parametrize(
    ("given", "text"), [(3, "an object of the type int: 3"), (dict, "a class")]
)
def test_what_is_no_function_is_refused_before_anything_is_sent(
    deaf: Any, alice: Any, given: Any, text: str
) -> None:
    with pytest.raises(TypeError, match=f"a once .* function, not {text}"):
        alice.do(deaf.once("invoice:7").run, given)


@pytest.mark.flavours("sync")
def test_a_coroutine_function_is_refused_by_a_client_for_threads(alice: Any, once: Any) -> None:
    async def later() -> None: ...

    with pytest.raises(TypeError, match="not a coroutine function"):
        once.run(later)
    with pytest.raises(TypeError, match="work would run after"):
        once.run(partial(eval, "later()", {"later": later}))


# ---- codecs


class Wrong:
    """A codec that fails in one way."""

    def __init__(self, dumped: Any = b"data", loads: Callable[[Any], Any] = bytes) -> None:
        self._dumped = dumped
        self.loads = loads

    def dumps(self, _: object) -> Any:
        return self._dumped


def refuse(_: object) -> Any:
    raise ZeroDivisionError


def test_a_codec_is_used_for_any_result(alice: Any, bob: Any, client: Any, stage: Stage) -> None:
    once, runs = stage.once(client, codec=pickle), stage.work({1, (2, 3)})
    for actor in (alice, bob):
        assert actor.do(once.run, runs) == {1, (2, 3)}
    assert runs.calls == 1
    assert alice.do(client.once("text", codec=json).run, stage.work([1])) == [1]
    assert bob.do(client.once("text", codec=json).run, stage.work()) == [1]


def test_what_a_codec_wrote_is_not_read_without_it(
    alice: Any, client: Any, once: Any, stage: Stage
) -> None:
    runs = stage.work()
    alice.do(stage.once(client, codec=pickle).run, runs)
    with pytest.raises(holdfast.LockError, match="codec"):
        alice.do(once.run, runs)
    assert alice.do(once.forget) is True
    alice.do(once.run, runs)
    assert alice.do(stage.once(client, codec=pickle).run, runs) == "done"  # JSON is always read
    assert runs.calls == 2


@pytest.mark.parametrize(
    ("codec", "error"),
    [(Wrong(7), TypeError), (Wrong(b"", refuse), ZeroDivisionError)],
    ids=["dumps to int", "loads fails"],
)
def test_a_bad_codec_keeps_no_result_and_it_does_not_run_again(
    alice: Any, client: Any, codec: Any, error: type[Exception], stage: Stage
) -> None:
    runs = stage.work()
    caught = not_kept(alice, stage.once(client, codec=codec), runs, "cannot be kept")
    assert isinstance(caught.__cause__, error)
    assert runs.calls == 1


@pytest.mark.parametrize(
    "data", [b"", b"jno json", b"z", b"\xff\xfe", b'J{"$uuid":1}', b'J{"$decimal":"?"}'], ids=repr
)
def test_another_programs_data_is_an_error(
    alice: Any, once: Any, data: bytes, stage: Stage
) -> None:
    runs = stage.work()
    stage.server.inspect.set(RESULT, data)
    with pytest.raises(holdfast.LockError, match="cannot be read"):
        alice.do(once.run, runs)
    stage.server.inspect.delete(RESULT)
    stage.server.inspect.rpush(RESULT, "a list")
    with pytest.raises(holdfast.ServerError, match="WRONGTYPE"):
        alice.do(once.run, runs)
    assert runs.calls == 0


# ---- arguments


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"keep": 0}, ValueError),
        ({"keep": None}, TypeError),
        ({"keep": "1"}, TypeError),
        ({"lease": -1}, ValueError),
        ({"wait": -1}, ValueError),
        ({"codec": 7}, TypeError),
        ({"timeout": 1}, TypeError),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_by_name(
    client: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=next(iter(options))):
        client.once(KEY, **options)
    with pytest.raises(error, match=next(iter(options))):
        client.once_each("invoice:{number}", **options)


@pytest.mark.parametrize(("key", "error"), [("", ValueError), (7, TypeError)])
def test_a_bad_key_is_refused(client: Any, key: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="key"):
        client.once(key)


def test_it_says_what_it_is_and_cannot_be_copied(once: Any) -> None:
    assert repr(once) == "<Once 'invoice:7'>"
    assert once.name == KEY
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(once)


# ---- the decorator


def make_function(asynchronous: bool, calls: list[Any]) -> Any:
    def send(number: int, copy: bool = False) -> str:
        """Send it."""
        calls.append(number)
        return f"sent {number}"

    async def send_later(number: int, copy: bool = False) -> str:
        """Send it."""
        return send(number, copy)

    return send_later if asynchronous else send


def test_a_decorated_function_runs_once_for_each_name(
    alice: Any, bob: Any, client: Any, stage: Stage
) -> None:
    calls: list[int] = []
    send = client.once_each("invoice:{number}", keep=3600)(
        make_function(stage.flavour.asyncio, calls)
    )
    assert send.__doc__ == "Send it."
    assert alice.do(send, 7) == "sent 7"
    assert bob.do(send, number=7) == "sent 7"
    assert alice.do(send, 8, copy=True) == "sent 8"
    assert calls == [7, 8]
    assert 3_500_000 < stage.server.inspect.pttl(RESULT) <= 3_600_000
    assert alice.do(stage.once(client).status) == "done"


def test_a_template_without_fields_is_one_name(alice: Any, client: Any, stage: Stage) -> None:
    calls: list[int] = []
    send = client.once_each("all")(make_function(stage.flavour.asyncio, calls))
    assert alice.do(send, 7) == alice.do(send, 8) == "sent 7"
    assert calls == [7]


def test_a_decoration_is_checked_at_once(client: Any, stage: Stage) -> None:
    function = make_function(stage.flavour.asyncio, [])
    with pytest.raises(ValueError, match="positional field"):
        client.once_each("invoice:{}")
    with pytest.raises(ValueError, match="not a parameter"):
        client.once_each("invoice:{id}")(function)
    with pytest.raises(TypeError, match="template"):
        client.once_each(7)
    other = make_function(not stage.flavour.asyncio, [])
    with pytest.raises(TypeError, match="runs a"):
        client.once_each("invoice:{number}")(other)


# ---- what another process does


def test_a_waiter_that_is_refused_leaves_no_place(
    alice: Any, make_actor: MakeActor, client: Any, stage: Stage
) -> None:
    runs = stage.work(held=True)
    running = stage.begin(alice, stage.once(client), runs)
    actors = [make_actor() for _ in range(5)]
    waiting = [stage.wait(each, stage.once(client, wait=1), runs) for each in actors]
    for each in waiting:
        with pytest.raises(holdfast.LockTimeout):
            each.result(BOUND)
    runs.goes_on.set()
    assert running.result(BOUND) == "done"
    assert client.stats().waiting == 0
