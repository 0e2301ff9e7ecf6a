"""The stand-ins for redis-py's locks: a selection; `nox -s python-redis-py` runs its tests."""

from __future__ import annotations

import asyncio
import gc
import inspect
import re
import subprocess
import sys
import threading
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest
import redis
import redis.asyncio
import redis.asyncio.lock
import redis.lock

import holdfast
import holdfast.asyncio
import holdfast.inspect
from holdfast.contrib.redis_py import AsyncLock, Lock, async_client_of, client_of
from tests.frameworks.contrib.redis_py.stand_in import LEFT_OUT
from tests.support.actors import PAUSE, Flavour
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually
from tools.lint.tree import ROOT

pytestmark = pytest.mark.servers("redis")


@pytest.fixture
def r(flavour: Flavour, server: Server, alice: Any) -> Any:
    """A client of redis-py."""
    source = (redis.asyncio if flavour.asyncio else redis).Redis(port=server.port)
    yield source
    client = async_client_of(source) if flavour.asyncio else client_of(source)
    alice.do(client.close)
    alice.do(source.aclose if flavour.asyncio else source.close)


@pytest.fixture
def lock_class(flavour: Flavour) -> Any:
    return AsyncLock if flavour.asyncio else Lock


@pytest.mark.flavours("sync")
def test_constructor_and_methods_are_those_of_redis_py(flavour: Flavour) -> None:
    for ours, theirs in ((Lock, redis.lock.Lock), (AsyncLock, redis.asyncio.lock.Lock)):
        known = inspect.signature(theirs.__init__).parameters
        assert list(inspect.signature(ours.__init__).parameters) == list(known)
        for name in ("acquire", "release", "locked", "owned", "extend", "reacquire"):
            expected = list(inspect.signature(getattr(theirs, name)).parameters)
            assert list(inspect.signature(getattr(ours, name)).parameters) == expected, name


def test_a_lock_of_redis_py_is_replaced_by_naming_the_class(
    r: Any, lock_class: Any, server: Server, alice: Any, bob: Any
) -> None:
    lock = r.lock("name", timeout=10, lock_class=lock_class)
    assert (lock.name, lock.timeout, lock.blocking, lock.thread_local) == ("name", 10, True, True)
    assert alice.do(lock.acquire, token="word")
    assert alice.do(lambda: lock.local.token) == b"word"
    assert alice.do(lock.owned) is alice.do(lock.locked) is True
    assert 9000 < server.inspect.pttl("name") <= 10_000
    other = r.lock("name", blocking_timeout=1, lock_class=lock_class)
    assert bob.do(other.acquire) is bob.do(other.owned) is False
    with pytest.raises(redis.exceptions.LockError, match="name") as caught:
        bob.inside(other, lambda _: None)
    assert caught.value.lock_name == "name"
    waiting = bob.begin(other.acquire, blocking_timeout=10)
    alice.do(lock.release)
    assert waiting.result(BOUND)
    bob.do(other.release)
    assert server.keys() == set()


def test_a_waiter_is_woken_by_a_message_instead_of_sleeping(
    r: Any, lock_class: Any, server: Server, alice: Any, bob: Any
) -> None:
    lock, other = (r.lock("name", sleep=3600, lock_class=lock_class) for _ in range(2))
    alice.do(lock.acquire)
    waiting = bob.begin(other.acquire)
    eventually(server.subscribed_channels)
    alice.do(lock.release)
    assert waiting.result(BOUND)
    bob.do(other.release)


@pytest.mark.flavours("sync")
def test_processes_of_neighbouring_releases_exclude_each_other_during_the_change(
    r: Any, server: Server, flavour: Flavour
) -> None:
    """The three releases of the guide: the old lock, both in this order, the new lock."""
    with holdfast.Client(server.url) as ours:

        def old() -> Any:
            return r.lock("order", timeout=60, blocking=False)

        def both() -> Any:
            stack = ExitStack()
            with stack:
                stack.enter_context(old())
                stack.enter_context(new())
                return stack.pop_all()

        def new() -> Any:
            return ours.lock("order:2", wait=0).hold()

        for first, second in ((old, both), (both, old), (both, both), (both, new), (new, both)):
            with first():
                with pytest.raises((redis.exceptions.LockError, holdfast.LockTimeout)):
                    second().__enter__()
                assert len(server.keys()) == (2 if first is both else 1)  # nothing is left behind
            with second():
                pass
        assert server.keys() == set()


