"""A Redisson client in a separate process, driven from Python; the protocol is in README.md.

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
from typing import Any

from tests.interop.java_objects import (
    CALL_TIMEOUT,
    Answer,
    JavaError,
    JavaFencedLock,
    JavaLatch,
    JavaLock,
    JavaPermitSemaphore,
    JavaSemaphore,
    milliseconds,
)

START_TIMEOUT = 60.0


class PeerEnded(Exception):
    """The peer process is gone, killed or failed; the message holds what it said last."""


class JavaPeer:
    """One Redisson client. Any thread may call; operations run on the named threads of the peer."""

    def __init__(self, class_path: str, *addresses: str, watchdog: float = 30.0) -> None:
        """Start the process and return when it is connected to its addresses (redis://…).

        All of it is on the first one but the members of `multi_lock` and `red_lock`.
        """
        self._ids = itertools.count(1)
        self._guard = threading.Lock()
        self._open: dict[int, Future[Answer]] = {}
        self._last_words: str | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process has ended)
        self._ready: Future[dict[str, Any]] = Future()
        self._process = subprocess.Popen(
            [
                *("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                *("-cp", class_path, "holdfast.peer.Peer", f"--address={','.join(addresses)}"),
                f"--lock-watchdog-timeout={milliseconds(watchdog)}",
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
        """Return a lock, of any kind that is an RLock, as one thread of the peer sees it."""
        return JavaLock(self, thread, kind, name)

    def fenced_lock(self, name: str, thread: str = "t1") -> JavaFencedLock:
        """Return a fenced lock, which Redisson 3.17.6 does not have."""
        return JavaFencedLock(self, thread, "fenced", name)

    def multi_lock(self, *names: str, thread: str = "t1") -> JavaLock:
        """Return a lock over all locks of these names, the nth on the nth address."""
        return JavaLock(self, thread, "multi", "\n".join(names))

    def red_lock(self, *names: str, thread: str = "t1") -> JavaLock:
        """Return a lock over a majority of the locks of these names, the nth on the nth address."""
        return JavaLock(self, thread, "red", "\n".join(names))

    def read_write_soak(
        self, name: str, counter: str, thread: str, *, seconds: float, pause: float
    ) -> Future[Answer]:
        """As JavaLock.begin_soak, each round followed by a look at the counter as a reader."""
        return JavaLock(self, thread, "readWrite", name).begin_soak(
            counter, seconds=seconds, pause=pause
        )

    def semaphore(self, name: str, thread: str = "t1") -> JavaSemaphore:
        """Return a semaphore."""
        return JavaSemaphore(self, thread, "semaphore", name)

    def permit_semaphore(self, name: str, thread: str = "t1") -> JavaPermitSemaphore:
        """Return a semaphore whose permits expire."""
        return JavaPermitSemaphore(self, thread, "permits", name)

    def latch(self, name: str, thread: str = "t1") -> JavaLatch:
        """Return a count-down latch."""
        return JavaLatch(self, thread, "latch", name)

    def sleeps(self, thread: str) -> bool:
        """Whether a thread waits, and not for a reply of the server."""
        return bool(self.submit("clock", "peer", "sleeps", of=thread).result(CALL_TIMEOUT).value)

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

    def __exit__(self, *error: object) -> None:
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
