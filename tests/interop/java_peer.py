"""A Redisson client in a process of its own, driven from Python; the protocol is in README.md.

Times are seconds here and milliseconds on the line; time stamps are nanoseconds of the machine's
monotonic clock on both sides, comparable with `time.monotonic_ns()`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any

START_TIMEOUT = 60.0
CALL_TIMEOUT = 30.0
ILLEGAL_MONITOR_STATE = "java.lang.IllegalMonitorStateException"
"""The class of what unlock() throws when its thread does not hold the lock."""


class JavaError(Exception):
    """What an operation threw in Java."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(f"{java_class}: {message}")
        self.java_class = java_class
        self.message = message


class PeerEnded(Exception):
    """The peer process is gone, killed or failed; the message holds what it said last."""


@dataclass(frozen=True)
class Answer:
    """What an operation returned, and the moments in Java before and after it."""

    value: Any
    began: int
    ended: int


class JavaPeer:
    """One Redisson client. Any thread may call; operations run on the named threads of the peer."""

    def __init__(self, class_path: str, address: str, *, watchdog: float = 30.0) -> None:
        """Start the process and return when its client is connected to `address` (redis://…)."""
        self._ids = itertools.count(1)
        self._guard = threading.Lock()
        self._open: dict[int, Future[Answer]] = {}
        self._last_words: str | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process has ended)
        self._ready: Future[dict[str, Any]] = Future()
        self._process = subprocess.Popen(
            [
                *("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                *("-cp", class_path, "holdfast.peer.Peer", f"--address={address}"),
                f"--lock-watchdog-timeout={_milliseconds(watchdog)}",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout
        self._reader = threading.Thread(target=self._read, name="java-peer-reader", daemon=True)
        self._reader.start()
        try:
            self.redisson: str = self._ready.result(START_TIMEOUT)["redisson"]
        except BaseException:
            self.kill()
            raise

    @property
    def idle(self) -> bool:
        """Whether it runs and every request is answered."""
        with self._guard:
            return self._last_words is None and not self._open

    def submit(self, thread: str, kind: str, op: str, **fields: Any) -> Future[Answer]:
        """Have the peer's thread run an operation; the result may raise JavaError, PeerEnded.

        Java goes on until it is done: the future cannot be cancelled.
        """
        answer: Future[Answer] = Future()
        answer.set_running_or_notify_cancel()
        with self._guard:
            if self._last_words is not None:
                raise PeerEnded(self._last_words)
            number = next(self._ids)
            self._open[number] = answer
            request = {"id": number, "thread": thread, "kind": kind, "op": op, **fields}
            # A broken pipe means that the reader is about to find the end and fails the answer.
            with contextlib.suppress(BrokenPipeError):
                self._stdin.write(json.dumps(request) + "\n")
                self._stdin.flush()
        return answer

    def lock(self, name: str, thread: str = "t1", kind: str = "lock") -> JavaLock:
        """Return a lock as one thread of the peer sees it."""
        return JavaLock(self, thread, kind, name)

    def owner(self, thread: str = "t1") -> str:
        """Return the thread's owner field on the server."""
        owner: str = self.submit(thread, "peer", "owner").result(CALL_TIMEOUT).value
        return owner

    def clock(self) -> int:
        """Return the peer's clock in nanoseconds."""
        now: int = self.submit("clock", "peer", "clock").result(CALL_TIMEOUT).value
        return now

    def kill(self) -> None:
        """End the process at once by SIGKILL; the server learns nothing but closed connections."""
        self._process.kill()
        self._clean_up()

    def hang_up(self) -> None:
        """End the input, as the death of this process would; the peer then ends by itself."""
        self._stdin.close()
        self._clean_up()

    def _clean_up(self) -> None:
        self._process.wait(CALL_TIMEOUT)
        self._reader.join(CALL_TIMEOUT)
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        self._stdout.close()
        self._errors.close()

    def __enter__(self) -> JavaPeer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def _read(self) -> None:
        for line in self._stdout:
            self._take(json.loads(line))
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")[-4000:]
        with self._guard:
            self._last_words = f"the Java peer ended; it said last: {said or 'nothing'}"
            left, self._open = self._open, {}
        for answer in left.values():
            answer.set_exception(PeerEnded(self._last_words))
        if not self._ready.done():
            self._ready.set_exception(PeerEnded(self._last_words))

    def _take(self, line: dict[str, Any]) -> None:
        if "ready" in line:
            self._ready.set_result(line)
            return
        with self._guard:
            answer = self._open.pop(line["id"])
        if "error" in line:
            answer.set_exception(JavaError(line["error"], line["message"]))
        else:
            answer.set_result(Answer(line["ok"], line["began"], line["ended"]))


class JavaLock:
    """An RLock as one thread of a peer sees it; the methods are Redisson's."""

    def __init__(self, peer: JavaPeer, thread: str, kind: str, name: str) -> None:
        self._peer = peer
        self._thread = thread
        self._kind = kind
        self._name = name

    @property
    def owner(self) -> str:
        """The thread's owner field on the server."""
        return self._peer.owner(self._thread)

    def begin_lock(self, lease: float | None = None) -> Future[Answer]:
        return self._begin("lock", lease=lease)

    def lock(self, lease: float | None = None) -> Answer:
        return self.begin_lock(lease).result(CALL_TIMEOUT)

    def begin_try_lock(
        self, wait: float | None = None, lease: float | None = None
    ) -> Future[Answer]:
        return self._begin("tryLock", wait=wait, lease=lease)

    def try_lock(self, wait: float | None = None, lease: float | None = None) -> bool:
        return bool(self.begin_try_lock(wait, lease).result(CALL_TIMEOUT).value)

    def unlock(self) -> Answer:
        return self._begin("unlock").result(CALL_TIMEOUT)

    def force_unlock(self) -> bool:
        return bool(self._begin("forceUnlock").result(CALL_TIMEOUT).value)

    def is_locked(self) -> bool:
        return bool(self._begin("isLocked").result(CALL_TIMEOUT).value)

    def is_held_by_current_thread(self) -> bool:
        return bool(self._begin("isHeldByCurrentThread").result(CALL_TIMEOUT).value)

    def hold_count(self) -> int:
        return int(self._begin("holdCount").result(CALL_TIMEOUT).value)

    def remain_time_to_live(self) -> float:
        """Return the seconds left; negative milliseconds (none, without limit) stay as they are."""
        left: int = self._begin("remainTimeToLive").result(CALL_TIMEOUT).value
        return left if left < 0 else left / 1000

    def begin_soak(
        self, counter: str, *, seconds: float, pause: float, iterations: int = 1_000_000
    ) -> Future[Answer]:
        """Rounds of lock, counter + 1 by reading and writing, unlock; gives the rounds done."""
        fields = {"counter": counter, "iterations": iterations}
        return self._begin("soak", **fields, seconds=seconds, pause=pause)

    def _begin(self, op: str, **arguments: Any) -> Future[Answer]:
        fields = {
            _MILLISECONDS.get(key, key): _milliseconds(value) if key in _MILLISECONDS else value
            for key, value in arguments.items()
            if value is not None
        }
        return self._peer.submit(self._thread, self._kind, op, name=self._name, **fields)


_MILLISECONDS = {"lease": "leaseMs", "wait": "waitMs", "seconds": "forMs", "pause": "pauseMs"}


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
