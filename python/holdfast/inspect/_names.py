"""Names: the keys and channels of a name, its printable form, and globs over names.

Keys and channels are those of ``cpp/sync/recipes/keys.h``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from holdfast._names import quoted, shown

__all__ = [
    "REQUESTS",
    "SEMAPHORE_CHANNEL",
    "counters_of",
    "escaped",
    "fair_queue",
    "fair_timeouts",
    "forced_releases",
    "latch_channel",
    "lock_channel",
    "matcher",
    "percent_encoded",
    "permit_timeouts",
    "permits_of",
    "quoted",
    "read_timeout",
    "rwlock_channel",
    "semaphore_channel",
    "semaphores_of",
    "shown",
    "token_counter",
    "used_ticket",
]


SEMAPHORE_CHANNEL: Final = b"redisson_sc:"
REQUESTS: Final = b"redisson_request:"
#: The key of a request: the name, the client's id and the slot.
REQUEST: Final = re.compile(
    REQUESTS + rb"(.+):[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d{1,20}", re.DOTALL
)


def braced(name: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    return before + (name if b"{" in name else b"{" + name + b"}") + after


def lock_channel(name: bytes) -> bytes:
    return braced(name, b"redisson_lock__channel:")


def rwlock_channel(name: bytes) -> bytes:
    return braced(name, b"redisson_rwlock:")


def semaphore_channel(name: bytes) -> bytes:
    return braced(name, SEMAPHORE_CHANNEL)


def latch_channel(name: bytes) -> bytes:
    return b"redisson_countdownlatch__channel__{" + name + b"}"


def fair_queue(name: bytes) -> bytes:
    return braced(name, b"redisson_lock_queue:")


def fair_timeouts(name: bytes) -> bytes:
    return braced(name, b"redisson_lock_timeout:")


def token_counter(name: bytes) -> bytes:
    return braced(name, b"redisson_lock_token:")


def forced_releases(name: bytes) -> bytes:
    """The record of releases by force, which is no part of the lock."""
    return braced(name, b"holdfast_forced:")


def used_ticket(name: bytes, digest: bytes) -> bytes:
    """The record that a task of ``enqueue_once`` has begun by a ticket; no part of the lock."""
    return braced(name, b"holdfast_used:", b":" + digest)


def read_timeout(name: bytes, owner: bytes, hold: int) -> bytes:
    """The key that keeps one hold of a reader alive."""
    return braced(name) + b":" + owner + b":rwlock_timeout:%d" % hold


def permit_timeouts(name: bytes) -> bytes:
    return braced(name, after=b":timeout")


def permits_of(timeouts: bytes) -> list[bytes]:
    """The names that a permit semaphore with this key of timeouts may have."""
    return _unbraced(timeouts.removesuffix(b":timeout"))


def semaphores_of(channel: bytes) -> list[bytes]:
    """The names that a semaphore with this channel may have."""
    return _unbraced(channel.removeprefix(SEMAPHORE_CHANNEL))


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


def escaped(raw: bytes) -> bytes:
    """A glob that matches these bytes only."""
    return re.sub(rb"([*?\[\]\\])", rb"\\\1", raw)


@lru_cache(maxsize=8)
def matcher(pattern: bytes) -> re.Pattern[bytes]:
    """A glob of ``SCAN MATCH`` as a regular expression for ``fullmatch``, byte by byte."""
    parts: list[bytes] = []
    at = 0
    while at < len(pattern):
        part, at = _translated(pattern, at)
        if not (part == b".*" and parts[-1:] == [part]):
            parts.append(part)
    return re.compile(b"".join(parts), re.DOTALL)


def _translated(pattern: bytes, at: int) -> tuple[bytes, int]:
    """The element of a glob that begins there, translated, and where the next one begins."""
    byte = pattern[at : at + 1]
    if byte == b"*":
        return b".*", at + 1
    if byte == b"?":
        return b".", at + 1
    if byte == b"[":
        return _translated_set(pattern, at + 1)
    if byte == b"\\" and at + 1 < len(pattern):
        return re.escape(pattern[at + 1 : at + 2]), at + 2
    return re.escape(byte), at + 1


def _translated_set(pattern: bytes, at: int) -> tuple[bytes, int]:
    """A set in brackets; one that is not closed ends with the pattern."""
    negated = pattern[at : at + 1] == b"^"
    at += negated
    members: set[int] = set()
    while at < len(pattern) and pattern[at : at + 1] != b"]":
        if pattern[at : at + 1] == b"\\" and at + 1 < len(pattern):
            members.add(pattern[at + 1])
            at += 2
        elif pattern[at + 1 : at + 2] == b"-" and at + 2 < len(pattern):
            low, high = sorted((pattern[at], pattern[at + 2]))
            members.update(range(low, high + 1))
            at += 3
        else:
            members.add(pattern[at])
            at += 1
    if negated:
        members = set(range(256)) - members
    body = b"".join(b"\\x%02x" % byte for byte in sorted(members))
    return (b"[" + body + b"]" if body else rb"(?!)"), at + 1
