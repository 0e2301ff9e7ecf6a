"""The kinds of locks and counters: the one list of them in Python.

Their keys and channels are the engine's (``cpp/locks/sync/recipes/keys.h``); the commands of each
are those of its scripts in ``lua/``, as ``docs/wire-protocol.md`` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast import _core
from holdfast._engine.errors import braced

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    #: What ``locked(kind=)`` takes, for type checkers; ``LOCKING`` and ``COUNTING`` have the words.
    Decorating = Literal[
        "lock", "fair_lock", "read", "write", "fenced_lock", "semaphore", "permit_semaphore"
    ]

#: By the engine's word: what stands before and after the name, and whether braces always do.
_KEYS: Final[Mapping[str, tuple[bytes, bytes, bool]]] = {
    **_core.derived_keys(),
    "slots": (b"holdfast_slots:", b"", False),
    "result": (b"holdfast_result:", b"", False),
}


def key_beside(word: str, name: bytes) -> bytes:
    """A key or channel of a name beside its own; ``word``: ``fair_queue``, ``lock_channel``, ..."""
    before, after, always = _KEYS[word]
    return before + b"{" + name + b"}" + after if always else braced(name, before, after)


class Kind(NamedTuple):
    """A kind of lock or counter, and what it has on the server."""

    #: Its word, which is also that of the client's method.
    word: str
    #: The channel on which its waiters listen, as ``key_beside`` names it.
    channel: str
    #: The commands that its scripts run, by the key: ``name`` for its own, else as of
    #: ``key_beside``. A waiter's ``subscribe`` and ``unsubscribe`` are not among them.
    commands: Mapping[str, tuple[str, ...]]
    #: Those keywords of the client's method that not all kinds have.
    options: tuple[str, ...] = ("lease", "on_lost", "label")
    #: Its two locks, by the attributes of its object; empty: it is one.
    sides: tuple[str, ...] = ()
    #: The kind as which its key is read, if that is another one.
    seen_as: str = ""
    #: What its number is, for a counter that has no owners; empty for the others.
    number: str = ""
    #: The server's type of its key.
    type: bytes = b"hash"
    #: Whether ``locked(kind=)`` takes it.
    decorates: bool = True

    @property
    def rights(self) -> tuple[str, ...]:
        """All its commands, each once; ``del`` is the first."""
        scripts = ("del", "eval", "evalsha", "publish")
        return tuple(dict.fromkeys((*scripts, *sum(self.commands.values(), ()))))

    @property
    def locking(self) -> tuple[str, ...]:
        """The words of its locks: its own, or those of its sides."""
        return self.sides or (self.word,)

    @property
    def short_words(self) -> tuple[str, ...]:
        """The same as a command line has them: ``fair`` for ``fair_lock``."""
        return tuple(word.removesuffix("_lock") for word in self.locking)

    def channel_of(self, name: bytes) -> bytes:
        """The channel of a name on which its waiters listen."""
        return key_beside(self.channel, name)

    def key_of(self, command: str, name: bytes, field: bytes) -> bytes:
        """The key of a name on which its scripts run the command; ``field``: the owner's."""
        words = (word for word, commands in self.commands.items() if command in commands)
        return self._key(next(words, "name"), name, field)

    def keys_of(self, name: bytes, field: bytes) -> list[bytes]:
        """All keys of a name to which its scripts write; ``field``: that of an owner."""
        return [self._key(word, name, field) for word in self.commands if word]

    def _key(self, word: str, name: bytes, field: bytes) -> bytes:
        if word in {"name", ""}:
            return name
        key = key_beside(word, name)
        return key + field + b":rwlock_timeout:1" if word == "read_timeout" else key


_HASH: Final = ("hset", "hexists", "hget", "hgetall", "hlen", "hdel", "pexpire", "pttl")
_NUMBER: Final = ("set", "get", "pexpire")

#: All kinds of the engine, with their keys, commands and options.
KINDS: Final = (
    Kind("lock", "lock_channel", {"name": _HASH}, ("lease", "on_lost", "label", "at_least")),
    Kind(
        "fair_lock",
        "lock_channel",
        {
            "name": _HASH,
            "fair_queue": ("rpush", "lindex", "lrange", "lrem", "lpop"),
            "fair_timeouts": ("zadd", "zrange", "zscore", "zrem"),
            "": ("time",),
        },
    ),
    Kind(
        "read_write_lock",
        "sides_channel",
        {"name": _HASH, "read_timeout": ("set", "exists")},
        sides=("read", "write"),
    ),
    Kind(
        "fenced_lock",
        "lock_channel",
        {"name": _HASH, "token_counter": ("get", "incr", "incrby"), "": ("time",)},
        ("lease", "on_lost", "label", "at_least"),
        seen_as="lock",
    ),
    Kind(
        "spin_lock",
        "lock_channel",
        {"name": _HASH},
        ("lease", "on_lost", "label", "at_least"),
        seen_as="lock",
        decorates=False,
    ),
    Kind(
        "semaphore",
        "semaphore_channel",
        {"name": (*_NUMBER, "incrby", "decrby")},
        ("permits",),
        number="permits",
        type=b"string",
    ),
    Kind(
        "permit_semaphore",
        "semaphore_channel",
        {
            "name": (*_NUMBER, "incrby", "pttl"),
            "": ("time",),
            "permit_timeouts": (
                *("zadd", "zcard", "zcount", "zrange", "zscore", "zrem"),
                "zremrangebyscore",
            ),
        },
        ("lease", "on_lost", "label", "permits"),
        type=b"string",
    ),
    Kind(
        "count_down_latch",
        "latch_channel",
        {"name": (*_NUMBER, "decr")},
        (),
        number="count",
        type=b"string",
        decorates=False,
    ),
)

#: What is built on a kind, ``seen_as``: the channel and the commands that it needs beside it.
BUILT: Final = (
    Kind(
        "leader",
        "changed_channel",
        {
            "name": ("hexists", "hdel", "pttl"),
            "state": ("hset", "hget", "hmget", "pexpire", "pttl"),
            "": ("time",),
        },
        seen_as="fenced_lock",
    ),
    Kind(
        "slots",
        "semaphore_channel",
        {"slots": ("hset", "hget", "hgetall", "hincrby", "hdel")},
        seen_as="permit_semaphore",
    ),
    Kind(
        "barrier",
        "changed_channel",
        {
            "name": ("get", "incrby", "pexpire", "pttl"),
            "state": (
                *("hset", "hget", "hmget", "hgetall", "hexists", "hdel"),
                *("pexpire", "pttl"),
            ),
        },
        seen_as="permit_semaphore",
    ),
    Kind("once", "lock_channel", {"result": ("set", "get", "exists")}, seen_as="lock"),
)

#: What ``locked(kind=)`` takes: the locks, and the kinds that several calls have at a time.
LOCKING: Final = tuple(
    word
    for kind in KINDS
    if kind.decorates and "permits" not in kind.options
    for word in kind.locking
)
COUNTING: Final = tuple(kind.word for kind in KINDS if "permits" in kind.options)

_BY_WORD: Final = {
    **{word: kind for kind in KINDS for word in kind.short_words},
    **{word: kind for kind in (*KINDS, *BUILT) for word in (*kind.locking, kind.word)},
}


def kind_of(word: str) -> Kind:
    """A kind by its word, one of ``short_words``, or one of its sides; ``KeyError``: none."""
    return _BY_WORD[word]
