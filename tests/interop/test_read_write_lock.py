"""Readers and writers of both languages; what holds for every lock is in test_lock.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import holdfast
from tests.interop.conftest import LONG, SOON, NewPeer, Report
from tests.interop.java_objects import JavaLock
from tests.interop.java_peer import JavaPeer
from tests.interop.wire import ReadWriteKey
from tests.support.servers import Server
from tests.support.waiting import eventually, stays

SHORT = 1.5
"""A watchdog's lease: renewed twice a second."""

JAVA_READERS = ("t2", "t3", "t4")
PYTHON_READERS = 3


@pytest.fixture
def key(redis_server: Server, name: str) -> ReadWriteKey:
    return ReadWriteKey(redis_server, name)


@pytest.fixture
def java(peer: JavaPeer, name: str) -> Callable[..., JavaLock]:
    """One of both locks as a thread of Java sees it: `java("read", "t2")`."""
    return lambda kind, thread="t1": peer.lock(name, thread, kind)


@pytest.fixture
def mine(python: holdfast.Client, name: str) -> Any:
    """Both locks in Python."""
    return python.read_write_lock(name)


def test_readers_of_both_languages_share_and_keep_writers_out(
    java: Callable[..., JavaLock], mine: Any, python: holdfast.Client, key: ReadWriteKey
) -> None:
    reader = java("read")
    reader.lock(lease=LONG)
    assert mine.read.acquire(timeout=0, lease=LONG)
    (own,) = set(key.readers()) - {reader.owner}
    assert own.startswith(f"{python.id}:")
    assert (key.mode(), key.readers()) == ("read", {reader.owner: 1, own: 1})
    for owner in (reader.owner, own):
        (left,) = key.read_holds_left(owner)
        assert LONG - 10 < left <= LONG
    assert reader.is_locked()
    assert mine.read.locked()
    assert not mine.write.locked()
    assert not java("write", "t2").try_lock()
    assert not java("write", "t2").is_locked()
    with ThreadPoolExecutor(max_workers=1) as stranger:
        assert not stranger.submit(mine.write.acquire, blocking=False).result(SOON)
    reader.unlock()
    mine.read.release()
    assert not key.exists()


def test_a_writer_keeps_readers_of_the_other_language_out(
    java: Callable[..., JavaLock], mine: Any, key: ReadWriteKey
) -> None:
    java("write").lock(lease=LONG)
    assert not mine.read.acquire(blocking=False)
    assert not mine.write.acquire(blocking=False)
    assert mine.write.locked()
    java("write").unlock()
    assert mine.write.acquire(timeout=0, lease=LONG)
    assert not java("read").try_lock()
    assert not java("write").try_lock()
    assert java("write").is_locked()
    assert key.mode() == "write"
    mine.write.release()


def test_nested_read_holds_have_a_key_each_in_both_languages(
    java: Callable[..., JavaLock], mine: Any, key: ReadWriteKey
) -> None:
    reader = java("read")
    for _ in range(2):
        reader.lock(lease=LONG)
        assert mine.read.acquire(timeout=0, lease=LONG)
    owners = list(key.readers())
    assert reader.owner in owners
    assert (reader.hold_count(), mine.read.hold_count()) == (2, 2)
    assert [len(key.read_holds_left(owner)) for owner in owners] == [2, 2]
    reader.unlock()
    mine.read.release()
    assert [len(key.read_holds_left(owner)) for owner in owners] == [1, 1]
    assert list(key.readers().values()) == [1, 1]
    reader.unlock()
    mine.read.release()
    assert not key.exists()


@pytest.mark.parametrize("leaves", ["java", "python"])
def test_a_reader_that_leaves_throws_no_other_out(
    java: Callable[..., JavaLock], mine: Any, key: ReadWriteKey, leaves: str
) -> None:
    """The lease of who stays is what is left of the lock, though who leaves had a longer one."""
    reader, half = java("read"), LONG / 2
    reader.lock(lease=LONG if leaves == "java" else half)
    assert mine.read.acquire(timeout=0, lease=half if leaves == "java" else LONG)
    assert key.seconds_left() > half
    leave, stay = reader.unlock, mine.read.release
    if leaves == "python":
        leave, stay = stay, leave
    leave()
    assert list(key.readers().values()) == [1]
    assert half - 10 < key.seconds_left() <= half
    assert reader.is_held_by_current_thread() == (leaves == "python")
    assert mine.read.owned() == (leaves == "java")
    assert not java("write", "t2").try_lock()
    stay()
    assert not key.exists()


