"""The programs of the sweep, in a process whose system calls tests/support/refusal_shim.c refuses.

    python -m tests.faults.swept URL sync socket EMFILE 1 2 3
    python -m tests.faults.swept URL guard recvmsg ENOMEM

Each case is a child of `fork()`: the n-th use of the call fails, once (of "socket+" all uses from
the n-th on, as at a limit), while the program runs; then
the program runs again, and all of it has to work and to leave nothing. With "guard" it fails in the
guard of a program that is killed. A line for each case: n, the
number of uses, and "ok" or what is wrong. Without numbers it goes on until the call has fewer uses.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import holdfast
import holdfast.asyncio
from tests.support.waiting import BOUND

#: Seconds of a case, on a busy machine.
CASE = 120.0
OPTIONS: dict[str, Any] = {
    "lease": 0.6,
    "guard": True,
    "connect_timeout": 1.0,
    "command_timeout": 1.0,
}

_shim = ctypes.CDLL(None)


def refuse(call: str, nth: int, times: int, error: int) -> None:
    """From the n-th use on; `times` 0: all."""
    _shim.refusals_arm(call.encode(), ctypes.c_long(nth), ctypes.c_long(times), error)


class Refusable:
    """A step, which an error of the library may end."""

    def __init__(self, failed: list[BaseException]) -> None:
        self._failed = failed

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> bool:
        refused = isinstance(error, RuntimeError) and "guard=True" in str(error)
        if error is None or not (refused or isinstance(error, holdfast.HoldfastError)):
            return False
        self._failed.append(error)
        return True


class Case(NamedTuple):
    """One run of a program in which a call fails."""

    url: str
    mode: str
    call: str
    error: int
    nth: int


def by_threads(url: str, run: int, failed: list[BaseException], **options: Any) -> None:
    """Locks, a wait, a renewal and a permit of a client with a guard."""
    client: holdfast.Client | None = None
    with Refusable(failed):
        client = holdfast.Client(url, **OPTIONS, **options)
    if client is None:
        return
    with Refusable(failed), client.lock(f"lock {run}", wait=1.0) as lock:
        assert lock.acquire(timeout=1.0)
        lock.release()
    taken, free = threading.Event(), threading.Event()

    def hold() -> None:
        with Refusable(failed), client.fair_lock(f"waited {run}", wait=1.0):
            taken.set()
            free.wait(BOUND)
        taken.set()

    holder = threading.Thread(target=hold)
    try:
        holder.start()
    except RuntimeError as error:  # the interpreter's own thread
        failed.append(error)
    else:
        taken.wait(BOUND)
        set_soon(free)
        with Refusable(failed):
            waited = client.fair_lock(f"waited {run}")
            if waited.acquire(timeout=1.0):
                time.sleep(0.25)  # until it has been renewed
                waited.release()
        holder.join()
    with Refusable(failed):
        semaphore = client.permit_semaphore(f"permits {run}")
        semaphore.try_set_permits(1)
        permit = semaphore.acquire(timeout=1.0)
        if permit is not None:
            semaphore.release(permit)
    client.close()


def by_name(url: str, run: int, failed: list[BaseException]) -> None:
    """The same with threads that resolve the server's name and call for its password."""
    named = url.replace("127.0.0.1", "localhost")
    by_threads(named, run, failed, username="default", password=lambda: "any: it has none")


def set_soon(free: threading.Event) -> None:
    """Set it soon, by the signal of a timer: without a thread."""
    signal.signal(signal.SIGALRM, lambda *_: free.set())
    signal.setitimer(signal.ITIMER_REAL, 0.03)


def by_tasks(url: str, run: int, failed: list[BaseException]) -> None:
    """The same by tasks."""
    asyncio.run(asyncio.wait_for(_tasks(url, run, failed), CASE))


async def _tasks(url: str, run: int, failed: list[BaseException]) -> None:
    client: holdfast.asyncio.Client | None = None
    with Refusable(failed):
        client = holdfast.asyncio.Client(url, **OPTIONS)
    if client is None:
        return
    with Refusable(failed):
        async with client.lock(f"lock {run}", wait=1.0) as lock:
            assert await lock.acquire(timeout=1.0)
            await lock.release()
    taken = asyncio.Event()

    async def hold() -> None:
        with Refusable(failed):
            async with client.fair_lock(f"waited {run}", wait=1.0):
                taken.set()
                await asyncio.sleep(0.03)
        taken.set()

    holder = asyncio.create_task(hold())
    await taken.wait()
    with Refusable(failed):
        waited = client.fair_lock(f"waited {run}")
        if await waited.acquire(timeout=1.0):
            await asyncio.sleep(0.25)
            await waited.release()
    await holder
    with Refusable(failed):
        semaphore = client.permit_semaphore(f"permits {run}")
        await semaphore.try_set_permits(1)
        permit = await semaphore.acquire(timeout=1.0)
        if permit is not None:
            await semaphore.release(permit)
    with Refusable(failed):
        await client.close()


