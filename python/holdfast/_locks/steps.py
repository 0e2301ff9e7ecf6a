"""What is built on locks: steps of a script, and the wait for a change of a state, for threads.

A *state* is a hash on the server, beside the key of a name (``Keys.state``). Its field
``revision`` is greater after each change, by ``lua/_revision/change.lua``, which announces it on
``Keys.channel``. ``Revision.wait(known)`` returns once the revision is another than ``known``: 0
where there is no state, and below 0 once the state is over: with the lock of the owner that its
field ``owner`` names, or at the moment in its field ``until`` (``lua/_revision/now.lua``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast import _core
from holdfast._engine.arguments import Name, Seconds, checked_name, checked_timeout
from holdfast._locks.kinds import key_beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast._clients.base import BaseClient

__all__ = ["Argument", "BaseRevision", "Keys", "Revision", "keys_of", "step", "step_of"]

Argument = bytes | str | int


class Keys(NamedTuple):
    """The keys of a name, in one slot of a cluster."""

    #: The name's own key, with the client's ``name_prefix``.
    name: bytes
    state: bytes
    channel: bytes


def keys_of(client: BaseClient, name: Name) -> Keys:
    """The keys of a name of this client."""
    key = client.name_prefix + checked_name("name", name)
    return Keys(key, key_beside("state", key), key_beside("changed_channel", key))


def step_of(
    core: _core.Client,
    script: str,
    keys: Sequence[bytes],
    args: Sequence[Argument] = (),
    name: bytes = b"",
) -> _core.Sending:
    """A step that has not begun: its exchange sends it.

    ``script``: ``"<kind>/<step>"`` of ``lua/``, with a fixed number of parameters; the command by
    which scripts publish, as the last one, is added. It may be sent again after a lost reply, and
    waits for a server that refuses to work for the moment, so a repeat must have the same effect.
    ``name``: what its errors name, where that is not the first key.
    """
    named = name or b"".join(keys[:1])
    return _core.step_of(core, named, script, list(keys), [_bytes(arg) for arg in args])


def _bytes(argument: Argument) -> bytes:
    return argument if isinstance(argument, bytes) else str(argument).encode()


def step(
    core: _core.Client,
    script: str,
    keys: Sequence[bytes],
    args: Sequence[Argument] = (),
    name: bytes = b"",
) -> Any:
    """Carry out ``step_of``; its reply: ``None``, ``int``, ``bytes`` or a list of replies.

    Raises ``ServerError`` or ``ConnectionError``.
    """
    sending = step_of(core, script, keys, args, name)
    sending.exchange.wait()
    return sending.reply()


class BaseRevision:
    """The common part of the waits of threads and of tasks."""

    __slots__ = ("_core",)

    def __init__(self, client: BaseClient, name: Name) -> None:
        self._core = _core.Counter(client._core, "revision", checked_name("name", name))


class Revision(BaseRevision):
    """Waits for changes of the state of a name."""

    __slots__ = ()

    def wait(self, known: int, timeout: Seconds | None = None) -> bool:
        """Wait until the revision is not ``known``; ``False`` if it still is after ``timeout``."""
        return self._core.acquire(known, True, checked_timeout(True, timeout)).wait()
