"""How messages, logs and reprs show a name, and the keys beside its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    from ._arguments import Name

__all__ = ["braced", "quoted", "shown"]


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
