"""Names: the keys and channels of a name, and its printable form."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from holdfast.integration import escaped, matcher, quoted, shown
from holdfast.servers import key_beside

__all__ = [
    "LATCH_CHANNEL",
    "REQUESTS",
    "SEMAPHORE_CHANNEL",
    "TIMEOUTS",
    "counters_of",
    "escaped",
    "latch_of",
    "matcher",
    "percent_encoded",
    "permits_of",
    "quoted",
    "read_timeout",
    "semaphores_of",
    "shown",
]


#: What the channels of semaphores and of latches, and the keys of requests, begin with.
SEMAPHORE_CHANNEL: Final = key_beside("semaphore_channel", b"{").removesuffix(b"{")
LATCH_CHANNEL: Final = key_beside("latch_channel", b"{").partition(b"{")[0]
REQUESTS: Final = key_beside("request", b"{").partition(b"{")[0]
#: How the keys of the timeouts of permits end.
TIMEOUTS: Final = b":timeout"
#: The key of a request: the name, the client's id and the slot.
REQUEST: Final = re.compile(
    REQUESTS + rb"(.+):[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d{1,20}", re.DOTALL
)


def read_timeout(name: bytes, owner: bytes, hold: int) -> bytes:
    """The key that keeps one hold of a reader alive."""
    return key_beside("read_timeout", name) + owner + b":rwlock_timeout:%d" % hold


def permits_of(timeouts: bytes) -> list[bytes]:
    """The names that a permit semaphore with this key of timeouts may have."""
    return _unbraced(timeouts.removesuffix(TIMEOUTS))


def semaphores_of(channel: bytes) -> list[bytes]:
    """The names that a semaphore with this channel may have."""
    return _unbraced(channel.removeprefix(SEMAPHORE_CHANNEL))


def latch_of(channel: bytes) -> bytes:
    """The name of the latch with this channel, which has braces around every name."""
    return channel.removeprefix(LATCH_CHANNEL)[1:-1]


def counters_of(request: bytes) -> list[bytes]:
    """The names that a semaphore, permit semaphore or latch with this key of a request may have."""
    found = REQUEST.fullmatch(request)
    return _unbraced(found[1]) if found else []


def _unbraced(whole: bytes) -> list[bytes]:
    names = [whole] if b"{" in whole else []
    if whole.startswith(b"{") and whole.endswith(b"}") and b"{" not in whole[1:]:
        names.append(whole[1:-1])
    return [name for name in names if name]


def percent_encoded(raw: bytes) -> str:
    return quote(raw, safe="")
