"""Lets each system call of the engine and the guard fail, once, at each of its uses.

    python -m tests.faults.sweep                # all: the table of docs/tested.md, in Markdown
    python -m tests.faults.sweep socket mmap    # these calls

`swept.py` has the programs, and what must hold. Ends with 1 where a case hangs, ends the process,
raises another error than the library's, leaves a descriptor, a thread or a process behind, or lets
the next run of the program fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.support.refusals import compiled_shim
from tests.support.servers import Server, why_absent

MODES = ("sync", "asyncio", "name", "guard")
#: Each call with an error that the system gives. "+": all uses from the n-th on, as at a limit.
CALLS = {
    "socket": "EMFILE",
    "socket+": "EMFILE",
    "connect": "ECONNREFUSED",
    "connect+": "ECONNREFUSED",
    "send": "ECONNRESET",
    "recv": "ECONNRESET",
    "poll": "ENOMEM",
    "ppoll": "ENOMEM",
    "epoll_create1": "EMFILE",
    "epoll_create1+": "EMFILE",
    "epoll_ctl": "ENOSPC",
    "epoll_ctl+": "ENOSPC",
    "epoll_wait": "EINTR",
    "eventfd": "EMFILE",
    "eventfd+": "EMFILE",
    "timerfd_create": "EMFILE",
    "timerfd_create+": "EMFILE",
    "pthread_create": "EAGAIN",
    "pthread_create+": "EAGAIN",
    "fcntl": "EMFILE",
    "fcntl+": "EMFILE",
    "pidfd_open": "EMFILE",
    "pidfd_open+": "EMFILE",
    "socketpair": "EMFILE",
    "posix_spawn": "EAGAIN",
    "waitid": "EINTR",
    "memfd_create": "EMFILE",
    "ftruncate": "ENOSPC",
    "mmap": "ENOMEM",
    "madvise": "ENOMEM",
    "sendmsg": "EPIPE",
    "recvmsg": "ENOMEM",
    "fork": "EAGAIN",
}


class Swept(NamedTuple):
    """What came out of one call in one program: a word for each n."""

    mode: str
    call: str
    lines: list[str]

    @property
    def wrong(self) -> list[str]:
        """The cases that failed."""
        return [line for line in self.lines if not is_ok(line)]

    def cell(self) -> str:
        """Of the table."""
        if not self.lines:
            return ""
        count = Counter(line.split()[3] if line.count(" ") > 2 else "" for line in self.lines)
        del count[""]
        errors = ", ".join(f"{times} {word}" for word, times in sorted(count.items()))
        return f"{len(self.lines)}: {errors}" if errors else str(len(self.lines))


def is_ok(line: str) -> bool:
    """Whether a line of swept.py reports no failure."""
    return line.split()[2] == "ok"


def sweep(shim: Path, url: str, mode: str, call: str, numbers: Sequence[int] = ()) -> Swept:
    """All n, or these."""
    command = [sys.executable, "-m", "tests.faults.swept", url, mode, call, CALLS[call]]
    run = subprocess.run(
        [*command, *map(str, numbers)],
        env={**os.environ, "LD_PRELOAD": str(shim)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = run.stdout.splitlines()
    if run.returncode != 0:
        lines.append(f"0 0 ENDS {run.returncode} {run.stderr[-500:]}")
    return Swept(mode, call, lines)


def sweep_all(calls: Sequence[str]) -> dict[tuple[str, str], Swept]:
    """By call and mode."""
    kind = "valkey" if why_absent("redis") else "redis"
    with tempfile.TemporaryDirectory() as folder, Server(kind) as server:
        shim = compiled_shim(Path(folder))
        if shim is None:
            sys.exit("no C compiler for the refusal shim")
        url = server.url.replace("127.0.0.1", "localhost")  # which has to be resolved

        def swept(job: tuple[str, str]) -> Swept:
            call, mode = job
            if mode == "guard" and call.endswith("+"):  # it would try until the lease is over
                return Swept(mode, call, [])
            return sweep(shim, url, mode, call)

        jobs = [(call, mode) for call in calls for mode in MODES]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return {(each.call, each.mode): each for each in pool.map(swept, jobs)}


def table(found: dict[tuple[str, str], Swept]) -> str:
    """In Markdown."""
    heads = ["call", "error", "threads", "tasks", "a name and a password", "the guard"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for call in dict.fromkeys(call for call, _ in found):
        cells = " | ".join(found[call, mode].cell() for mode in MODES)
        lines.append(f"| `{call}` | `{CALLS[call]}` | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table, and what is wrong."""
    found = sweep_all(sys.argv[1:] or list(CALLS))
    print(table(found))
    wrong = [f"{each.mode} {each.call} {line}" for each in found.values() for line in each.wrong]
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
