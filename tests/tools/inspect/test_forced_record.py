"""Who has released a lock by force is recorded beside it, and logged by the former owner."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from holdfast import inspect, servers
from tests.support.losses import fields_of
from tests.support.renewals import KEPT
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.servers("redis"),
    pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning"),
]

RECORD = "holdfast_forced:{demo}"


def url_of(server: Server, *rights: str) -> str:
    words = ["reset", "on", ">secret", "~*", "&*", *rights]
    server.inspect.execute_command("ACL", "SETUSER", "operator", *words)
    return server.url.replace("redis://", "redis://operator:secret@")


@pytest.fixture
def operator(server: Server) -> Iterator[holdfast.Client]:
    """Another user's client, whose connections have a name."""
    with holdfast.Client(url_of(server, "+@all"), client_name="night-shift") as client:
        yield client


def test_user_connection_time_and_owner_are_recorded(
    client: holdfast.Client, operator: holdfast.Client
) -> None:
    hold = client.lock("demo", lease=60).hold()
    found = inspect.lock(client, "demo")
    assert found is not None
    assert found.forced == ()
    assert inspect.force_release(operator, "demo")
    [forced] = inspect.forced_releases(client, "demo")
    assert forced.user == "operator"
    assert forced.client is not None
    assert forced.client.label == "night-shift"
    assert forced.client.address.startswith("127.0.0.1:")
    assert abs(forced.at - time.time()) < 60
    assert forced.owners == (found.owners[0].id,)
    with pytest.raises(holdfast.LockLostError):
        hold.release()
    client.lock("demo", lease=60).acquire()
    again = inspect.lock(client, "demo")
    assert again is not None
    assert again.forced == (forced,)
    assert again.to_json()["forced"] == [forced.to_json()]


def test_permits_are_recorded_too(client: holdfast.Client, operator: holdfast.Client) -> None:
    semaphore = client.permit_semaphore("demo", lease=60)
    semaphore.try_set_permits(1)
    permit = semaphore.acquire()
    assert inspect.force_release(operator, "demo")
    [forced] = inspect.forced_releases(client, "demo")
    assert forced.owners == (permit,)


def test_the_newest_ten_are_kept_for_thirty_days(
    server: Server, client: holdfast.Client, operator: holdfast.Client
) -> None:
    owners = []
    for _ in range(12):
        hold = client.lock("demo", lease=60).hold()
        found = inspect.lock(client, "demo")
        assert found is not None
        owners.append(found.owners[0].id)
        assert inspect.force_release(operator, "demo")
        with pytest.raises(holdfast.LockLostError):
            hold.release()
    kept = inspect.forced_releases(client, "demo")
    assert [forced.owners[0] for forced in kept] == owners[:-11:-1]
    assert server.inspect.zcard(RECORD) == 10
    assert 29 * 24 * 3600 < server.inspect.ttl(RECORD) <= 30 * 24 * 3600


def test_nothing_is_recorded_where_nothing_was_released(
    server: Server, client: holdfast.Client, operator: holdfast.Client
) -> None:
    assert not inspect.force_release(operator, "demo")
    client.read_write_lock("demo").write.acquire()
    assert not operator.read_write_lock("demo").read.force_release()
    client.read_write_lock("demo").write.release()
    assert server.keys() == set()
    client.lock("demo", lease=60).acquire()
    found = inspect.lock(client, "demo")
    assert found is not None
    client.lock("demo").release()
    # As when the owner releases between the two steps.
    owners = [owner.id for owner in found.owners]
    assert not servers.of(operator).force_release(b"demo", found.kind, owners)
    assert server.keys() == set()


