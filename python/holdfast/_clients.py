"""The clients of this process, and what the modules below them see of a client and of locks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary

if TYPE_CHECKING:
    from typing import Any, Protocol

    from . import _core
    from ._workers import Worker

    class AnyClient(Protocol):
        """A client for threads or for tasks."""

        _core: _core.Client
        _url: str
        _listeners: dict[int, Any]
        _workers: dict[str, Worker]
        _forced_queried: float

        @property
        def id(self) -> str:
            """The UUID."""
            raise NotImplementedError

        def _owner_title(self, number: int, /) -> str: ...

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


__all__ = ["all_clients", "clients", "red_locks"]

#: By id().
clients: WeakValueDictionary[int, AnyClient] = WeakValueDictionary()
#: The loss of a member is logged as that, not as the loss of a lock.
red_locks: WeakSet[AnyRedLock] = WeakSet()


def all_clients() -> list[AnyClient]:
    """The existing clients of this process."""
    known = clients.valuerefs()  # a copy: other threads make clients meanwhile
    return [client for each in known if (client := each()) is not None]
