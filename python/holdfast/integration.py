"""What a module for a framework, or a tool, needs to take a lock's arguments as the library does.

``holdfast.contrib``, the pytest plugin and the command line are written with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import _core
from holdfast._clients.base import BaseClient
from holdfast._clients.options import executable as guard_executable
from holdfast._clients.options import guard_by_default
from holdfast._engine.arguments import (
    Name,
    Seconds,
    checked_count,
    checked_lease,
    checked_name,
    checked_wait,
    encoded_text,
    milliseconds,
)
from holdfast._engine.errors import braced, escaped, is_busy, matcher, quoted, shown
from holdfast._engine.log import About
from holdfast._engine.log import error as log_error
from holdfast._engine.log import warning as log_warning
from holdfast._locks.base import BaseLock
from holdfast._locks.decorators import (
    Naming,
    checked_fields,
    checked_function,
    checked_word,
    finished,
    naming,
)
from holdfast._locks.kinds import LOCKING as KINDS

if TYPE_CHECKING:
    from holdfast._engine.process import Term
    from holdfast._locks.lock import BaseHold

__all__ = [
    "KINDS",
    "About",
    "BaseClient",
    "BaseLock",
    "Name",
    "Naming",
    "Seconds",
    "about",
    "braced",
    "checked_count",
    "checked_fields",
    "checked_function",
    "checked_lease",
    "checked_name",
    "checked_wait",
    "checked_word",
    "encoded_text",
    "escaped",
    "finished",
    "guard_by_default",
    "guard_executable",
    "guard_obstacle",
    "is_busy",
    "key_of",
    "log_error",
    "log_warning",
    "matcher",
    "milliseconds",
    "naming",
    "owner_of",
    "quoted",
    "shown",
    "term",
    "versions",
]


def __dir__() -> list[str]:
    return sorted({*__all__} | {name for name in globals() if name.startswith("__")})


def guard_obstacle() -> str:
    """Why no guard can run on this system; empty where one can."""
    return _core.guard_obstacle()


def versions() -> tuple[str, str]:
    """The versions of hiredis and of OpenSSL in the engine; the latter is empty without TLS."""
    return _core.versions()


def about(subject: Any, event: str) -> About:
    """What a record about a lock, a semaphore or a hold object says in its fields."""
    found: About = getattr(subject, "lock", subject)._for_log(event)
    return found


def key_of(lock: BaseLock) -> bytes:
    """The key of a lock on the server: its name after the client's ``name_prefix``."""
    return lock._client.name_prefix + checked_name("name", lock.name)


def owner_of(client: BaseClient, hold: BaseHold) -> str:
    """The owner of a hold object of this client, as the server has it: ``<client id>:<number>``."""
    return f"{client.id}:{hold._owner}"


def term(client: BaseClient) -> Term:
    """What the current task does from now on, which ``cancel()`` may cancel alone.

    ``end(error)`` ends it, and returns what of its error that has not caused. Of a client for
    tasks, of whichever library.
    """
    return client._loops.Term()
