"""What a process has one of: its clients and red locks, and the numbers of its owners."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from typing import Any, Protocol, TypeVar

    from holdfast import _core

    Result = TypeVar("Result")

    class Bridge(Protocol):
        """What connects the engine to the running loop."""

        # Begins an exchange for the current task, which awaits the result at once. A task that is
        # cancelled meanwhile leaves nothing behind; a release goes on.
        @property
        def start(self) -> Callable[[_core.Exchange[Result]], Awaitable[Result]]: ...
        # The number of the current task; its holds are abandoned when it is done.
        def owner(self) -> int: ...
        # The same, ``NO_OWNER`` if it has none.
        def known_owner(self) -> int: ...
        # Of holds of that task, until it is done.
        def add_watcher(self, owner: int, watcher: Any, /) -> None: ...

    class Term(Protocol):
        """What the current task does from now on, which may be cancelled alone."""

        # On the loop's thread.
        def cancel(self) -> None: ...
        # In that task: what of its error cancel() has not caused.
        def end(self, error: BaseException | None, /) -> BaseException | None: ...

    class Loops(Protocol):
        """A library whose tasks are owners: the modules ``loop`` and ``trio_run``."""

        #: What a task raises that is cancelled while it waits.
        CANCELLED: tuple[type[BaseException], ...]
        #: Of these, what it raises again at its next wait: another error may take the place.
        REPEATED: tuple[type[BaseException], ...]

        @property
        def Term(self) -> Callable[[], Term]: ...  # noqa: N802 - a class
        # Of the running loop; RuntimeError where none of the library runs.
        def bridge(self) -> Bridge: ...
        # What makes a call that asks no server a checkpoint, where each call is one.
        def checkpoint(self) -> Awaitable[None]: ...
        def current_task(self) -> object: ...
        def name_of(self, task: Any, /) -> str: ...
        # The number of the current task, ``NO_OWNER`` if it has none, or no loop runs.
        def owner_of_this_task(self) -> int: ...
        # Calls (context, function, *arguments) on the running loop, from any thread.
        def caller(self) -> Callable[..., None]: ...
        # Calls what calls on_lost of an object, and runs the coroutine that it may return; what
        # either raises is logged.
        def call_on_loop(self, report: Callable[[], Any], subject: Any, /) -> None: ...
        # The text of a loss, with who has released the lock by force: explained_text().
        def explained(self, text: str, /, *about: Any) -> Awaitable[str]: ...
        # After the last client was closed: lets go of the running loop, if no task waits.
        def leave_loop(self) -> None: ...

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