def test_it_is_not_reentrant_as_redis_py_is_not(r: Any, lock_class: Any, alice: Any) -> None:
    lock = r.lock("name", lock_class=lock_class)
    assert alice.do(lock.acquire)
    assert not alice.do(lock.acquire, blocking=False)
    alice.do(lock.release)


def test_without_a_timeout_it_is_renewed(
    r: Any, lock_class: Any, server: Server, alice: Any
) -> None:
    lock = r.lock("name", lock_class=lock_class)
    assert alice.do(lock.acquire)
    assert 0 < server.inspect.pttl("name") <= 30_000
    for forbidden in (lock.reacquire, lambda: lock.extend(1)):
        with pytest.raises(redis.exceptions.LockError, match="timeout"):
            alice.do(forbidden)
    alice.do(lock.release)


def test_extend_and_reacquire_set_the_time_that_is_left(
    r: Any, lock_class: Any, server: Server, alice: Any
) -> None:
    lock = r.lock("name", timeout=10, lock_class=lock_class)
    alice.do(lock.acquire)
    assert alice.do(lock.extend, 10) is True
    assert 19_000 < server.inspect.pttl("name") <= 20_000
    assert alice.do(lock.extend, 5, replace_ttl=True) is True
    assert 4000 < server.inspect.pttl("name") <= 5000
    assert alice.do(lock.reacquire) is True
    assert 9000 < server.inspect.pttl("name") <= 10_000
    alice.do(lock.release)


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
@pytest.mark.parametrize("takes", ["removed", "replaced"])
def test_a_hold_that_is_gone_is_not_owned_any_more(
    r: Any, lock_class: Any, server: Server, alice: Any, takes: str
) -> None:
    lock = r.lock("name", timeout=10, lock_class=lock_class)
    alice.do(lock.acquire)
    server.inspect.delete("name")
    if takes == "replaced":
        server.inspect.set("name", "token of redis-py")
    assert alice.do(lock.owned) is False
    assert alice.do(lock.locked) is (takes == "replaced")
    for step in (lambda: lock.extend(1), lock.reacquire, lock.release):
        with pytest.raises(redis.exceptions.LockNotOwnedError, match="name"):
            alice.do(step)
    with pytest.raises(redis.exceptions.LockError):
        alice.do(lock.release)


