"""Readers of another program whose watchdog sets the lease of the whole lock to a shorter one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = pytest.mark.realtime

NAME = "myLock"
THEIRS = "5921d8b5-5d8d-4a2b-800b-a469f20f66c2:1"

OURS = 4.5
"""The lease of the reader here: without any other it would be renewed each 1.35 to 1.5 s."""
SHORT = 1.2
"""The lease of the other program's reader, which renews it three times as often."""

JOIN = """
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('set', '{' .. KEYS[1] .. '}:' .. ARGV[1] .. ':rwlock_timeout:1', '1', 'px', ARGV[2])
"""
OWN = """
redis.call('pexpire', KEYS[1], ARGV[2])
redis.call('pexpire', '{' .. KEYS[1] .. '}:' .. ARGV[1] .. ':rwlock_timeout:1', ARGV[2])
"""
EVERYONES = """
redis.call('pexpire', KEYS[1], ARGV[2])
for _, owner in ipairs(redis.call('hkeys', KEYS[1])) do
  redis.call('pexpire', '{' .. KEYS[1] .. '}:' .. owner .. ':rwlock_timeout:1', ARGV[2])
end
"""
RENEWALS = {"sets its own reader's": OWN, "sets every reader's": EVERYONES}


class Reader:
    """A reader of the other program, with a watchdog; it leaves nothing but its field and keys."""

    def __init__(self, server: Server, renewal: str) -> None:
        self._connection = server.connect()
        self._renewal = renewal
        self._dies = threading.Event()
        self._watchdog = threading.Thread(target=self._renew)

    def join(self) -> None:
        self._run(JOIN)
        self._watchdog.start()

    def die_after_a_renewal(self) -> None:
        """End, with a last renewal at this moment."""
        self._dies.set()
        self._watchdog.join()
        self._run(self._renewal)

    def close(self) -> None:
        self._dies.set()
        if self._watchdog.is_alive():
            self._watchdog.join()
        self._connection.close()

    def _renew(self) -> None:
        while not self._dies.wait(SHORT / 3):
            self._run(self._renewal)

    def _run(self, text: str) -> None:
        self._connection.eval(text, 1, NAME, THEIRS, int(SHORT * 1000))


@pytest.fixture(params=RENEWALS)
def theirs(request: pytest.FixtureRequest, server: Server) -> Iterator[Reader]:
    reader = Reader(server, RENEWALS[request.param])
    yield reader
    reader.close()


@pytest.fixture
def left(server: Server) -> Callable[[], float]:
    return lambda: float(server.inspect.pttl(NAME)) / 1000


def test_a_renewed_reader_outlives_one_of_a_shorter_lease(
    make_actor: MakeActor, make_client: MakeClient, theirs: Reader, left: Callable[[], float]
) -> None:
    """shortened-lease: seen once, the shorter lease decides when the next renewal comes.

    No writer gets in.
    """
    alice, bob = make_actor(), make_actor()
    mine = make_client(lease=OURS).read_write_lock(NAME).read
    write = make_client().read_write_lock(NAME).write
    alice.do(mine.acquire)
    theirs.join()
    eventually(lambda: 0 < left() <= SHORT)
    eventually(lambda: left() > SHORT, what="our renewal")
    theirs.die_after_a_renewal()
    assert bob.do(write.acquire, timeout=OURS / 3) is False
    assert alice.do(mine.owned)
    assert not alice.do(lambda: mine.lost)
    alice.do(mine.release)
    assert bob.do(write.acquire) is True
