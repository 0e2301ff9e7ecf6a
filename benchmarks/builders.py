"""Builds the contenders into a cache folder; one function for each toolchain.

Nothing is built twice: a stamp beside the result holds the hash of the sources.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contender import Absent, Contender

HERE = Path(__file__).resolve().parent
HIREDIS_SOURCES = ("alloc", "async", "hiredis", "net", "read", "sds")

APART = frozenset({"pair-apart", "pair-asyncio"})
ALONE = frozenset({"pair", "pair-apart", "threads"})
WAITING = frozenset({"wake", "dead-holder", "hand-over-threads", "hand-over-processes"})
WAITING |= {"hand-over-processes-8"}
CROWD = frozenset({"crowd-threads", "crowd-processes"})
WATCHDOG = frozenset({"watchdog-10k", "watchdog-100k"})
DEFERRED = frozenset({"pair", "pair-apart"})
TASKS = frozenset({"tasks", "task", "pair-asyncio"})
STARTUP = frozenset({"startup"})
RED = frozenset({"pair-red", "pair-red-away"})
FAMILY = RED | {"pair-fair", "pair-read", "hand-over-fair", "readers"}
MULTI = frozenset({"pair-multi", "pair-semaphore"})
SCALING = frozenset({"scale-threads", "scale-processes"})
NODES = frozenset({"scale-nodes"})
WAITERS = frozenset({"scale-waiters", "scale-waiters-8"})
CLUSTER = frozenset({"pair-cluster", "watchdog-cluster", "failover"})


def _need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise Absent(f"{program} is not on PATH")
    return found


def _run(*words: str | Path, cwd: Path) -> None:
    argv = [str(word) for word in words]
    done = subprocess.run(argv, cwd=cwd, check=False, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise Absent(f"{words[0]} failed: {' | '.join(last)}")


def _once(target: Path, sources: Iterable[Path], build: Callable[[], None]) -> None:
    """Build unless the target was made from these very sources and this Python."""
    digest = hashlib.sha256(sys.version.encode())
    for source in sorted(sources):
        digest.update(source.read_bytes())
    stamp = target.with_name(target.name + ".stamp")
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    build()
    stamp.write_text(digest.hexdigest())


def _hiredis(cache: Path) -> Path:
    """The C library's sources, from the pinned source distribution of hiredis on PyPI."""
    pins = HERE / "limit" / "requirements.txt"
    folder = cache / "hiredis"

    def fetch() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        _run(*pip, "--no-binary=:all:", "--require-hashes", "-r", pins, "-d", folder, cwd=cache)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder)

    _once(folder, [pins], fetch)
    return next(folder.glob("*/vendor/hiredis"))


def limit(cache: Path) -> list[Contender]:
    cc = _need("cc")
    hiredis = _hiredis(cache)
    sources = list((HERE / "limit").glob("*.c"))
    program = cache / "limit"
    flags = ("-std=gnu11", "-O2", "-D_GNU_SOURCE", "-isystem", hiredis, "-o", program)
    files = [*sources, *(hiredis / f"{name}.c" for name in HIREDIS_SOURCES)]
    _once(
        program,
        [*files, HERE / "limit" / "common.h"],
        lambda: _run(cc, *flags, *files, "-lpthread", cwd=cache),
    )
    version = "C, " + hiredis.parent.parent.name
    cases = ALONE | TASKS | WAITING | WATCHDOG | RED | SCALING
    return [
        Contender("limit", version, (str(program),), cases),
        Contender("limit-looking", version, (str(program), "look=150"), APART),
        Contender("limit-unpipelined", version, (str(program), "each=1"), frozenset({"threads"})),
    ]


def _python(module: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"benchmarks.python.{module}")


def _python_path(*folders: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(str(folder) for folder in (HERE.parent, *folders))}


def interpreter(_cache: Path) -> list[Contender]:
    version = "Python " + sys.version.split()[0]
    return [Contender("bare interpreter", version, (sys.executable,), STARTUP)]


