"""Makes the client for tasks from that for threads: `python -m tools.tasks` writes it.

What the two share by hand is in `BaseClient`; what only tasks need, in `TaskClient`. The lint
compares what is committed with what this makes.
"""

from __future__ import annotations

import re
import subprocess
import textwrap
from pathlib import Path

from tools.lint.tree import ROOT

THREADS = Path("python/holdfast/_clients/threads.py")
TASKS = Path("python/holdfast/_clients/tasks.py")

#: What is built on locks, each with a class for tasks in a separate module.
BUILT = "|".join(
    word
    for word in re.findall(r'Late\("holdfast\._locks\.(\w+)"\)', (ROOT / THREADS).read_text())
    if (ROOT / f"python/holdfast/_locks/task_{word}.py").is_file()
)

#: The makers of what takes `cancel_on_lost`.
CANCELLED = (
    "lock",
    "fair_lock",
    "read_write_lock",
    "fenced_lock",
    "spin_lock",
    "multi_lock",
)
#: The methods that reach the server.
AWAITED = ("attach", "ping", "close", "__aenter__", "__aexit__")
KEYWORD = "cancel_on_lost: bool = False"
CLASS = '''class Client(TaskClient):
    """A client of one deployment for any number of event loops; it connects on first use.

    Arguments as those of ``holdfast.Client``.
    """'''
#: Before what is said of `at_least`.
ABOUT_TASKS = (
    r"It may be a coroutine function. ``cancel_on_lost``: the loss of a hold cancels its owner "
    r"inside ``async with``, which then raises ``LockLostError``. \1"
)
#: Regular expressions, in order, over the whole file.
RULES = (
    (
        r'^"""The client, which makes locks\."""',
        '"""The client for asyncio. Made by tools/tasks.py: changes belong in threads.py."""',
    ),
    (
        r"from holdfast\._clients\.base import BaseClient",
        "from holdfast._clients.task_base import TaskClient",
    ),
    (r"from holdfast\._clients\.watchdog import set_watchdog_threads\n", ""),
    (r' *"set_watchdog_threads",\n', ""),
    (r"    EXPONENTIAL,\n    Backoff,\n", ""),
    (
        rf"from holdfast\._locks\.(lock|{BUILT}) import",
        r"from holdfast._locks.task_\1 import",
    ),
    (
        r"from holdfast\._locks\.(permit_semaphore|semaphores) import",
        "from holdfast._locks.task_semaphores import",
    ),
    (r"from holdfast\._locks\.threads import", "from holdfast._locks.tasks import"),
    (
        rf"from holdfast\._locks import ({BUILT}) as",
        r"from holdfast._locks import task_\1 as",
    ),
    (
        rf'Late\("holdfast\._locks\.({BUILT})"\)',
        r'Late("holdfast._locks.task_\1")',
    ),
    (
        r"from holdfast\._locks\.decorators import locked",
        "from holdfast._locks.decorators import async_locked as locked",
    ),
    (
        r"from collections\.abc import Callable, Sequence",
        "from collections.abc import Callable, Coroutine, Sequence",
    ),
    (
        r"class Client\(BaseClient\):\n    \"\"\".*?\"\"\"",
        CLASS,
    ),
    (r"Callable\[P, (R(?: \| None)?)\]", r"Callable[P, Coroutine[Any, Any, \1]]"),
    (r"``with``", "``async with``"),
    (r"Decorate a function", "Decorate a coroutine function"),
    (r"detached by any thread,", "detached by any task or thread,"),
    (r"``on_lost``: called once with", "``on_lost``: called once, on the owner's loop, with"),
    (r"``on_lost``:(\s+)called with", r"``on_lost``:\1called on the loop with"),
    (r"__enter__", "__aenter__"),
    (r"__exit__", "__aexit__"),
    (r"(self\._core\.ping\(\)|closing)\.wait\(\)", r"await request(self, \1)"),
    (r"return attach\(", "return await attach("),
    (r"        self\.close\(\)", "        await self.close()"),
    (rf"    def ({'|'.join(AWAITED)})\(", r"    async def \1("),
)
#: In the makers of `CANCELLED`.
CANCELLING = (
    (
        r"        label: str \| None = None,\n    \) ->",
        f"        {KEYWORD},\n        label: str | None = None,\n    ) ->",
    ),
    (r"label=label", "cancel_on_lost=cancel_on_lost, label=label"),
    (
        r"``on_lost``((?:, ``at_least``)?), ``label``: as of ``lock``",
        r"``on_lost``\1, ``cancel_on_lost``, ``label``: as of ``lock``",
    ),
    (
        r"(?<=found lost\. )(``at_least``: the\s)",
        ABOUT_TASKS,
    ),
)
IMPORTS = """from holdfast._locks.task_steps import request
from holdfast._locks.threads import EXPONENTIAL, Backoff
"""
#: Of a line.
WIDTH = 100
INDENT = " " * 8
PARAGRAPH = re.compile(r'(?m)^(?:        (?!""")\S.*\n)+')


def made(source: str) -> str:
    """The client for tasks, made of the text of that for threads."""
    for pattern, text in RULES:
        source = re.sub(pattern, text, source, flags=re.DOTALL if ".*?" in pattern else 0)
    for name in CANCELLED:
        begin = source.index(f"    def {name}(")
        end = source.index("\n    def ", begin)
        method = source[begin:end]
        for pattern, text in CANCELLING:
            method = re.sub(pattern, text, method)
        source = source[:begin] + method + source[end:]
    source = source.replace(
        "from holdfast._locks.base import", IMPORTS + "from holdfast._locks.base import", 1
    )
    return wrapped(formatted(source))


def wrapped(source: str) -> str:
    """The same with the paragraphs of docstrings wrapped where a line has become too long."""

    def wrap(paragraph: re.Match[str]) -> str:
        text = paragraph[0]
        if max(map(len, text.splitlines())) <= WIDTH:
            return text
        return (
            textwrap.fill(
                " ".join(text.split()),
                WIDTH,
                initial_indent=INDENT,
                subsequent_indent=INDENT,
                break_on_hyphens=False,
            )
            + "\n"
        )

    return PARAGRAPH.sub(wrap, source)


def formatted(source: str) -> str:
    for command in (["ruff", "check", "--fix-only", "-q"], ["ruff", "format", "-q"]):
        words = [*command, "--stdin-filename", str(TASKS), "-"]
        source = subprocess.run(
            words, input=source, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return source


def check() -> list[str]:
    """Returns a line where the committed client is another one."""
    if made((ROOT / THREADS).read_text()) == (ROOT / TASKS).read_text():
        return []
    return [f"{TASKS}: is not made of {THREADS}: run python -m tools.tasks"]


if __name__ == "__main__":
    (ROOT / TASKS).write_text(made((ROOT / THREADS).read_text()))
