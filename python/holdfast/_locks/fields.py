"""What a field of a key says, which another program may have written.

That the library's clients cannot have written is ``None`` for what only tells, and an error that
names the key (``foreign_data``) for what a caller goes by.
"""

from __future__ import annotations

from typing import Final

from holdfast._engine.errors import foreign_data

#: Of each number that is kept: they are below 10 ** 18.
MOST_DIGITS: Final = 18


def number(raw: bytes | None, digits: int = MOST_DIGITS) -> int | None:
    """A whole number, from 0 on; ``digits``: at most."""
    return int(raw) if raw and raw.isdigit() and len(raw) <= digits else None


def checked_number(key: bytes, what: str, raw: bytes) -> int:
    """The same; ``what``: as "its token"."""
    found = number(raw)
    if found is None:
        raise foreign_data(key, f"{what} is no number from 0 on")
    return found


def checked_text(key: bytes, what: str, raw: bytes) -> str:
    """A text in UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise foreign_data(key, f"{what} is not in UTF-8") from None