@pytest.mark.realtime
def test_renewed_readers_of_both_languages_outlive_the_other(
    new_peer: NewPeer, name: str, redis_server: Server
) -> None:
    """Each is renewed over several leases and then left alone by the other's release."""
    renewing = new_peer(watchdog=SHORT)
    with holdfast.Client(redis_server.url, lease=SHORT) as client:
        of_java = ReadWriteKey(redis_server, f"{name} of Java")
        of_python = ReadWriteKey(redis_server, f"{name} of Python")
        leaving = [
            client.read_write_lock(of_java.name).read,
            client.read_write_lock(of_python.name).read,
        ]
        in_java = [renewing.lock(key.name, kind="read") for key in (of_java, of_python)]
        in_java[0].lock()
        assert leaving[0].acquire(lease=LONG)
        in_java[1].lock(lease=LONG)
        assert leaving[1].acquire()
        stays(lambda: len(of_java.readers()) == len(of_python.readers()) == 2, during=2.5 * SHORT)
        leaving[0].release()
        in_java[1].unlock()
        assert 0 < of_java.seconds_left() <= SHORT
        assert 0 < of_python.seconds_left() <= SHORT
        assert in_java[0].is_held_by_current_thread()
        assert leaving[1].owned()
        assert not leaving[1].lost
        in_java[0].unlock()
        leaving[1].release()
        assert not of_java.exists()
        assert not of_python.exists()


@pytest.mark.realtime
def test_a_renewed_reader_of_python_outlives_one_of_java_with_a_shorter_lease(
    new_peer: NewPeer, mine: Any, python_thread: ThreadPoolExecutor, key: ReadWriteKey
) -> None:
    """Its watchdog sets the lease of the lock; once that was seen, renewals come in time."""
    theirs = 3.0
    dying = new_peer(watchdog=theirs)
    assert mine.read.acquire()
    dying.lock(key.name, kind="read").lock()
    eventually(lambda: key.seconds_left() <= theirs)
    eventually(lambda: key.seconds_left() > theirs)
    stays(mine.read.owned, during=2 * theirs)
    eventually(lambda: key.seconds_left() <= theirs)
    dying.kill()
    assert not python_thread.submit(mine.write.acquire, timeout=3 * theirs).result()
    assert mine.read.owned()
    assert not mine.read.lost
    mine.read.release()
    assert python_thread.submit(mine.write.acquire, timeout=SOON).result()
    python_thread.submit(mine.write.release).result()


@pytest.mark.realtime
def test_a_reader_of_python_whose_lease_ran_out_keeps_no_writer_of_java_out(
    java: Callable[..., JavaLock], mine: Any, key: ReadWriteKey
) -> None:
    reader = java("read")
    reader.lock(lease=LONG)
    assert mine.read.acquire(timeout=0, lease=0.5)
    (own,) = set(key.readers()) - {reader.owner}
    eventually(lambda: not key.read_holds_left(own))
    reader.unlock()
    assert java("write").try_lock()
    with pytest.raises(holdfast.LockLostError):
        mine.read.release()
    java("write").unlock()


