"""A second process, which waits for the first: measures the time to wake it.

Both read the machine's monotonic clock, so a moment of one can be compared with one of the other.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from holdfast import Client
from holdfast.inspect._names import lock_channel
from holdfast.inspect._people import subscribers
from holdfast.servers import of as deployment_of

from ._bare import Bare, encoded

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._measure import Stand

__all__ = ["Peer", "serve"]

LEASE: Final = 30.0
#: Seconds that a waiter may take to subscribe, and between two looks.
SUBSCRIPTION: Final = 1.0
GLANCE: Final = 0.001
BOUND: Final = 10.0
MILLISECOND: Final = 1000.0


class Peer:
    """The second process, as the first one sees it. The URL goes to its stdin: it may be secret."""

    def __init__(self, stand: Stand, url: str | None) -> None:
        self._stand = stand
        command = [sys.executable, "-c", "from holdfast._bench import serve; serve()"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._tell({"url": url, "name": stand.name, "address": stand.address})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def wake_up(self, seconds: float) -> float:
        """From a release here to the grant there: the median, in ms."""
        self._expect("ready")
        lock = self._stand.client.lock(self._stand.name, lease=LEASE)
        times: list[float] = []
        end = time.monotonic() + seconds
        while not times or time.monotonic() < end:
            lock.acquire()
            self._tell("lock")
            self._await_subscription()
            released = time.monotonic()
            lock.release()
            times.append(float(self._expect("granted")) - released)
        return statistics.median(times) * MILLISECOND

    def bare_wake_up(self, bare: Bare, seconds: float) -> float:
        """From a message sent here to its arrival there, on bare sockets: the fastest, in ms."""
        channel = f"holdfast-bench:{self._stand.name}"
        self._tell({"subscribe": channel})
        self._expect("subscribed")
        message = encoded("PUBLISH", channel, "0")
        times: list[float] = []
        end = time.monotonic() + seconds
        while not times or time.monotonic() < end:
            sent = time.monotonic()
            bare.call(message, 1)
            times.append(float(self._expect("heard")) - sent)
        return min(times) * MILLISECOND

    def _await_subscription(self) -> None:
        stand = self._stand
        channel = lock_channel(stand.deployment.prefix + stand.name.encode())
        servers = stand.deployment.primaries()
        end = time.monotonic() + SUBSCRIPTION
        while time.monotonic() < end:
            if subscribers(stand.deployment, servers, [channel])[channel]:
                return
            time.sleep(GLANCE)

    def _tell(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _expect(self, word: str) -> str:
        assert self._process.stdout is not None
        said, _, rest = self._process.stdout.readline().decode().strip().partition(" ")
        if said != word:
            msg = f"the second process ended: it said {said!r} instead of {word!r}"
            raise RuntimeError(msg)
        return rest


def serve() -> None:
    """The second process's part, until its stdin ends."""
    words = json.loads(sys.stdin.readline())
    with Client(words["url"]) as client:
        client.ping()
        _say("ready")
        lock = client.lock(words["name"], lease=LEASE)
        for line in sys.stdin:
            message = json.loads(line)
            if message == "lock":
                lock.acquire()
                granted = time.monotonic()
                lock.release()
                _say(f"granted {granted}")
            else:
                _listen(client, tuple(words["address"]), message["subscribe"])


def _listen(client: Client, address: tuple[str, int, str], channel: str) -> None:
    with Bare(deployment_of(client).options.endpoint, address) as bare:
        bare.call(encoded("SUBSCRIBE", channel), 6)
        _say("subscribed")
        while True:
            bare.receive(7)
            _say(f"heard {time.monotonic()}")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - it is how the processes talk