def guarded(case: Case) -> tuple[int, str]:
    """Kill a program whose guard is refused a call: the guard frees its lock, and ends."""
    uses = Path(f"/tmp/sweep-{os.getpid()}")
    os.environ["HOLDFAST_TEST_REFUSALS"] = f"{case.call} {case.nth} 1 {case.error}"
    os.environ["HOLDFAST_TEST_USES"] = str(uses)
    name = f"guarded {os.getpid()}"
    reading, writing = os.pipe()
    holder = os.fork()
    if holder == 0:
        client = holdfast.Client(case.url, **{**OPTIONS, "lease": 30.0})
        client.lock(name).acquire()
        os.write(writing, b"%d" % client._core.guard_pid)
        signal.pause()
    guard = int(os.read(reading, 16))
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    if guard == 0:
        return case.nth, "ok unguarded"
    with holdfast.Client(case.url) as client, client.lock(name, wait=BOUND):
        pass
    end = time.monotonic() + BOUND
    while not ended(guard):
        if time.monotonic() > end:
            return case.nth, "the guard HANGS"
        time.sleep(0.005)
    used = int(uses.read_text(encoding="ascii"))
    uses.unlink()
    return used, "ok"


def ended(pid: int) -> bool:
    """Whether the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] == "Z"
    except OSError:
        return True


PROGRAMS: dict[str, Callable[[str, int, list[BaseException]], None]] = {
    "sync": by_threads,
    "asyncio": by_tasks,
    "name": by_name,
}


def state() -> tuple[list[str], list[str], str]:
    """The descriptors, the threads and the children of this process."""
    descriptors = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            descriptors.append(f"{each.name} {each.readlink()}")
        except OSError:
            continue  # of the listing itself
    tasks = list(Path("/proc/self/task").iterdir())
    threads = [(each / "comm").read_text(encoding="utf-8").strip() for each in tasks]
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return sorted(descriptors), sorted(threads), children


def failing(program: Callable[..., None], url: str, run: int) -> list[BaseException]:
    """What the program fails with."""
    failed: list[BaseException] = []
    program(url, run, failed)
    return failed


def judged(case: Case) -> tuple[int, str]:
    """The uses of the call, and "ok" or what is wrong; for a child of `fork()`."""
    warnings.simplefilter("ignore")
    if case.mode == "guard":
        return guarded(case)
    program = PROGRAMS[case.mode]
    before = state()
    failed: list[BaseException] = []
    run = os.getpid() * 10
    all_on = case.call.endswith("+")
    refuse(case.call.rstrip("+"), case.nth, 0 if all_on else 1, case.error)
    program(case.url, run, failed)
    uses = _shim.refusals_uses()
    refuse("", 0, 0, 0)
    again = failing(program, case.url, run + 1)
    # A machine is too busy for its time-outs at times, not each time.
    if again and all(failing(program, case.url, run + number) for number in (2, 3)):
        return uses, f"afterwards {again[0]!r}"
    end = time.monotonic() + BOUND
    while state() != before and time.monotonic() < end:
        time.sleep(0.01)
    if state() != before:
        return uses, f"left {changed(before, state())}"
    return uses, "ok" if not failed else f"ok {type(failed[0]).__name__}"


def changed(before: Iterable[Any], now: Iterable[Any]) -> str:
    """What there is more."""
    more = [sorted(set(b) - set(a)) or b for a, b in zip(before, now, strict=True) if a != b]
    return repr(more)


def in_child(case: Case) -> tuple[int, str]:
    """The same, from a child of `fork()` that is killed when it takes too long."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _run_and_tell(writing, case)
    os.close(writing)
    end = time.monotonic() + CASE
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reading)
            return case.nth, "HANGS"
        time.sleep(0.005)
    _, status = os.waitpid(pid, 0)
    with os.fdopen(reading, encoding="utf-8") as answer:
        text = answer.read()
    if status != 0 or not text:
        return case.nth, f"ENDS with {os.waitstatus_to_exitcode(status)} {text}"
    uses, _, what = text.partition(" ")
    return int(uses), what


def _run_and_tell(writing: int, case: Case) -> None:
    try:
        uses, what = judged(case)
    except BaseException:  # noqa: BLE001  # also of the interpreter: all are reported
        uses, what = case.nth, "RAISES " + traceback.format_exc()
    os.write(writing, f"{uses} {what}".encode())
    os._exit(0)


def main() -> None:
    """Says a line for each case."""
    url, mode, call, error, *numbers = sys.argv[1:]
    for nth in map(int, numbers) if numbers else count(1):
        uses, what = in_child(Case(url, mode, call, getattr(errno, error), nth))
        if uses < nth:
            break
        print(nth, uses, " ".join(what.split()), flush=True)


if __name__ == "__main__":
    main()
