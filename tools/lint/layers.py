"""The layer rule: a layer of cpp/ includes only what lies below it.

Layers of one rank do not include each other. The libraries we build on are each seen by one layer
only, so that a change of one stays there. The client of Redis, redis/, does not name what is of
locks.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.lint import tree

RANKS = (
    {"redis/base"},
    {"redis/net", "redis/resp"},
    {"redis/client", "redis/script"},
    {"redis/topology"},
    {"redis"},
    {"locks/base"},
    {"locks/lease", "locks/wait"},
    {"locks/sync/recipes"},
    {"locks/sync/operation", "guard"},
    {"locks/sync/quorum"},
    {"locks/engine"},
    {"locks"},
    {"bindings"},
)
RANK = {layer: rank for rank, layers in enumerate(RANKS) for layer in layers}
#: Made of lua/: the scripts of the locks.
GENERATED = {"lua_scripts.h": "locks/base"}
SEEN_BY = {
    "hiredis": "redis/resp",
    "openssl": "redis/net",
    "pybind11": "bindings",
    "Python.h": "bindings",
}
#: Headers of Linux, and the layers that may use them: what stands above those is for macOS, too.
LINUX = re.compile(
    r"linux/.*|features\.h|malloc\.h|sys/(epoll|eventfd|inotify|pidfd|prctl|signalfd|syscall|timerfd)\.h"
)
FOR_LINUX = {"redis/base", "redis/net", "guard"}
#: What other houses include of a house. A list may lose headers, and gets none without need.
PUBLIC = {
    "redis": (
        "client.h client/request.h net/pollable.h resp/reply.h script/writer.h "
        "base/clock.h base/digits.h base/mutex.h base/process.h base/stats.h base/status.h"
    ),
    "locks": "locks.h lease/hold.h sync/recipes/kinds.h sync/recipes/permit_semaphore.h",
    "guard": "enrolment.h",
}
#: Words of locks, which no identifier of the client of Redis has.
OF_LOCKS = {"hold", "lease", "owner", "permit", "watchdog"}
NO_CODE = re.compile(r'//.*|"(?:\\.|[^"\\])*"')
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
INCLUDE = re.compile(r'\s*#\s*include\s*(?P<open>["<])(?P<path>[^">]+)[">]')


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each include, or identifier, that breaks the rule."""
    problems = []
    for path in tree.cpp(root):
        if path.parts[0] != "cpp":
            continue
        text = (root / path).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), start=1):
            if path.parts[1] == "redis":
                problems += [
                    f"{path}:{number}: {name}: a word of locks, which redis/ does not know"
                    for name in named_by_locks(line)
                ]
            include = INCLUDE.match(line)
            if include is not None:
                reason = fault(
                    layer_of(path.parts[1:]), include["path"], ours=include["open"] == '"'
                )
                problems += [f"{path}:{number}: {reason}"] if reason else []
    return problems


def named_by_locks(line: str) -> list[str]:
    """Returns the identifiers of a line that have a word of locks."""
    names = IDENTIFIER.findall(NO_CODE.sub("", line))
    return [name for name in names if OF_LOCKS & {word.lower() for word in WORD.findall(name)}]


def layer_of(parts: tuple[str, ...]) -> str:
    """Returns the layer of a file under cpp/: the longest path of its folders that names one."""
    paths = ["/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]
    return next((path for path in paths if path in RANK), paths[-1] if paths else parts[0])


def fault(layer: str, included: str, *, ours: bool) -> str | None:
    """Says what is wrong when a file of `layer` includes `included`; None when nothing is."""
    if layer not in RANK:
        return f"{layer} is no layer; tools/lint/layers.py lists them"
    top = included.partition("/")[0]
    if not ours:
        if LINUX.fullmatch(included) and layer not in FOR_LINUX:
            return f"only {', '.join(sorted(FOR_LINUX))} may include <{included}>, which is Linux's"
        owner = SEEN_BY.get(top, layer)
        return None if owner == layer else f"only {owner}/ may include <{included}>"
    target = GENERATED.get(included) or layer_of(tuple(included.split("/")))
    if target not in RANK:
        return f'"{included}" names no layer: write "<layer>/<file>"'
    house, _, header = included.partition("/")
    if house in PUBLIC and house != layer.partition("/")[0] and header not in PUBLIC[house].split():
        return f'"{included}" is not public: tools/lint/layers.py lists the headers that are'
    below = target == layer or RANK[target] < RANK[layer]
    return (
        None if below else f'{layer}/ may not include "{included}": {target}/ does not lie below it'
    )