def test_a_user_that_may_not_write_the_record_releases_without_one(
    server: Server,
    client: holdfast.Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    client.lock("demo", lease=60).acquire()
    with holdfast.Client(url_of(server, "+@all", "-zadd")) as other:
        assert inspect.force_release(other, "demo")
    assert "the forced release of 'demo' is not recorded on the server" in caplog.text
    assert "NOPERM" in caplog.text
    assert server.keys() == set()


def test_what_another_program_has_put_there_is_not_shown(
    server: Server, client: holdfast.Client
) -> None:
    whole = {"at": 1, "user": "u", "client": None, "owners": []}
    broken = [{**whole, "at": at} for at in (None, "x", 1e300, float("nan"), [])]
    broken += [{**whole, "client": "x"}, {**whole, "owners": 1}, {"at": 1, "user": "u"}]
    for text in ("", "x", "[]", "{}", "[" * 100_000, *map(json.dumps, broken)):
        server.inspect.delete(RECORD)
        server.inspect.zadd(RECORD, {text: 1})
        assert inspect.forced_releases(client, "demo") == ()
    hostile = {"address": "\n2\u202e", "name": "\x1b[31m", "library": 7}
    server.inspect.zadd(RECORD, {json.dumps({**whole, "user": "a\nb", "client": hostile}): 2})
    [forced] = inspect.forced_releases(client, "demo")
    assert str(forced).isprintable()
    server.inspect.delete(RECORD)
    server.inspect.set(RECORD, "text")
    assert inspect.forced_releases(client, "demo") == ()


def _losses(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]


def _expected(caplog: pytest.LogCaptureFixture) -> Any:
    def found() -> bool:
        return any(
            "was lost: it was released by force at 2" in text
            and "by user 'operator', connection night-shift:" in text
            for text in _losses(caplog)
        )

    return found


@pytest.mark.realtime
def test_the_former_owner_logs_who_did_it(
    server: Server, operator: holdfast.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with holdfast.Client(server.url, lease=KEPT, name_prefix="de") as owner:
        lock = owner.lock("mo")
        lock.acquire()
        assert inspect.force_release(operator, "demo")
        eventually(_expected(caplog))
        [text] = _losses(caplog)
        assert text.startswith("the hold on 'demo' (thread 'MainThread') was lost: ")
        assert fields_of(caplog, "lost")["cause"] == "forced"
        said = text.partition(" was lost: ")[2]
        assert lock.loss == said
        assert f"<Lock 'mo' lost by this thread: {said}>" == repr(lock)
        with pytest.raises(holdfast.LockLostError, match=re.escape(said)):
            lock.release()
        server.inspect.delete("demo")


BY_OPERATOR = "was lost: it was released by force at 2.* by user 'operator', connection night-shift"


def test_the_release_that_finds_the_loss_says_who_did_it(
    client: holdfast.Client, operator: holdfast.Client
) -> None:
    lock = client.lock("demo", lease=60)
    for release in (lock.release, lambda: lock.__exit__(None, None, None)):
        lock.acquire()
        assert inspect.force_release(operator, "demo")
        with pytest.raises(holdfast.LockLostError, match=BY_OPERATOR) as raised:
            release()
        assert str(raised.value).endswith("; another owner may have held it at the same time")
    hold = lock.hold()
    assert inspect.force_release(operator, "demo")
    with pytest.raises(holdfast.LockLostError, match=BY_OPERATOR):
        hold.release()


@pytest.mark.parametrize("watched", [False, True])
def test_so_does_the_release_of_a_task(
    server: Server, operator: holdfast.Client, watched: bool
) -> None:
    async def main() -> None:
        on_lost = (lambda _: None) if watched else None
        async with holdfast.asyncio.Client(server.url) as owner:
            lock = owner.lock("demo", lease=60, on_lost=on_lost)
            await lock.acquire()
            assert await asyncio.to_thread(inspect.force_release, operator, "demo")
            with pytest.raises(holdfast.LockLostError, match=BY_OPERATOR):
                await lock.release()
            with pytest.raises(holdfast.LockLostError, match=BY_OPERATOR):
                async with lock:
                    assert await asyncio.to_thread(inspect.force_release, operator, "demo")
            hold = await lock.hold()
            assert await asyncio.to_thread(inspect.force_release, operator, "demo")
            with pytest.raises(holdfast.LockLostError, match=BY_OPERATOR):
                await hold.release()

    asyncio.run(main())


def test_a_program_records_nothing(server: Server, client: holdfast.Client) -> None:
    for kind in (client.lock, client.fair_lock, client.fenced_lock):
        hold = kind("demo", lease=60).hold()
        assert kind("demo").force_release()
        assert inspect.forced_releases(client, "demo") == ()
        with pytest.raises(holdfast.LockLostError):
            hold.release()


@pytest.mark.realtime
def test_so_does_the_process_of_a_task(
    server: Server, operator: holdfast.Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with holdfast.asyncio.Client(server.url, lease=KEPT) as owner:
            lock = owner.lock("demo")
            await lock.acquire()
            assert await asyncio.to_thread(inspect.force_release, operator, "demo")
            await asyncio.to_thread(eventually, _expected(caplog))
            assert "lost by this task: it was released by force at 2" in repr(lock)
            with pytest.raises(holdfast.LockLostError, match="by user 'operator'"):
                await lock.release()
            hold = await lock.hold()
            assert await asyncio.to_thread(inspect.force_release, operator, "demo")
            await asyncio.to_thread(eventually, lambda: "released by force" in (hold.loss or ""))
            assert "lost: it was released by force at 2" in repr(hold)

    asyncio.run(main())


@pytest.mark.realtime
def test_a_loss_without_a_record_says_nothing_of_force(
    server: Server, operator: holdfast.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with holdfast.Client(server.url, lease=KEPT) as owner:
        owner.lock("demo").acquire()
        assert inspect.force_release(operator, "demo")
        eventually(_expected(caplog))
        caplog.clear()
        lock = owner.lock("demo")
        hold = lock.hold()
        server.inspect.delete("demo")
        eventually(lambda: hold.lost)
        eventually(lambda: len(_losses(caplog)) >= 1)
    assert not _expected(caplog)()
