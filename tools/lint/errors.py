"""Where the engine tells a server's errors apart: one file compares their words.

A second list of temporary errors would soon be another one, and a second place that sends a
script's text would have to keep the order of commands as well.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.lint import tree

LIST = Path("cpp/redis/resp/error_reply.cpp")
HEADER = Path("cpp/redis/resp/reply.h")
WORDS = (
    *("NOSCRIPT", "LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN"),
    *("CLUSTERDOWN", "READONLY", "MISCONF", "UNBLOCKED"),
)
#: Not what an error's caller is advised to do.
WORD = re.compile(rf'(?<!Hint{{)"[^"\w]*(?:{"|".join(WORDS)})\b')
UNKNOWN_SCRIPT = "is_unknown_script("
#: The file that may act on an unknown script.
SENDER = Path("cpp/redis/client/request_queue.cpp")


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each other place."""
    problems = []
    for path in tree.cpp(root):
        if path.parts[0] != "cpp" or path in {LIST, HEADER}:
            continue
        lines = (root / path).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            if WORD.search(line):
                problems.append(
                    f"{path}:{number}: ask {HEADER.name} which errors pass: {line.strip()}"
                )
            if UNKNOWN_SCRIPT in line and path != SENDER:
                problems.append(f"{path}:{number}: the client sends a script's text, by itself")
    return problems
