"""Makes the ends of classes for tasks of those for threads: `python -m tools.twins` writes them.

In a module `_locks/task_….py` a line that begins as `MADE` stands in a class behind what is written
by hand: of the class for threads with the same name it is followed by each public method that is
neither there nor native, and by those with an underscore that the line names. The lint compares
what is committed with what this makes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.lint.tree import ROOT
from tools.tasks import formatted, wrapped

FOLDER = Path("python/holdfast/_locks")
MADE = "    # Made by tools/twins.py to the end of the class"
REGION = re.compile(rf"^{MADE}.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
#: The methods that do not wait.
AT_ONCE = {"__init__", "watch", "_new_hold", "_new_lock"}
#: What is awaited of this object, or of the semaphore below it.
AWAITED = "release|extend|resign|campaign|_end|_is_over|_leave"
INNER = r"(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*"
#: Regular expressions, in order, over a method.
RULES = (
    (r"(?<![\w.])run\(", "await drive(self._client, "),
    (rf"(self\._core\.\w+\({INNER}\))\.wait\(\)", r"await request(self._client, \1)"),
    (rf"(?<!await )(self(?:\._slots\._semaphore)?\.(?:{AWAITED})\()", r"await \1"),
    (r"-> Iterator\[", "-> AsyncIterator["),
    (r"Unpack\[((?:Minimum)?LockOptions)\]", r"Unpack[Task\1]"),
    (r"asynchronous=False", "asynchronous=True"),
)
STAYS = "Cancelling the task does not stop it."
#: Of the text of a method: these words, and what stands there for tasks.
SAID = {
    "Slot.release": ("waiters wake.", f"waiters wake. {STAYS}"),
    "CountDownLatch.count_down": ("Raises ``Conn", f"{STAYS} Raises ``Conn"),
    "CountDownLatch.wait": (
        "closed again at once.",
        "closed again at once. A task that is cancelled while it waits leaves nothing behind.",
    ),
    "Barrier.wait": (
        "says so once.",
        "says so once. A task that is cancelled while it waits breaks the barrier for the others.",
    ),
    "FairLock.position": ("For other threads", "For other tasks"),
    "Leader.set_value": ("may be announced.", "may be announced, as after a cancellation."),
    "Leader.resign": ("Raises ``NotOwned", f"{STAYS} Raises ``NotOwned"),
}


def made(path: Path) -> str:
    """A module for tasks, whose classes end as those for threads do now."""
    source = (ROOT / path).read_text()
    for region in reversed([*REGION.finditer(source)]):
        before = source[: region.start()]
        begin = [*re.finditer(r"^class (\w+)", before, re.MULTILINE)][-1]
        line, there = (
            region[0].partition("\n")[0],
            set(re.findall(r"def (\w+)\(", before[begin.start() :])),
        )
        wanted = set(re.findall(r"\b_\w+", line.removeprefix(MADE)))
        methods = "\n".join(methods_of(begin[1], there, wanted))
        source = f"{before}{line}\n\n{methods}\n\n{source[region.end() :]}"
    return wrapped(formatted(source))


def methods_of(name: str, there: set[str], wanted: set[str]) -> Iterator[str]:
    """The methods to be made, for tasks."""
    for path in sorted((ROOT / FOLDER).glob("[a-z]*.py")):
        text = path.read_text()
        if path.stem.startswith("task") or f"\nclass {name}(" not in text:
            continue
        lines = text.splitlines(keepends=True)
        [found] = [each for each in ast.parse(text).body if getattr(each, "name", "") == name]
        for node in ast.walk(found):
            if not isinstance(node, ast.FunctionDef) or node.col_offset != 4 or node.name in there:
                continue
            if node.name in wanted or (node.name[0] != "_" and not node.decorator_list):
                yield for_tasks(name, node.name, "".join(lines[node.lineno - 1 : node.end_lineno]))


def for_tasks(owner: str, name: str, method: str) -> str:
    """The method of a class, of that for threads."""
    method = method.replace(*SAID.get(f"{owner}.{name}", ("", "")))
    if name not in AT_ONCE:
        method = method.replace("    def ", "    async def ", 1)
    for pattern, text in RULES:
        method = re.sub(pattern, text, method)
    return method


def modules() -> list[Path]:
    """The modules with such a line."""
    files = sorted((ROOT / FOLDER).glob("task*.py"))
    return [path.relative_to(ROOT) for path in files if MADE in path.read_text()]


def check() -> list[str]:
    """Returns a line for each module that is another one."""
    wrong = [path for path in modules() if made(path) != (ROOT / path).read_text()]
    return [f"{path}: its classes end otherwise: run python -m tools.twins" for path in wrong]


if __name__ == "__main__":
    for each in modules():
        (ROOT / each).write_text(made(each))
