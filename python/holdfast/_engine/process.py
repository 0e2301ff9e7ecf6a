"""What a process has one of: its clients and red locks, and the numbers of its owners."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, Protocol

    from holdfast import _core
    from holdfast._engine.owners import Loops

    class AnyClient(Protocol):
        """A client for threads or for tasks."""

        _asynchronous: bool
        _core: _core.Client
        _defers: bool
        _forced_queried: float
        _lease_ms: int
        _listeners: dict[int, Any]
        _loops: Loops  # of a client for tasks
        _name_prefix: bytes
        _native: bool
        _permit_losses: dict[int, Any]
        _permits: dict[str, tuple[Any, Any]]
        _url: str
        _waits_for_replicas: bool
        _workers: dict[str, Any]

        @property
        def id(self) -> str:
            """The UUID."""
            raise NotImplementedError

        @property
        def name_prefix(self) -> bytes:
            """What is put before each name."""
            raise NotImplementedError

        def _owner_title(self, number: int, /) -> str: ...

        def _for_log(self, event: str, name: Any, number: int, /) -> Any: ...

        def _forcing(self, key: bytes, owners: Collection[str], *, late: bool) -> Any: ...

        def _permit_holder(self, number: int, /) -> Any: ...

    class AnyMember(Protocol):
        """A lock that is a member of another."""

        _client: Any

    class AnyRedLock(Protocol):
        """A red lock for threads or for tasks."""

        _core: Any

        @property
        def name(self) -> Any:
            """The name, for messages."""

        def _member_of(self, client: str, name: bytes, /) -> AnyMember | None: ...

else:

    class AnyClient:
        """The same where a program evaluates annotations."""


__all__ = [
    "NO_OWNER",
    "THIS_THREAD",
    "all_clients",
    "caller",
    "clients",
    "hold_objects",
    "red_locks",
]

#: To the engine: the calling thread.
THIS_THREAD = 0
#: To the engine: no owner.
NO_OWNER = 2**64 - 1

#: The number of the calling thread, or, once ``_greenlets`` has set it, greenlet. Another may have
#: it later, so that locks do not keep a watcher for each that has ended.
caller: Callable[[], int] = threading.get_ident

#: What owns holds apart from threads and tasks, by the owner's number.
hold_objects: WeakValueDictionary[int, Any] = WeakValueDictionary()
#: By id().
clients: WeakValueDictionary[int, AnyClient] = WeakValueDictionary()
#: The loss of a member is logged as that, not as the loss of a lock.
red_locks: WeakSet[AnyRedLock] = WeakSet()


def all_clients() -> list[AnyClient]:
    """The existing clients of this process."""
    known = clients.valuerefs()  # a copy: other threads make clients meanwhile
    return [client for each in known if (client := each()) is not None]
