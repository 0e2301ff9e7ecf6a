"""Arguments, checked before anything is sent: times in seconds outside, milliseconds inside."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final, NamedTuple

__all__ = [
    "MOST",
    "UNSET",
    "LeaseTime",
    "Name",
    "Seconds",
    "Unset",
    "check_minimum",
    "checked_at_least",
    "checked_callback",
    "checked_count",
    "checked_lease",
    "checked_name",
    "checked_timeout",
    "checked_wait",
    "encoded_text",
    "milliseconds",
]

Seconds = int | float
Name = str | bytes

#: As ``threading.TIMEOUT_MAX``, without the import of ``threading``.
TIMEOUT_MAX: Final = 9223372036.0
#: The engine counts nanoseconds.
LONGEST_LEASE: Final = TIMEOUT_MAX

#: Permits and counts, as Java counts them.
MOST: Final = 2**31 - 1


class Unset:
    """The type of ``UNSET``: an argument that was not given."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()


class LeaseTime(NamedTuple):
    """How long a grant lasts on the server, and whether the watchdog renews it."""

    ms: int
    renewed: bool


def checked_number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"{what} must be a number of seconds, not {type(value).__name__}"
        raise TypeError(msg)
    if math.isnan(value):
        msg = f"{what} must be a number of seconds, not NaN"
        raise ValueError(msg)
    return float(value) if abs(value) < 2**63 else math.copysign(math.inf, value)


def milliseconds(what: str, value: Any) -> int:
    """A positive, finite number of seconds as whole milliseconds, at least one."""
    seconds = checked_number(what, value)
    if not 0 < seconds <= LONGEST_LEASE:
        msg = f"{what} must be positive and at most {LONGEST_LEASE:.0f} seconds, not {value!r}"
        raise ValueError(msg)
    return max(1, int(seconds * 1000))


def checked_lease(what: str, value: Any, watchdog_ms: int) -> LeaseTime:
    """The lease of an argument; ``None`` means the watchdog's lease, renewed."""
    if value is None:
        return _watched(watchdog_ms)
    return LeaseTime(milliseconds(what, value), False)


@lru_cache(maxsize=16)
def _watched(ms: int) -> LeaseTime:
    """The renewed lease, one object for all locks of a client."""
    return LeaseTime(ms, True)


def checked_at_least(value: Any, lease: LeaseTime) -> int:
    """A minimum hold time in milliseconds, 0 for none: no longer than the lease."""
    if value is None:
        return 0
    ms = milliseconds("at_least", value)
    check_minimum(ms, lease)
    return ms


def check_minimum(at_least: int, lease: LeaseTime) -> None:
    """Refuse a lease that ends before the minimum hold time."""
    if at_least > lease.ms:
        msg = (
            f"at_least must not be longer than the lease: {at_least / 1000:g} s is longer than "
            f"{lease.ms / 1000:g} s"
        )
        raise ValueError(msg)


def checked_timeout(blocking: bool, timeout: Any) -> float:
    """The time to wait as in ``threading``, -1 for no limit."""
    if timeout is None or (type(timeout) is int and timeout == -1):
        return -1.0
    seconds = checked_number("timeout", timeout)
    if not blocking and seconds != -1:
        msg = "can't specify a timeout for a non-blocking call"
        raise ValueError(msg)
    if seconds < 0 and seconds != -1:
        msg = f"timeout must be -1 (no limit) or not negative, not {timeout!r}"
        raise ValueError(msg)
    if seconds > TIMEOUT_MAX:
        msg = f"timeout is too large: {timeout!r} (threading.TIMEOUT_MAX is {TIMEOUT_MAX:.0f})"
        raise OverflowError(msg)
    return seconds


def checked_wait(wait: Any) -> float:
    """The time that ``with`` waits, as a timeout: -1 for ``None``, no limit."""
    if wait is None:
        return -1.0
    seconds = checked_number("wait", wait)
    if seconds < 0:
        msg = f"wait must not be negative, not {wait!r}; None waits without limit"
        raise ValueError(msg)
    return min(seconds, TIMEOUT_MAX)


def checked_name(what: str, name: Any) -> bytes:
    """A name as the server's bytes: UTF-8 for ``str``."""
    encoded = encoded_text(what, name)
    if not encoded:
        msg = f"{what} must not be empty"
        raise ValueError(msg)
    return encoded


def encoded_text(what: str, text: Any) -> bytes:
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        msg = f"{what} must be str or bytes, not {type(text).__name__}"
        raise TypeError(msg)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        msg = f"{what} must be encodable as UTF-8: {error}"
        raise ValueError(msg) from None


def checked_count(what: str, value: Any, *, least: int = 1) -> int:
    """A number of permits, or a count."""
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"{what} must be int, not {type(value).__name__}"
        raise TypeError(msg)
    if not least <= value <= MOST:
        msg = f"{what} must be from {least} to {MOST}, not {value}"
        raise ValueError(msg)
    return int(value)


def checked_flag(what: str, value: Any) -> bool:
    """A flag: `bool`."""
    if not isinstance(value, bool):
        msg = f"{what} must be bool, not {type(value).__name__}"
        raise TypeError(msg)
    return value


def checked_callback(what: str, callback: Any) -> None:
    """A callable, or ``None``."""
    if callback is not None and not callable(callback):
        msg = f"{what} must be callable, not {type(callback).__name__}"
        raise TypeError(msg)