@pytest.mark.parametrize("writer", ["java", "python"])
def test_the_release_of_a_writer_wakes_all_readers(
    java: Callable[..., JavaLock], mine: Any, key: ReadWriteKey, writer: str, report: Report
) -> None:
    def read() -> int:
        assert mine.read.acquire(timeout=20, lease=LONG)
        woken = time.monotonic_ns()
        mine.read.release()
        return woken

    if writer == "java":
        java("write").lock(lease=LONG)
    else:
        assert mine.write.acquire(lease=LONG)
    with ThreadPoolExecutor(max_workers=PYTHON_READERS) as threads:
        before = key.tries()
        in_java = [java("read", thread).begin_lock(lease=LONG) for thread in JAVA_READERS]
        in_python = [threads.submit(read) for _ in range(PYTHON_READERS)]
        eventually(lambda: key.clients_wait(2))
        eventually(lambda: all(java("read", thread).sleeps() for thread in JAVA_READERS))
        eventually(lambda: key.tries() >= before + 2 * len(JAVA_READERS) + PYTHON_READERS)
        released = time.monotonic_ns()
        if writer == "java":
            java("write").unlock()
        else:
            mine.write.release()
        woken = [answer.result(20).ended for answer in in_java]
        woken += [answer.result(20) for answer in in_python]
    report.wake_ups(f"a writer of {writer} to readers", [(end - released) / 1e9 for end in woken])
    for thread in JAVA_READERS:
        java("read", thread).unlock()
    eventually(key.no_client_waits)
    assert not key.exists()


def test_the_last_reader_of_java_wakes_a_writer_of_python(
    java: Callable[..., JavaLock],
    mine: Any,
    python_thread: ThreadPoolExecutor,
    key: ReadWriteKey,
    report: Report,
) -> None:
    readers = java("read"), java("read", "t2")
    for reader in readers:
        reader.lock(lease=LONG)

    def write() -> int:
        assert mine.write.acquire(timeout=20, lease=LONG)
        return time.monotonic_ns()

    asleep = key.next_waiter_sleeps()
    woken = python_thread.submit(write)
    eventually(asleep)
    readers[0].unlock()
    assert not woken.done()
    released = readers[1].unlock()
    report.wake_ups("Java's last reader to Python", [(woken.result(20) - released.began) / 1e9])
    assert key.mode() == "write"
    python_thread.submit(mine.write.release).result(SOON)


def test_the_last_reader_of_python_wakes_a_writer_of_java(
    java: Callable[..., JavaLock],
    mine: Any,
    python_thread: ThreadPoolExecutor,
    key: ReadWriteKey,
    report: Report,
) -> None:
    assert mine.read.acquire(lease=LONG)
    assert python_thread.submit(mine.read.acquire, lease=LONG).result(SOON)
    writer = java("write")
    asleep = key.next_waiter_sleeps(writer)
    waiting = writer.begin_lock(lease=LONG)
    eventually(asleep)
    python_thread.submit(mine.read.release).result(SOON)
    assert not waiting.done()
    released = time.monotonic_ns()
    mine.read.release()
    report.wake_ups("Python's last reader to Java", [(waiting.result(20).ended - released) / 1e9])
    writer.unlock()


def test_a_downgrade_in_python_wakes_the_readers_of_java(
    java: Callable[..., JavaLock], mine: Any, key: ReadWriteKey, report: Report
) -> None:
    """Redisson's downgrade publishes nothing."""
    assert mine.write.acquire(lease=LONG)
    assert mine.read.acquire(lease=LONG)
    readers = [java("read", thread) for thread in JAVA_READERS]
    waiting = [reader.begin_lock(lease=LONG) for reader in readers]
    eventually(lambda: key.clients_wait(1))
    eventually(lambda: all(reader.sleeps() for reader in readers))
    released = time.monotonic_ns()
    mine.write.release()
    seconds = [(answer.result(20).ended - released) / 1e9 for answer in waiting]
    report.wake_ups("a downgrade in Python to Java's readers", seconds)
    assert key.mode() == "read"
    assert len(key.readers()) == len(readers) + 1
    assert not java("write").try_lock()
    mine.read.release()
    for reader in readers:
        reader.unlock()
    assert not key.exists()


def test_a_downgrade_in_java_lets_readers_of_python_in(
    java: Callable[..., JavaLock], mine: Any, key: ReadWriteKey
) -> None:
    write, read = java("write"), java("read")
    write.lock(lease=LONG)
    read.lock(lease=LONG)
    assert not mine.read.acquire(blocking=False)
    write.unlock()
    assert mine.read.acquire(timeout=0, lease=LONG)
    read.unlock()
    mine.read.release()
    assert not key.exists()
