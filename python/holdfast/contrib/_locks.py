"""Shared by the modules for frameworks: locks by kind, and the time to the next attempt."""

from __future__ import annotations

import math
from typing import Any, Literal

from holdfast.integration import (
    KINDS,
    checked_count,
    checked_fields,
    checked_lease,
    checked_wait,
    checked_word,
)

__all__ = [
    "PERMITS",
    "checked_label",
    "checked_options",
    "new_lock",
    "purpose",
    "seconds_to_retry",
]

#: A kind beside those of locks, where a module supports it: it gives `permits`, or None.
PERMITS = "permit_semaphore"

#: What a busy lock's time to live says of when it is free: rarely more than this.
LONGEST_RETRY = 30

#: Characters.
LONGEST_PURPOSE = 200

#: For ``checked_lease``: any value of ``None`` will do.
_ANY_LEASE_MS = 30_000


def checked_options(template: str, kind: str, **options: Any) -> list[str]:
    """The fields of a template; raises if they cannot be arguments of a lock."""
    checked_word("kind", kind, (*KINDS, PERMITS) if "permits" in options else KINDS)
    if options.get("permits") is not None:
        checked_count("permits", options["permits"])
        if kind != PERMITS:
            msg = f"permits cannot be given with kind={kind!r}: {PERMITS} only"
            raise ValueError(msg)
    fields = checked_fields(template)
    if not template:
        msg = "template cannot be empty: it is the lock's name"
        raise ValueError(msg)
    checked_wait(options.get("wait"))
    checked_lease("lease", options.get("lease"), _ANY_LEASE_MS)
    return fields


def checked_label(label: Any) -> str | Literal[False] | None:
    """What holds are for, as a helper is given it: ``False`` nothing, ``None`` what it fills in."""
    if label is not False and label is not None and not isinstance(label, str):
        msg = f"label must be str, or False for none, not {type(label).__name__}"
        raise TypeError(msg)
    return label


def purpose(label: str | Literal[False] | None, filled: str) -> str | None:
    """The ``label`` of a lock: what was given, else what the helper knows."""
    if label is None:
        return filled[:LONGEST_PURPOSE]
    return label or None


def new_lock(client: Any, kind: str, name: str, **options: Any) -> Any:
    """A lock of one of the kinds that decorators support."""
    if kind in {"read", "write"}:
        return getattr(client.read_write_lock(name, **options), kind)
    return getattr(client, kind)(name, **options)


def seconds_to_retry(time_to_live: float | None) -> int:
    """Whole seconds to the next attempt at a busy lock."""
    left = 0.0 if time_to_live is None else time_to_live
    return max(1, math.ceil(min(left, LONGEST_RETRY)))
