"""The measurements, each with its lower bound."""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from holdfast import _core
from holdfast._errors import ServerError

from ._bare import Bare, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast._client import Client
    from holdfast.inspect._deployment import Deployment

    from ._peer import Peer

__all__ = ["Result", "Stand", "measure"]

BATCH: Final = 250
LEASE: Final = 30.0
PING: Final = encoded("PING")
MILLISECOND: Final = 1000.0


@dataclass(frozen=True)
class Result:
    """A value beside its floor: the least it can be (of a rate: the most)."""

    value: float
    #: ``ms``, or ``1/s`` for a rate.
    unit: str
    floor: float
    #: The value as a multiple of the floor: of a time 1 at least, of a rate 1 at most.
    ratio: float

    def to_json(self) -> dict[str, Any]:
        """The object as the command line prints it."""
        return asdict(self)


@dataclass(frozen=True)
class Stand:
    """The objects of a measurement."""

    client: Client
    deployment: Deployment
    address: tuple[str, int, str]
    name: str


def measure(stand: Stand, peer: Peer, seconds: float) -> Iterator[tuple[str, Result]]:
    """The results by name, in ``seconds`` altogether."""
    share = seconds / 8  # four measurements, each with its floor
    with Bare(stand.deployment.options.endpoint, stand.address) as bare:
        bare_trip = min(times_ms(lambda: bare.call(PING, 1), share))
        yield "round_trip", _time(median(times_ms(stand.client.ping, share)), bare_trip)
        yield "pair", _time(_pair(stand, share * 2), 2 * bare_trip)
        yield "wake_up", _time(peer.wake_up(share), peer.bare_wake_up(bare, share))
        floor = _rate(lambda: bare.call(PING * BATCH, BATCH), share)
        value = _renewals(stand, share)
        yield "renewals", Result(round(value), "1/s", round(floor), _ratio(value, floor))


def _time(value: float, floor: float) -> Result:
    return Result(round(value, 4), "ms", round(floor, 4), _ratio(value, floor))


def _ratio(value: float, floor: float) -> float:
    """With three significant digits, so that it is never 0."""
    return float(f"{value / floor:.3g}")


def times_ms(call: Callable[[], object], seconds: float) -> list[float]:
    """The durations of the calls that fit into the time; one at least."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * MILLISECOND)
    return times


def _pair(stand: Stand, seconds: float) -> float:
    lock = stand.client.lock(stand.name, lease=LEASE)

    def pair() -> None:
        with lock:
            pass

    return median(times_ms(pair, seconds))


def _rate(batch: Callable[[], object], seconds: float) -> float:
    """Commands in a second, sent in batches."""
    start = time.perf_counter()
    batches = 0
    while batches == 0 or time.perf_counter() < start + seconds:
        batch()
        batches += 1
    return batches * BATCH / (time.perf_counter() - start)


def _renewals(stand: Stand, seconds: float) -> float:
    """The rate of renewals that the server executes, sent as the watchdog's script."""
    text = _core.script_text("lock/renew")
    assert text is not None
    digest = hashlib.sha1(text).hexdigest().encode()
    with stand.client.lock(stand.name, lease=LEASE):
        key = stand.deployment.prefix + stand.name.encode()
        [owners] = stand.deployment.ask(key, [(b"HGETALL", key)])
        rest = (b"1", key, b"%d" % int(LEASE * MILLISECOND), owners[0])
        _checked(stand.deployment.ask(key, [(b"EVAL", text, *rest)]))
        batch = [(b"EVALSHA", digest, *rest)] * BATCH
        return _rate(lambda: _checked(stand.deployment.ask(key, batch)), seconds)


def _checked(replies: list[Any]) -> None:
    for reply in replies:
        if isinstance(reply, ServerError):
            raise reply
