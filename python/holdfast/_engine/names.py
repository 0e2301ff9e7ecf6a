"""How messages, logs and reprs show a name; the keys beside its own, and patterns of names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from holdfast import _core

if TYPE_CHECKING:
    from holdfast._engine.arguments import Name

__all__ = ["braced", "escaped", "matcher", "quoted", "shown"]


def shown(name: Name) -> str:
    r"""A name as text for people.

    Control characters, characters that are invisible or change the direction of the text, and bytes
    that are not UTF-8 are ``\xNN``.
    """
    raw = name.encode(errors="surrogatepass") if isinstance(name, str) else bytes(name)
    return _core.shown(raw)


def quoted(name: Name) -> str:
    """The same between single quotes."""
    return f"'{shown(name)}'"


def braced(name: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """A key or channel that belongs to a name: in a cluster, in the slot of the name's own key."""
    return before + (name if b"{" in name else b"{" + name + b"}") + after


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
