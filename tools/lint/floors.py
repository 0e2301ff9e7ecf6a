"""The layer rule of python/: a module of the library imports only modules of lower floors.

In the packages beside the library (``seams.OUTSIDE``) no modules import each other in a circle.

Imports inside functions and those for type checkers alone count: a name is known where it is used.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from tools.lint import seams, tree

#: From below; the modules of a line do not import each other.
FLOORS = (
    "_as_command _clients _engine _locks",  # the last three are rooms: empty
    "_clients.from_redis _clients.urls _engine.arguments",
    "_core",
    "_clients.callables _clients.watchdog _engine.errors _engine.process _engine.stats",
    "_engine.greenlets _locks.fields _locks.kinds _locks.results",
    "_locks.decorators _engine.workers",
    "_engine.log",
    "_clients.options",
    "_engine.events",
    "_locks.steps",
    "_locks.force",
    "_locks.holders",
    "_locks.permit_holders _locks.waiters",
    "_clients.base",
    "_locks.base _locks.tickets",
    "_locks.lock",
    "_locks.permit_semaphore _locks.semaphores _locks.threads",
    "_locks.barrier _locks.leader _locks.once _locks.slots",
    "_clients.threads",
    "_engine.loop",
    "_clients.task_base",
    "_locks.task_steps",
    "_locks.task_lock",
    "_locks.task_once _locks.task_semaphores _locks.tasks",
    "_locks.task_barrier _locks.task_leader _locks.task_slots",
    "_clients.tasks",
    "asyncio",
    "holdfast",
    "integration observe servers testing",
)
FLOOR = {
    "holdfast" if name == "holdfast" else f"holdfast.{name}": number
    for number, names in enumerate(FLOORS)
    for name in names.split()
}


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each import that breaks the rule."""
    problems = []
    for path in filter(is_ranked, tree.files(root)):
        name = seams.module_of(path)
        if name not in FLOOR:
            problems.append(f"{path}: {name} is on no floor")
            continue
        found = set(imported(root / path, path))
        above = {short(one) for one in found if FLOOR[one] >= FLOOR[name]}
        problems += [f"{path}: {one} is not on a lower floor" for one in sorted(above)]
    return problems + circles(root)


def circles(root: Path) -> list[str]:
    """Returns one line for each module beside the library that leads back to itself."""
    files = {seams.module_of(path): path for path in tree.files(root) if is_beside(path)}
    below = {name: inside(name, imported(root / path, path, files)) for name, path in files.items()}
    for name in files:  # what each module leads to
        below = {one: to | below[name] if name in to else to for one, to in below.items()}
    return [f"{files[name]}: imports itself in a circle" for name in files if name in below[name]]


def inside(name: str, modules: Iterable[str]) -> set[str]:
    """Returns those of the modules that are in the package of this one."""
    package = seams.package_of(name)
    return {one for one in modules if one.startswith(package)}


def is_beside(path: Path) -> bool:
    """Whether a file is part of a package beside the library."""
    if path.parts[0] != "python" or path.suffix != ".py":
        return False
    return seams.package_of(seams.module_of(path)) != "holdfast"


def is_ranked(path: Path) -> bool:
    """Whether a file is part of the library."""
    if path.parts[:2] != ("python", "holdfast") or path.suffix not in {".py", ".pyi"}:
        return False
    name = path.as_posix()
    return seams.package_of(seams.module_of(path)) == "holdfast" and name not in seams.EXCEPTIONS


def short(module: str) -> str:
    return module.removeprefix("holdfast.")


def imported(file: Path, path: Path, known: Collection[str] = FLOOR) -> Iterator[str]:
    """Those of the known modules that a file imports."""
    module = ast.parse(file.read_text(encoding="utf-8"))
    here = seams.module_of(path)
    for _, whole in seams.imports(module, here, path.name == "__init__.py"):
        parts = whole.split(".")
        names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        name = next((one for one in names if one in known), here)
        if name != here:
            yield name