def _installed(package: str) -> str:
    """Its version."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise Absent(f"{package} is not installed in {sys.executable}") from None


def holdfast(_cache: Path) -> list[Contender]:
    version = _installed("holdfast-locks")
    cases = ALONE | WAITING | CROWD | WATCHDOG | STARTUP | FAMILY | MULTI | CLUSTER
    cases |= SCALING | NODES
    path, blocking = _python_path(), _python("holdfast_blocking")
    return [
        Contender("holdfast", version, blocking, cases, path),
        Contender("holdfast deferred", version, (*blocking, "releases=deferred"), DEFERRED, path),
        Contender(
            "holdfast asyncio",
            version,
            _python("holdfast_tasks"),
            TASKS | WAITERS | {"readers"},
            path,
        ),
    ]


def holdfast_with_gil(_cache: Path) -> list[Contender]:
    """The same threads in the same interpreter, with the GIL switched on."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise Absent(f"{sys.executable} always has the GIL: take a free-threaded Python")
    version = f"{_installed('holdfast-locks')}, PYTHON_GIL=1"
    environment = {**_python_path(), "PYTHON_GIL": "1"}
    command = _python("holdfast_blocking")
    return [Contender("holdfast with GIL", version, command, frozenset({"threads"}), environment)]


def holdfast_uvloop(_cache: Path) -> list[Contender]:
    version = f"{_installed('holdfast-locks')}, uvloop {_installed('uvloop')}"
    command = (*_python("holdfast_tasks"), "loop=uvloop")
    return [Contender("holdfast uvloop", version, command, TASKS, _python_path())]


def python_peers(cache: Path) -> list[Contender]:
    pins = HERE / "python" / "requirements.txt"
    folder = cache / "python-peers"
    install = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade")
    _once(folder, [pins], lambda: _run(*install, "-t", folder, "-r", pins, cwd=cache))
    versions = dict(line.split("==") for line in pins.read_text().split())
    path = _python_path(folder)
    version = versions["redis"]
    waits = ALONE | WAITING | CROWD
    blocking, lock = _python("redis_py_blocking"), _python("python_redis_lock")
    return [
        Contender("redis-py", version, blocking, waits | STARTUP, path, polls=True),
        Contender("redis-py asyncio", version, _python("redis_py_tasks"), TASKS, path),
        Contender("python-redis-lock", versions["python-redis-lock"], lock, waits, path),
    ]


def go_peers(cache: Path) -> list[Contender]:
    go = _need("go")
    program = cache / "go-peers"
    sources = [path for path in (HERE / "go").iterdir() if path.suffix in {".go", ".mod", ".sum"}]
    _once(program, sources, lambda: _run(go, "build", "-o", program, ".", cwd=HERE / "go"))
    modules = (line.split() for line in (HERE / "go" / "go.mod").read_text().splitlines())
    versions = {words[0]: words[1] for words in modules if len(words) == 2}
    rueidis = versions["github.com/redis/rueidis"]
    redsync = versions["github.com/go-redsync/redsync/v4"]
    everything = ALONE | WAITING | CROWD | WATCHDOG | SCALING | WAITERS | {"tasks"}
    return [
        Contender("rueidislock", rueidis, (str(program), "peer=rueidislock"), everything),
        Contender("redsync", redsync, (str(program), "peer=redsync"), ALONE | RED, polls=True),
    ]


def redisson(cache: Path) -> list[Contender]:
    mvn, java = _need("mvn"), _need("java")
    folder = cache / "redisson"
    project = HERE / "redisson" / "pom.xml"
    sources = [project, *(HERE / "redisson").rglob("*.java")]
    words = ("-q", "-B", "-f", project, f"-Doutput={folder}", "package")
    _once(folder, sources, lambda: _run(mvn, *words, cwd=cache))
    version = next((folder / "dependency").glob("redisson-*.jar")).stem.removeprefix("redisson-")
    classes = f"{folder / 'bench-1.jar'}:{folder / 'dependency'}/*"
    command = (java, "-cp", classes, "bench.Bench")
    cases = ALONE | WAITING | CROWD | WATCHDOG | FAMILY | CLUSTER - {"failover"}
    return [Contender("redisson", version, command, cases, warmup=2.0)]


@dataclass(frozen=True)
class Builder:
    names: tuple[str, ...]
    build: Callable[[Path], list[Contender]]


BUILDERS = (
    Builder(("limit", "limit-unpipelined", "limit-looking"), limit),
    Builder(("bare interpreter",), interpreter),
    Builder(("holdfast", "holdfast deferred", "holdfast asyncio"), holdfast),
    Builder(("holdfast with GIL",), holdfast_with_gil),
    Builder(("holdfast uvloop",), holdfast_uvloop),
    Builder(("redis-py", "redis-py asyncio", "python-redis-lock"), python_peers),
    Builder(("rueidislock", "redsync"), go_peers),
    Builder(("redisson",), redisson),
)
