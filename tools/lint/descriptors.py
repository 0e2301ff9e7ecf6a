"""Where the engine and the guard open a file: each descriptor is a ``Descriptor`` at once.

``Descriptor`` leaves the numbers of the standard streams to the program, and is closed in a child
of ``fork()``. A bare number would be neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.lint import tree

CALLS = (
    *("accept", "accept4", "creat", "dup", "dup2", "dup3", "epoll_create", "epoll_create1"),
    *("eventfd", "fopen", "inotify_init1", "kqueue", "memfd_create", "mkstemp", "pidfd_open"),
    *("pipe2", "recvmsg", "shm_open", "signalfd", "socket", "socketpair", "timerfd_create"),
)
CALL = re.compile(
    rf"(?<![\w.>:])(?:::)?(?:(?P<name>{'|'.join(CALLS)}|open(?:at)?(?=\([^;]*\bO_))\("
    r"|(?P<argument>SYS_\w*open\w*|F_DUPFD\w*))"
)
OWNED = re.compile(r"\bDescriptor\b")
#: What cannot be: the calls by which others are made, or the program's own numbers are filled.
EXCEPTIONS = {
    ("cpp/redis/base/descriptor.cpp", "F_DUPFD_CLOEXEC"): "it moves them",
    ("cpp/guard/guard.cpp", "socketpair"): "two at once, which become Descriptors below",
    ("cpp/guard/main.cpp", "recvmsg"): "it comes with a message, and becomes a Descriptor below",
    ("cpp/guard/main.cpp", "open"): "it fills the numbers of the standard streams",
    ("cpp/guard/main.cpp", "dup2"): "it fills the numbers of the standard streams",
}


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each call whose result is a bare number."""
    problems = []
    for path in tree.cpp(root):
        if path.parts[0] == "cpp":
            text = (root / path).read_text(encoding="utf-8")
            problems += [
                f"{path}:{line}: {name} opens a bare descriptor: make it a Descriptor at once"
                for line, name in bare(text)
                if (path.as_posix(), name) not in EXCEPTIONS
            ]
    return problems


def bare(text: str) -> Iterator[tuple[int, str]]:
    """The calls, each with its line, in whose statement no ``Descriptor`` is made."""
    code = re.sub(r"//[^\n]*", lambda found: " " * len(found[0]), text)
    for call in CALL.finditer(code):
        begin = max(code.rfind(mark, 0, call.start()) for mark in (";", "{", "}", "#"))
        if not OWNED.search(code, begin + 1, call.start()):
            yield text.count("\n", 0, call.start()) + 1, call["name"] or call["argument"]
