"""How messages, logs and reprs show a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    from ._arguments import Name

__all__ = ["quoted", "shown"]


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