def test_a_lost_hold_at_the_end_of_a_block_raises_or_is_logged(
    r: Any, lock_class: Any, server: Server, alice: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def lose(_: Any) -> None:
        server.inspect.delete("name")

    with pytest.raises(redis.exceptions.LockNotOwnedError):
        alice.inside(r.lock("name", timeout=10, lock_class=lock_class), lose)
    quiet = r.lock("name", timeout=10, raise_on_release_error=False, lock_class=lock_class)
    alice.inside(quiet, lose)
    assert "'name' was not held any more" in caplog.text


@pytest.mark.realtime
def test_it_is_acquired_again_inside_a_block_whose_timeout_is_over(
    r: Any, lock_class: Any, server: Server, alice: Any
) -> None:
    lock = r.lock("name", timeout=0.2, raise_on_release_error=False, lock_class=lock_class)

    def body(_: Any) -> Any:
        while server.keys():
            yield PAUSE
        assert (yield lock.acquire(blocking_timeout=5)) is True

    alice.inside(lock, body)


def test_another_thread_releases_where_the_hold_is_not_local(
    r: Any, lock_class: Any, server: Server, alice: Any, bob: Any
) -> None:
    lock = r.lock("name", thread_local=False, lock_class=lock_class)
    alice.do(lock.acquire)
    bob.do(lock.release)
    assert server.keys() == set()


def test_a_token_that_is_set_in_another_object_passes_the_hold_on(
    r: Any, lock_class: Any, server: Server, alice: Any
) -> None:
    first, second = (r.lock("name", thread_local=False, lock_class=lock_class) for _ in range(2))
    alice.do(first.acquire, token="word")
    second.local.token = b"word"
    assert alice.do(second.owned)
    alice.do(second.release)
    assert server.keys() == set()
    for token in (b"another", "word"):
        second.local.token = token
        assert not alice.do(second.owned)
        with pytest.raises(redis.exceptions.LockNotOwnedError):
            alice.do(second.release)
    with pytest.raises(redis.exceptions.LockNotOwnedError):
        alice.do(first.release)


WORKER = """
import sys, redis
from holdfast.contrib.redis_py import Lock

port, token, step, *given = sys.argv[1:]
lock = redis.Redis(port=int(port)).lock("name", timeout=60, lock_class=Lock)
lock.local.token = token.encode()
assert lock.owned()
getattr(lock, step)(*map(float, given))
"""


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
@pytest.mark.sampled
@pytest.mark.parametrize("given", [(10, None), (10, "word"), (None, None)], ids=str)
def test_a_token_holds_the_lock_in_any_process(
    r: Any, lock_class: Any, server: Server, alice: Any, given: tuple[float | None, str | None]
) -> None:
    timeout, token = given

    def elsewhere(*step: str) -> None:
        word = alice.do(lambda: lock.local.token).decode()
        subprocess.run([sys.executable, "-c", WORKER, str(server.port), word, *step], check=True)

    lock = r.lock("name", timeout=timeout, lock_class=lock_class)
    assert alice.do(lock.acquire, token=token)
    elsewhere("extend", "100")
    assert server.inspect.pttl("name") > 90_000
    elsewhere("reacquire")
    assert 50_000 < server.inspect.pttl("name") <= 60_000
    elsewhere("release")
    assert server.keys() == set()
    assert not alice.do(lock.owned)
    with pytest.raises(redis.exceptions.LockNotOwnedError):
        alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_a_lock_object_that_is_dropped_leaves_its_hold_to_the_token(
    r: Any, lock_class: Any, server: Server, flavour: Flavour
) -> None:
    lock = r.lock("name", timeout=10, lock_class=lock_class)
    lock.acquire()
    token = lock.local.token
    del lock
    gc.collect()  # a ResourceWarning would be an error
    lock = r.lock("name", timeout=10, lock_class=lock_class)
    lock.local.token = token
    lock.release()
    assert server.keys() == set()


def test_a_waiter_has_the_lock_by_its_token(
    r: Any, lock_class: Any, server: Server, alice: Any, bob: Any
) -> None:
    first, second, third = (r.lock("name", 10, lock_class=lock_class) for _ in range(3))
    alice.do(first.acquire)
    waiting = bob.begin(second.acquire, token="word")
    eventually(server.subscribed_channels)
    alice.do(first.release)
    assert waiting.result(BOUND)
    alice.do(lambda: setattr(third.local, "token", b"word"))
    assert alice.do(third.owned)
    assert 9000 < server.inspect.pttl("name") <= 10_000
    alice.do(third.release)
    assert server.keys() == set()


def _interrupted(flavour: Flavour, step: Any, when: str) -> Any:
    """The step, with an interrupt of the acquire before, within or after it."""

    async def cancelled(*args: Any, **named: Any) -> Any:
        if when == "after":
            await step(*args, **named)
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return await (step(*args, **named) if when == "within" else asyncio.sleep(0))

    def stopped(*args: Any, **named: Any) -> Any:
        if when == "after":
            step(*args, **named)
        raise KeyboardInterrupt

    return cancelled if flavour.asyncio else stopped


async def _outcome(acquire: Any) -> None:
    """Raise KeyboardInterrupt, as in a thread, where the task that acquires is cancelled."""
    task = asyncio.ensure_future(acquire())
    await asyncio.wait([task])
    if task.cancelled():
        raise KeyboardInterrupt
    task.result()


@pytest.mark.parametrize(
    ("step", "when"), [("detach", "within"), ("lua_move", "before"), ("lua_move", "after")]
)
def test_a_waiter_that_is_interrupted_while_it_is_granted_the_lock_leaves_it_free(
    *,
    r: Any,
    lock_class: Any,
    server: Server,
    flavour: Flavour,
    alice: Any,
    bob: Any,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    when: str,
) -> None:
    first, second = (r.lock("name", 10, lock_class=lock_class) for _ in range(2))
    alice.do(first.acquire)
    owner: Any = holdfast.asyncio.Hold if flavour.asyncio else holdfast.Hold
    if step == "lua_move":
        owner = second
    monkeypatch.setattr(owner, step, _interrupted(flavour, getattr(owner, step), when))
    waiting = bob.begin(*((_outcome,) if flavour.asyncio else ()), second.acquire)
    eventually(server.subscribed_channels)
    alice.do(first.release)
    with pytest.raises(KeyboardInterrupt):
        waiting.result(BOUND)
    assert server.keys() == set()


@pytest.mark.flavours("sync")
@pytest.mark.parametrize("token", [None, "word"])
def test_an_acquire_that_is_interrupted_before_its_reply_leaves_the_lock_free(
    r: Any, server: Server, monkeypatch: pytest.MonkeyPatch, flavour: Flavour, token: str | None
) -> None:
    """A token that was given may have the lock since an earlier acquire, and stays."""
    lock = r.lock("name", 10, lock_class=Lock)
    monkeypatch.setattr(lock, "lua_acquire", _interrupted(flavour, lock.lua_acquire, "after"))
    with pytest.raises(KeyboardInterrupt):
        lock.acquire(token=token)
    assert server.keys() == ({b"name"} if token else set())


def test_a_name_prefix_applies_to_each_step_of_each_lock(
    *, r: Any, lock_class: Any, server: Server, flavour: Flavour, alice: Any, bob: Any
) -> None:
    (async_client_of if flavour.asyncio else client_of)(r, name_prefix="app:")
    renewed = r.lock("name", sleep=3600, lock_class=lock_class)
    limited = r.lock("name", timeout=10, sleep=3600, lock_class=lock_class)
    for held, wanted in ((renewed, limited), (limited, renewed), (limited, limited)):
        assert alice.do(held.acquire)
        assert server.keys() == {b"app:name"}
        assert alice.do(held.locked) is alice.do(held.owned) is True
        if held is limited:
            assert alice.do(held.extend, 1) is alice.do(held.reacquire) is True
        assert bob.do(wanted.acquire, blocking=False) is False
        waiting = bob.begin(wanted.acquire)
        eventually(server.subscribed_channels)
        alice.do(held.release)
        assert waiting.result(BOUND)
        assert server.keys() == {b"app:name"}
        bob.do(wanted.release)
        assert server.keys() == set()


@pytest.mark.parametrize("name", [7, 1.5, b"\xff"])
def test_a_name_is_what_redis_py_sends(
    r: Any, lock_class: Any, server: Server, alice: Any, name: Any
) -> None:
    for timeout in (10, None):
        lock = r.lock(name, timeout=timeout, lock_class=lock_class)
        assert alice.do(lock.acquire)
        assert server.keys() == {name if isinstance(name, bytes) else str(name).encode()}
        alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_a_subclass_may_have_other_steps(r: Any, server: Server, flavour: Flavour) -> None:
    class Counting(Lock):
        steps: ClassVar[list[str]] = []

        def do_acquire(self, token: Any) -> bool:
            self.steps.append("acquire")
            return len(self.steps) > 2 and super().do_acquire(token)

        def do_release(self, expected_token: Any) -> None:
            self.steps.append("release")
            super().do_release(expected_token)

    with r.lock("name", timeout=10, sleep=0.01, lock_class=Counting):
        assert server.inspect.exists("name")
    assert Counting.steps == ["acquire", "acquire", "acquire", "release"]
    assert server.keys() == set()


@pytest.mark.flavours("sync")
def test_a_subclass_may_have_other_scripts(r: Any, server: Server, flavour: Flavour) -> None:
    class Capped(Lock):
        LUA_EXTEND_SCRIPT = """
        if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
        return redis.call('pexpire', KEYS[1], math.min(ARGV[2], 5000))
        """

    r.lock("another", timeout=10, lock_class=Lock)  # which has registered its own
    lock = r.lock("name", timeout=10, lock_class=Capped)
    lock.acquire()
    lock.extend(60)
    assert 4000 < server.inspect.pttl("name") <= 5000
    given: list[Any] = []
    lock.lua_extend = lambda keys, args, client: given.append((keys, args, client)) or 1
    lock.extend(2)
    assert given == [([b"name"], [lock.local.token, 2000, "0"], r)]
    lock.release()


@pytest.mark.flavours("sync")
def test_the_holder_of_a_token_is_shown_as_a_lock(
    r: Any, lock_class: Any, server: Server, flavour: Flavour
) -> None:
    lock = r.lock("name", timeout=10, lock_class=lock_class)
    lock.acquire()
    with holdfast.Client(server.url) as client:
        [shown] = holdfast.inspect.locks(client)
        assert (shown.name, [owner.id for owner in shown.owners]) == (
            "name",
            [lock.local.token.decode()],
        )
        assert client.lock("name").force_release()
    assert not lock.owned()


def test_negative_times_are_treated_as_by_redis_py(
    r: Any, lock_class: Any, server: Server, alice: Any
) -> None:
    never = r.lock("name", timeout=-1, lock_class=lock_class)
    with pytest.raises(redis.exceptions.ResponseError, match="timeout must be positive"):
        alice.do(never.acquire)
    lock = r.lock("name", timeout=10, lock_class=lock_class)
    assert alice.do(lock.acquire, blocking_timeout=-1)
    other = r.lock("name", timeout=10, blocking_timeout=-1, lock_class=lock_class)
    assert not alice.do(other.acquire)
    assert alice.do(lock.extend, -5)
    assert 0 < server.inspect.pttl("name") <= 5000
    assert alice.do(lock.extend, -20)
    assert server.keys() == set()
    with pytest.raises(redis.exceptions.LockNotOwnedError):
        alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_a_local_hold_is_the_threads_own(
    r: Any, lock_class: Any, alice: Any, bob: Any, flavour: Flavour
) -> None:
    lock = r.lock("name", lock_class=lock_class)
    alice.do(lock.acquire)
    with pytest.raises(redis.exceptions.LockError):
        bob.do(lock.release)
    alice.do(lock.release)
    assert threading.current_thread()


def test_while_the_key_is_a_lock_of_redis_py_it_is_busy(
    r: Any, lock_class: Any, server: Server, alice: Any
) -> None:
    server.inspect.set("name", "token of redis-py")
    lock = r.lock("name", sleep=0.01, lock_class=lock_class)
    assert alice.do(lock.acquire, blocking=False) is False
    assert alice.do(lock.acquire, blocking_timeout=1) is False
    waiting = alice.begin(lock.acquire)
    server.inspect.delete("name")
    assert waiting.result(BOUND)
    alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_an_unreachable_server_is_an_error_of_redis_py(flavour: Flavour) -> None:
    source = redis.Redis(port=1)
    client = client_of(source, retries=0, command_timeout=0.3)
    assert isinstance(client, holdfast.Client)
    with pytest.raises(redis.exceptions.ConnectionError):
        source.lock("name", lock_class=Lock).acquire()
    with pytest.raises(ValueError, match="too late"):
        client_of(source, retries=1)
    client.close()


@pytest.mark.parametrize("options", [{"blocking": False}, {"blocking_timeout": 0.3}])
def test_a_server_that_refuses_to_work_is_an_error_of_redis_py(
    options: dict[str, Any], lock_class: Any, private_server: Server, flavour: Flavour, alice: Any
) -> None:
    source = (redis.asyncio if flavour.asyncio else redis).Redis(port=private_server.port)
    private_server.inspect.config_set("min-replicas-to-write", 1)
    with pytest.raises(redis.exceptions.ResponseError, match="NOREPLICAS"):
        alice.do(source.lock("name", lock_class=lock_class).acquire, **options)
    alice.do((async_client_of if flavour.asyncio else client_of)(source).close)
    alice.do(source.aclose if flavour.asyncio else source.close)


@pytest.mark.flavours("sync")
def test_the_guide_lists_each_test_of_redis_py_that_is_left_out(flavour: Flavour) -> None:
    page = (ROOT / "docs/guides/redis-py.md").read_text()
    assert set(re.findall(r"`(test_\w+)`", page)) == set(LEFT_OUT)


@pytest.mark.flavours("sync")
def test_the_guide_translates_each_term_of_redis_py(flavour: Flavour) -> None:
    page = (ROOT / "docs/guides/redis-py.md").read_text()
    table = page.split("## Term by term")[1].split("```")[0]
    rows = re.findall(r"^\| (.*?) \|", table, re.MULTILINE)
    theirs = " ".join(word for row in rows for word in re.findall(r"`(.*?)`", row))
    methods = [
        method
        for name, method in inspect.getmembers(redis.lock.Lock, inspect.isfunction)
        if not name.startswith(("_", "do_", "register_"))
    ]
    terms = {method.__name__ for method in methods}
    for method in [redis.lock.Lock.__init__, *methods]:
        terms |= set(inspect.signature(method).parameters)
    terms -= {"self", "redis", "name", "additional_time"}  # which are given by position
    assert {term for term in terms if not re.search(rf"\b{term}\b", theirs)} == set()
