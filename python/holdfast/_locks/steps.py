"""What is built on the engine: the exchanges of a call, written once for threads and tasks.

A call is a generator that yields its exchanges, each to be begun by who drives it, and gets their
results, or their errors; ``run()`` drives it for threads, ``task_steps.drive()`` for tasks. Each
exchange has the call's time (``CallersTime``): ``time_of()``, ``without_limit()``, ``time_over()``.

What a step takes depends on a hold or permit of its caller, and ends with that, by the script of
its release. So a call gives back what it has taken by ``keeping()`` alone: it is made before
the acquisition is sent, and gives that back, in the background, unless the call keeps it at its
end; ``close()`` waits for that, too. A call never sends anything in an exception path.

A *state* is a hash on the server, beside the key of a name (``Keys.state``). Its field
``revision`` is greater after each change, by ``lua/_revision/change.lua``, which announces it on
``Keys.channel``. ``changes()`` waits until the revision is another than the known one: 0 where
there is no state, and below 0 once the state is over: with the lock of the owner that its field
``owner`` names, or at the moment in its field ``until`` (``lua/_revision/now.lua``).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast import _core
from holdfast._engine.arguments import LeaseTime, Name, Terms, checked_name

if TYPE_CHECKING:
    from holdfast._core import CallersTime, Exchange
    from holdfast._engine.process import AnyClient

T = TypeVar("T")

Argument = bytes | str | int
#: A command of the server: its word and its arguments.
Command = Sequence[bytes]
#: A call that is driven.
Steps = Generator["Exchange[Any]", Any, T]


def keeping(hold: Any, time: CallersTime, terms: Terms | None = None) -> _core.Keeping:
    """What acquires a lock for a hold of a call, and gives it back: see ``_core.Keeping``."""
    ms, renewed = hold.lock._lease
    listener = hold._listener()
    return _core.keeping(hold._core, hold._owner, ms, renewed, listener, time, terms)


def granting(
    semaphore: Any, count: int, waits: bool, lease: LeaseTime, *given: Any
) -> tuple[_core.Keeping, Exchange[Any], list[str], int]:
    """The same of permits, which ``semaphore`` expects from now on: see ``_core.granting``."""
    ms, renewed = lease
    return _core.granting(semaphore._core, semaphore, count, waits, ms, renewed, *given)


def time_over(core: _core.Client) -> CallersTime:
    """The time of a caller whose time is over: for an answer at once."""
    return _core.time_over(core)


def run(steps: Steps[T]) -> T:
    """Carry out a call on the calling thread; its result."""
    try:
        exchange = next(steps)
        while True:
            try:
                result = exchange.wait()
            except BaseException as error:  # noqa: BLE001 - an interrupt, too
                exchange = steps.throw(error)
            else:
                exchange = steps.send(result)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        steps.close()  # where an interrupt came between two exchanges


def time_of(core: _core.Client, seconds: float, *, blocking: bool = True) -> CallersTime:
    """The time of a call that begins now; ``seconds``: below 0 without limit, 0 does not wait."""
    return _core.callers_time(core, blocking, seconds)


def without_limit(core: _core.Client) -> CallersTime:
    """The time of a call that waits for no owner: the command time-out bounds each exchange."""
    return _core.callers_time(core, True, -1.0)


class Keys:
    """The keys of a name, in one slot of a cluster."""

    __slots__ = ("channel", "name", "state")

    def __init__(self, name: bytes) -> None:
        from holdfast._locks.kinds import key_beside  # its rows are slow to import

        #: The name's own key, with the client's ``name_prefix``.
        self.name = name
        self.state = key_beside("state", name)
        self.channel = key_beside("changed_channel", name)


def keys_of(client: AnyClient, name: Name) -> Keys:
    """The keys of a name of this client."""
    return Keys(client.name_prefix + checked_name("name", name))


def step(
    core: _core.Client,
    time: CallersTime,
    script: str,
    keys: Sequence[bytes],
    args: Sequence[Argument] = (),
    *,
    name: bytes = b"",
) -> Exchange[Any]:
    """The exchange of a script's step; the reply: ``None``, ``int``, ``bytes``, or a list of them.

    It may be sent again after a lost reply, and waits for a server that refuses to work for the
    moment, so a repeat must have the same effect. ``script``: ``"<kind>/<step>"`` of ``lua/``;
    ``args``: without the command by which scripts publish, which is added as the last one;
    ``name``: what its errors name, where that is not the first key.
    """
    return _core.step_of(core, name, script, keys, args, time)


def lasting_step(
    core: _core.Client,
    lease_ms: int,
    script: str,
    keys: Sequence[bytes],
    args: Sequence[Argument],
) -> Exchange[int]:
    """The same, if the reply is a number; it goes on until the lease is over.

    Its caller gets an error after the command time-out; then it goes on in the background.
    """
    return _core.lasting_step_of(core, keys[0], script, keys, args, lease_ms)


def commands(
    core: _core.Client, key: bytes, words: Sequence[Command], time: CallersTime
) -> Exchange[list[Any]]:
    """The exchange of commands, at least one, with the server that has the key.

    The replies: as of ``step``, or errors, as exceptions. The commands are sent together,
    and must be safe to repeat.
    """
    return _core.commands_of(core, key, words, time)


def ask(core: _core.Client, key: bytes, words: Sequence[Command]) -> list[Any]:
    """The same on the calling thread, for as long as the command time-out."""
    return commands(core, key, words, without_limit(core)).wait() if words else []


def raised(replies: list[Any]) -> list[Any]:
    """The replies; raises an error among them."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return replies


def changes(client: AnyClient, name: Name, *, led: bool = False) -> _core.Counter:
    """What waits for changes of the state of a name: ``wait(known, time)``.

    ``led``: it is that of a leader, so that the messages of its lock's releases concern it, too.
    """
    word = "observation" if led else "revision"
    return _core.Counter(client._core, word, checked_name("name", name))
