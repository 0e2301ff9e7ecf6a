"""Locks as decorators, of functions and of coroutine functions."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import holdfast
from tests.support.actors import Flavour
from tests.support.servers import Server
from tests.support.waiting import BOUND, timed_out

pytestmark = pytest.mark.servers("redis")

Define = Callable[[Callable[..., Any]], Callable[..., Any]]


@pytest.fixture
def define(flavour: Flavour) -> Define:
    """Make a function of the kind that the flavour's locks decorate, with the same signature."""

    def define(function: Callable[..., Any]) -> Callable[..., Any]:
        if flavour.name == "sync":
            return function

        @functools.wraps(function)
        async def coroutine_function(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return coroutine_function

    return define


def generator_function() -> Any:
    yield


async def asynchronous_generator_function() -> Any:
    yield


class Called:
    """Not a function."""


def test_a_lock_is_held_for_each_call(
    client: Any, define: Define, alice: Any, server: Server
) -> None:
    held: list[bool] = []

    def work(first: int, *, second: int) -> int:
        """What it does."""
        held.append(bool(server.inspect.exists("nightly")))
        return first + second

    call = client.lock("nightly")(define(work))
    assert alice.do(call, 1, second=2) == 3
    assert alice.do(call, 3, second=4) == 7
    assert held == [True, True]
    assert server.keys() == set()
    assert (call.__name__, call.__doc__) == ("work", "What it does.")


def test_every_kind_of_lock_decorates(client: Any, define: Define, alice: Any) -> None:
    both = client.read_write_lock("both")
    for lock in (
        client.fair_lock("fair"),
        client.fenced_lock("fenced"),
        client.spin_lock("spin"),
        both.read,
        both.write,
        client.multi_lock(client.lock("one"), client.lock("two")),
    ):
        call = lock(define(functools.partial(alice_holds, lock)))
        assert alice.do(call), lock


def alice_holds(lock: Any) -> bool:
    """Known without asking the server, hence in both flavours."""
    return " held by this " in repr(lock)


def test_an_error_of_the_function_comes_out_and_the_lock_is_free(
    client: Any, define: Define, alice: Any, server: Server
) -> None:
    def fails() -> None:
        raise KeyError("reason")

    with pytest.raises(KeyError, match="reason"):
        alice.do(client.lock("nightly")(define(fails)))
    assert server.keys() == set()


def test_the_wrong_kind_of_function_is_refused_at_decoration(client: Any, flavour: Flavour) -> None:
    async def coroutine_function() -> None: ...

    def function() -> None: ...

    wrong = coroutine_function if flavour.name == "sync" else function
    others = (generator_function, asynchronous_generator_function, Called, 1, staticmethod(wrong))
    for decorator in (client.lock("nightly"), client.locked("nightly")):
        for each in (wrong, functools.partial(wrong), *others):
            with pytest.raises(TypeError, match=r"a lock of .+ decorates "):
                decorator(each)


async def coroutine() -> None:
    raise AssertionError("it runs without the lock")


def task() -> Any:
    return asyncio.get_running_loop().create_task(coroutine())


def future() -> Any:
    return asyncio.get_running_loop().create_future()


UNFINISHED = {
    "coroutine": (coroutine, "decorate the coroutine function"),
    "generator": (generator_function, "inside the generator function"),
    "async generator": (asynchronous_generator_function, "inside the generator function"),
    "concurrent future": (concurrent.futures.Future, "decorate the function that does the work"),
}
ON_A_LOOP = {
    "task": (task, "decorate the coroutine function"),
    "future": (future, "decorate the coroutine function"),
}


def wrapped(function: Callable[[], Any], made: list[Any]) -> Callable[[], Any]:
    """What a decorator that knows only functions makes of it: an ordinary function."""

    @functools.wraps(function)
    def wrapper() -> Any:
        made.append(function())
        return made[0]

    return wrapper


def assert_it_has_ended(unfinished: Any) -> None:
    if inspect.iscoroutine(unfinished):
        assert inspect.getcoroutinestate(unfinished) == inspect.CORO_CLOSED
    elif inspect.isgenerator(unfinished):
        assert inspect.getgeneratorstate(unfinished) == inspect.GEN_CLOSED
    elif not inspect.isasyncgen(unfinished):
        assert unfinished.cancelled()


@pytest.mark.values("kind", UNFINISHED)
def test_work_that_would_run_after_the_release_is_refused_at_the_call(
    client: Any, define: Define, alice: Any, server: Server, kind: str
) -> None:
    function, advice = UNFINISHED[kind]
    for decorator in (client.lock("nightly"), client.locked("nightly")):
        made: list[Any] = []
        call = decorator(define(wrapped(function, made)))
        with pytest.raises(TypeError, match=f"{function.__name__}.*{advice}"):
            alice.do(call)
        assert_it_has_ended(made[0])
        assert server.keys() == set()


@pytest.mark.values("kind", ON_A_LOOP)
def test_a_task_or_future_that_a_function_returns_is_refused(server: Server, kind: str) -> None:
    function, advice = ON_A_LOOP[kind]
    made: list[Any] = []

    async def main() -> None:
        with holdfast.Client(server.url) as client, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # it blocks the loop
            with pytest.raises(TypeError, match=advice):
                client.lock("nightly")(wrapped(function, made))()
        await asyncio.wait(made)

    asyncio.run(main())
    assert made[0].cancelled()
    assert server.keys() == set()


def test_a_name_is_made_of_the_arguments_of_a_call(
    client: Any, define: Define, alice: Any, server: Server
) -> None:
    def work(user: Any, /, *parts: str, day: int = 7, **more: str) -> set[bytes]:
        return server.keys()

    call = client.locked("r:{user.id}:{parts[0]}:{day:>{more[width]}}")(define(work))
    assert alice.do(call, SimpleNamespace(id=42), "a", "b", width="2") == {b"r:42:a: 7"}
    assert server.keys() == set()
    plain = client.locked("{{plain}}")(define(work))
    assert alice.do(plain, None) == {b"{plain}"}


@pytest.mark.parametrize(
    ("template", "named"),
    [("report:{}", "positional"), ("report:{0}", "positional"), ("report:{0.id}", "positional"),
     ("report:{user:{}}", "positional"), ("report:{", "format string"), ("", "name"),
     ("report:{order}", "order"), ("report:{more}:{extra}", "extra"),
     ("report:{user!z}", "format string")],
    ids=["empty", "number", "attribute", "nested", "unfinished", "no-name", "missing", "keyword",
         "conversion"],
)  # fmt: skip
def test_a_template_that_does_not_fit_is_refused_at_decoration(
    client: Any, define: Define, template: str, named: str
) -> None:
    def work(user: Any, **more: Any) -> None: ...

    with pytest.raises(ValueError, match=named):
        client.locked(template)(define(work))


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [({"kind": "spin_lock"}, ValueError, "kind"), ({"kind": 1}, TypeError, "kind"),
     ({"busy": "never"}, ValueError, "busy"), ({"busy": None}, TypeError, "busy"),
     ({"busy": "skip", "wait": 1}, ValueError, "wait"),
     ({"busy": "raise", "wait": 0}, ValueError, "wait"),
     ({"wait": -1}, ValueError, "wait"), ({"wait": "1"}, TypeError, "wait"),
     ({"lease": 0}, ValueError, "lease"), ({"on_lost": 1}, TypeError, "on_lost"),
     ({"kind": "read", "at_least": 1}, ValueError, "at_least"),
     ({"permits": 1}, ValueError, "permits"),
     ({"kind": "read", "permits": 1}, ValueError, "permits"),
     ({"kind": "semaphore", "permits": 0}, ValueError, "permits"),
     ({"kind": "semaphore", "lease": 1}, ValueError, "lease"),
     ({"colour": 1}, TypeError, r"locked\(\) got an unexpected keyword argument 'colour'")],
    ids=str,
)  # fmt: skip
def test_bad_options_are_refused_before_the_first_call(
    client: Any, options: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        client.locked("report:{user}", **options)
    with pytest.raises(TypeError, match="template"):
        client.locked(b"report")


@pytest.mark.parametrize("kind", ["semaphore", "permit_semaphore"])
def test_as_many_calls_at_a_time_as_there_are_permits(
    client: Any, define: Define, alice: Any, server: Server, kind: str
) -> None:
    left: list[bytes] = []

    def work(user: str) -> str:
        left.append(server.inspect.get(f"calls:{user}"))
        return user

    throttled = client.locked("calls:{user}", kind=kind, permits=2, busy="skip")(define(work))
    assert alice.do(throttled, "ann") == "ann"
    assert left == [b"1"]
    assert server.inspect.get("calls:ann") == b"2"
    server.inspect.set("calls:bob", 0)
    assert alice.do(throttled, "bob") is None
    server.inspect.delete("calls:bob")
    assert alice.do(throttled, "bob") == "bob"


@pytest.mark.parametrize("kind", ["lock", "fair_lock", "fenced_lock", "read", "write"])
def test_a_busy_lock_is_waited_for_refused_or_skipped(
    client: Any, define: Define, alice: Any, bob: Any, kind: str
) -> None:
    def work() -> str:
        return "done"

    other = client.read_write_lock("name").write if kind in {"read", "write"} else client.lock
    other = other if kind in {"read", "write"} else getattr(client, kind)("name")
    alice.do(other.acquire)
    patient = client.locked("name", kind=kind, wait=0.01)(define(work))
    refusing = client.locked("name", kind=kind, busy="raise")(define(work))
    skipping = client.locked("name", kind=kind, busy="skip")(define(work))
    timed_out(lambda: bob.do(patient), "name")
    with pytest.raises(holdfast.LockTimeout, match="name"):
        bob.do(refusing)
    assert bob.do(skipping) is None
    waiting = bob.begin(client.locked("name", kind=kind)(define(work)))
    alice.do(other.release)
    assert waiting.result(BOUND) == "done"
    assert [bob.do(call) for call in (patient, refusing, skipping)] == ["done"] * 3


def test_a_timeout_of_the_function_itself_is_not_taken_for_a_busy_lock(
    client: Any, define: Define, alice: Any
) -> None:
    def work() -> None:
        raise holdfast.LockTimeout("its own")

    with pytest.raises(holdfast.LockTimeout, match="its own"):
        alice.do(client.locked("name", busy="skip")(define(work)))


def test_the_name_of_a_method_may_be_made_of_its_object(
    client: Any, define: Define, alice: Any, server: Server
) -> None:
    class Account:
        number = 5

        @client.locked("account:{self.number}")
        @define
        def names(self) -> set[bytes]:
            return server.keys()

    assert alice.do(Account().names) == {b"account:5"}


@pytest.mark.parametrize("kind", ["lock", "fenced_lock"])
def test_a_minimum_hold_time_is_the_locks(
    client: Any, define: Define, alice: Any, bob: Any, kind: str
) -> None:
    """A second call within it is skipped, in the same thread or task too."""

    def work() -> str:
        return "done"

    call = client.locked("name", kind=kind, busy="skip", at_least=20)(define(work))
    assert alice.do(call) == "done"
    assert alice.do(call) is bob.do(call) is None
    with pytest.raises(ValueError, match="at_least"):
        client.locked("name", kind=kind, at_least=5, lease=4)
