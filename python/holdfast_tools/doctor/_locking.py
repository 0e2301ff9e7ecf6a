"""Checks that acquire locks: whether scripts and messages work."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from holdfast import HoldfastError, ServerError
from holdfast.servers import key_beside

from ._finding import Finding, bad, good, unknown
from ._rights import check_rights, is_unknown

if TYPE_CHECKING:
    from holdfast import Client
    from holdfast.servers import Deployment

__all__ = ["check_messages", "check_scripts"]

#: Seconds. A message that takes longer has not come; the lease is longer still.
LEASE: Final = 20.0
WAIT: Final = 5.0
#: A waiter that has not subscribed gets the lock without a message.
SUBSCRIPTION: Final = 1.0
GLANCE: Final = 0.02


def check_scripts(client: Client, name: bytes, deployment: Deployment) -> Finding:
    """Acquire a free lock, and release it."""
    lock = client.lock(name, lease=LEASE)
    start = time.perf_counter()
    try:
        if not lock.acquire(blocking=False):
            return _locked("scripts")
        lock.release()
    except HoldfastError as error:
        found, do = _explained(error, deployment, name)
        return bad("scripts", found, "nothing can be locked", do or "see the error")
    took = (time.perf_counter() - start) * 1000
    return good("scripts", f"acquired and released in {took:.3f} ms", "locks work on this server")


def _locked(check: str) -> Finding:
    found, means = "the test name is locked", "it was not tried: another program has this lock"
    return unknown(check, found, "choose another with --name", means)


def check_messages(client: Client, other: Client, name: bytes, deployment: Deployment) -> Finding:
    """Let a second client wait, and see whether a release wakes it."""
    lock = client.lock(name, lease=LEASE)
    waiter = _Waiter(other, name)
    released = 0.0
    try:
        if not lock.acquire(blocking=False):
            return _locked("pub/sub")
        waiter.start()
        _await_subscription(deployment, name, waiter)
        released = time.perf_counter()
        lock.release()
        waiter.join()
    except HoldfastError as error:
        waiter.error = waiter.error or error
    if waiter.error is not None:
        found, do = _explained(waiter.error, deployment, name)
        if "subscribe" not in found and _lacks_subscribe(deployment, name):
            found = f"{found}; subscribe is refused"
            do = f"{do}; ACL SETUSER {deployment.user} +subscribe +unsubscribe".removeprefix("; ")
        return _failed(found, do)
    if waiter.woken is None:
        return _failed(f"no message came within {WAIT:.0f} s")
    took = (waiter.woken - released) * 1000
    return good("pub/sub", f"a waiter woke {took:.3f} ms after the release", "waiters wake at once")


def _lacks_subscribe(deployment: Deployment, name: bytes) -> bool:
    """Whether the user may not subscribe, where another right fails first.

    Where a user may not use MULTI, in which it is checked and not executed, it is not found out.
    """
    key = deployment.prefix + name
    word = b"SSUBSCRIBE" if deployment.sharded else b"SUBSCRIBE"
    trial = (word, key_beside("lock_channel", key))
    try:
        _, reply, _ = deployment.ask(key, [(b"MULTI",), trial, (b"DISCARD",)])
    except HoldfastError:  # the server of the name is down, which is what has failed
        return False
    return isinstance(reply, ServerError) and reply.code == "NOPERM"


def _await_subscription(deployment: Deployment, name: bytes, waiter: threading.Thread) -> None:
    """Wait for the subscription, if this user may see it; otherwise for its longest duration."""
    channel = key_beside("lock_channel", deployment.prefix + name)
    servers = deployment.primaries()
    until = time.monotonic() + SUBSCRIPTION
    while waiter.is_alive() and time.monotonic() < until:
        if deployment.subscribers(servers, [channel])[channel]:
            return
        time.sleep(GLANCE)


def _failed(found: str, do: str = "") -> Finding:
    return bad(
        "pub/sub",
        found,
        "waiters are not woken by a release: they wait until the lease ends, or fail",
        do or "allow subscribe, unsubscribe and the channels; see that no proxy swallows messages",
    )


def _explained(error: HoldfastError, deployment: Deployment, name: bytes) -> tuple[str, str]:
    """What failed, and what to do: the right that the user lacks, or the command, where it is one.

    The server's error says at most which command of the script it refused.
    """
    if isinstance(error, ServerError) and (error.code == "NOPERM" or is_unknown(error)):
        try:
            lacking = [
                one for one in check_rights(deployment, name, ["lock"]) if one.level == "bad"
            ]
        except HoldfastError:
            lacking = []
        if lacking:
            found = "; ".join(one.found for one in lacking)
            return found, "; ".join(one.do.partition(";")[0] for one in lacking)
    return str(error), ""


class _Waiter(threading.Thread):
    """Waits for a lock, and releases it again."""

    def __init__(self, client: Client, name: bytes) -> None:
        super().__init__(daemon=True)
        self._lock = client.lock(name, lease=LEASE)
        self.error: HoldfastError | None = None
        self.woken: float | None = None

    def run(self) -> None:
        try:
            if self._lock.acquire(timeout=WAIT):
                self.woken = time.perf_counter()
                self._lock.release()
        except HoldfastError as error:
            self.error = error
