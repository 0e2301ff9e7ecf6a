"""pytest plugin: what spares the workers of a run the processor.

The test modules are compiled once for all workers. pytest rewrites the assertions of a module
before it compiles it, and keeps the result for the next run. On a fresh checkout each worker would
do that for all modules, for five seconds of the processor; here as many processes as there are
processors share it before the workers start.

Where PYTHONDONTWRITEBYTECODE is set, what was compiled is kept in build/, away from the sources.

The items themselves, which last as long as the run, are no business of the garbage collector: a
test that collects garbage does not look through them each time.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_KEPT = _ROOT / "build" / "compiled"
_FEW = 20
"""Modules that the workers may compile by themselves."""


def pytest_configure(config: pytest.Config) -> None:
    """Compile what is to be compiled, in the process that starts the workers."""
    gc.disable()  # until all is collected: it would find no garbage
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        return
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        os.environ["PYTHONPYCACHEPREFIX"] = str(_KEPT)
    stale = [module for module in _modules(config) if _is_stale(module)]
    if len(stale) <= _FEW:
        return
    processes = os.cpu_count() or 1
    collections = [_collect(stale[n::processes]) for n in range(processes)]
    for collection in collections:
        collection.wait()  # what it could not collect, the workers report


def pytest_collection_finish() -> None:
    """Leave what lasts as long as the run, and the little garbage in it, out of each collection."""
    gc.freeze()
    gc.enable()


def _modules(config: pytest.Config) -> list[Path]:
    """The test modules below the arguments of the run."""
    below = [config.invocation_params.dir / each.partition("::")[0] for each in config.args]
    return [module for folder in below for module in sorted(folder.rglob("test_*.py"))]


def _is_stale(module: Path) -> bool:
    """Whether it is newer than what pytest has kept of it, if it has."""
    prefix = os.environ.get("PYTHONPYCACHEPREFIX")
    folder = Path(prefix, *module.parent.parts[1:]) if prefix else module.parent / "__pycache__"
    kept = [each.stat().st_mtime for each in folder.glob(f"{module.stem}.*-pytest-*.pyc")]
    return module.stat().st_mtime > max(kept, default=0.0)


def _collect(modules: list[Path]) -> subprocess.Popen[bytes]:
    """Let another process collect these modules, which compiles them."""
    options = ["--collect-only", "-qq", "-n", "0", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *map(str, modules)]
    return subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
