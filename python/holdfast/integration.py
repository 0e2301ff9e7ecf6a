"""What a module for a framework, or a tool, needs to take a lock's arguments as the library does.

``holdfast.contrib``, the pytest plugin and the command line are written with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._arguments import (
    Name,
    Seconds,
    checked_count,
    checked_lease,
    checked_name,
    checked_wait,
    encoded_text,
    milliseconds,
)
from ._base_client import BaseClient
from ._base_lock import BaseLock
from ._core import guard_obstacle, versions
from ._decorators import checked_fields, checked_function, checked_word, finished
from ._errors import is_busy
from ._globs import escaped, matcher
from ._guard import executable as guard_executable
from ._guard import guard_by_default
from ._kinds import LOCKING as KINDS
from ._log import error as log_error
from ._log import warning as log_warning
from ._names import braced, quoted, shown

if TYPE_CHECKING:
    from ._hold import BaseHold

__all__ = [
    "KINDS",
    "BaseClient",
    "BaseLock",
    "Name",
    "Seconds",
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
    "owner_of",
    "quoted",
    "shown",
    "versions",
]


def key_of(lock: BaseLock) -> bytes:
    """The key of a lock on the server: its name after the client's ``name_prefix``."""
    return lock._client.name_prefix + checked_name("name", lock.name)


def owner_of(client: BaseClient, hold: BaseHold) -> str:
    """The owner of a hold object of this client, as the server has it: ``<client id>:<number>``."""
    return f"{client.id}:{hold._owner}"
