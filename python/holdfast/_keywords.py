"""The keywords of clients and of locks, for type checkers and ``typing.get_type_hints``.

Annotations are evaluated here: of postponed ones ``typing`` would compile each, at each start.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

from ._arguments import Name, Seconds

__all__ = [
    "Keywords",
    "LockOptions",
    "MinimumLockOptions",
    "TaskLockOptions",
    "TaskMinimumLockOptions",
]


class Keywords(TypedDict, total=False):
    """The keywords of a client, for type checkers."""

    lease: Seconds
    id: str | None
    name_prefix: Name
    username: str | None
    password: str | Callable[[], str | tuple[str] | tuple[str, str]] | None
    sentinel_username: str | None
    sentinel_password: str | None
    connect_timeout: Seconds
    command_timeout: Seconds
    retries: int
    tls_ca: str | os.PathLike[str] | None
    tls_cert: str | os.PathLike[str] | None
    tls_key: str | os.PathLike[str] | None
    tls_verify: bool
    replicas_to_wait: int
    client_name: str | None
    protocol: int
    pubsub: Literal["auto", "sharded", "classic", "both"]
    releases: Literal["awaited", "deferred"]
    tracking: Literal["auto", "off", "require"]
    guard: bool | None
    reauthenticate: Seconds | None
    address_map: (
        Mapping[tuple[str, int], tuple[str, int]]
        | Callable[[tuple[str, int]], tuple[str, int]]
        | None
    )


class LockOptions(TypedDict, total=False):
    """The keywords of every kind of lock, for type checkers; ``Client.lock`` describes them."""

    lease: Seconds | None
    wait: Seconds | None
    on_lost: Callable[[Any], object] | None


class MinimumLockOptions(LockOptions, total=False):
    """The keywords of the kinds of locks that have a minimum hold time."""

    at_least: Seconds | None


class TaskLockOptions(LockOptions, total=False):
    """The keywords of every kind of lock of a task, for type checkers."""

    cancel_on_lost: bool


class TaskMinimumLockOptions(MinimumLockOptions, TaskLockOptions, total=False):
    """The keywords of the kinds of locks of a task that have a minimum hold time."""
