"""The package as others see it: names, errors, types, its logger, and what importing it costs."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import sysconfig
import typing
from pathlib import Path

import pytest

import holdfast
import holdfast.asyncio
from tests.contract.process.conftest import NAME, SHORT
from tests.support.processes import StartChild
from tests.support.servers import Server

SAMPLE = Path(__file__).with_name("typed_sample.py")

ERRORS: dict[type[Exception], tuple[type[Exception], ...]] = {
    holdfast.HoldfastError: (Exception,),
    holdfast.LockError: (holdfast.HoldfastError, RuntimeError),
    holdfast.NotOwnedError: (holdfast.LockError,),
    holdfast.LockLostError: (holdfast.NotOwnedError,),
    holdfast.LockTimeout: (holdfast.LockError, TimeoutError),
    holdfast.StaleTokenError: (holdfast.LockError,),
    holdfast.ConnectionError: (holdfast.HoldfastError, builtins.ConnectionError),
    holdfast.ServerError: (holdfast.HoldfastError,),
}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_the_tree_of_errors(error: type[Exception]) -> None:
    """Each error is what its callers catch."""
    assert all(issubclass(error, base) for base in ERRORS[error])
    assert error.__module__ == "holdfast"


def test_what_is_no_lock_error() -> None:
    """Not reachable is never the same as held by another."""
    assert not issubclass(holdfast.ConnectionError, holdfast.LockError)
    assert not issubclass(holdfast.ServerError, holdfast.LockError)


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has a GIL"
)
def test_importing_it_leaves_the_gil_off() -> None:
    look = "import holdfast.asyncio, sys; print(sys._is_gil_enabled())"
    command = [sys.executable, "-W", "error", "-c", look]
    child = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    printed = subprocess.run(command, env=child, check=True, capture_output=True, text=True)
    assert printed.stdout == "False\n"


def test_public_names() -> None:
    """What the package exports is there, and says where it belongs."""
    for module in (holdfast, holdfast.asyncio):
        assert set(module.__all__) >= {"Client", "Lock"}
        for name in module.__all__:
            thing = getattr(module, name)
            assert getattr(thing, "__module__", module.__name__).startswith("holdfast")
        assert module.Client.__doc__
        assert module.Client.lock.__doc__
        assert module.Lock.__doc__
        assert module.Lock.acquire.__doc__


@pytest.mark.realtime
def test_a_loss_is_printed_without_set_up(start_child: StartChild, server: Server) -> None:
    """The logger has neither a handler nor a level, so errors are on stderr."""
    child = start_child(
        """
        lost = threading.Event()
        lock = holdfast.Client(URL, lease=LEASE).lock(NAME, on_lost=lambda lock: lost.set())
        lock.acquire()
        say("held")
        lost.wait()
        say("lost")
        import logging
        logger = logging.getLogger("holdfast")
        say("handlers", *(type(handler).__name__ for handler in logger.handlers))
        say("settings", logger.level == logging.NOTSET, logger.propagate)
        """,
        URL=server.url,
        NAME=NAME,
        LEASE=SHORT,
    )
    child.expect("held")
    server.inspect.delete(NAME)
    child.expect("lost")
    assert child.expect("handlers") == []
    assert child.expect("settings") == ["True", "True"]
    assert child.wait() == 0
    assert "'myLock'" in child.errors
    assert "was lost" in child.errors


def test_importing_is_light() -> None:
    """No asyncio, no ssl, no thread, no file descriptor: only what a lock needs."""
    program = """if True:
        import os, sys
        files = len(os.listdir("/proc/self/fd"))
        import holdfast
        assert not {"asyncio", "ssl", "socket", "redis"} & set(sys.modules), sys.modules.keys()
        client = holdfast.Client("redis://127.0.0.1:1")
        client.lock("myLock")
        assert len(os.listdir("/proc/self/task")) == 1
        assert len(os.listdir("/proc/self/fd")) == files
        import holdfast.asyncio
        assert not {"trio", "anyio", "sniffio", "outcome"} & set(sys.modules)
        """
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("package", ["holdfast", "holdfast.asyncio"])
def test_importing_compiles_no_annotation(package: str) -> None:
    """``typing`` would compile each postponed one of a ``NamedTuple`` or a ``TypedDict``."""
    program = f"""if True:
        import asyncio, sys
        compiled = []

        def note(event, arguments):
            if event == "compile" and arguments[1] == "<string>":
                compiled.append(arguments[0])

        sys.addaudithook(note)
        import {package}
        assert all(b"lambda" in source for source in compiled), compiled
        """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_mypy_accepts_the_interface(tmp_path: Path) -> None:
    """`mypy --strict` accepts what is right and refuses what is wrong."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy has no build for this Python")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--config-file=",
         f"--cache-dir={tmp_path}", str(SAMPLE)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout


def test_pyright_accepts_the_interface(tmp_path: Path) -> None:
    """The same for pyright, in strict mode."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed: pip install --group lint")
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(Path(holdfast.__file__).parents[1])],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    (tmp_path / "sample.py").write_text(SAMPLE.read_text())
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout


NATIVE = {
    holdfast.Lock: ("acquire", "release", "__enter__", "__exit__"),
    holdfast.Hold: ("release", "__enter__", "__exit__"),
    holdfast.Semaphore: ("acquire", "release", "__enter__", "__exit__"),
    holdfast.PermitSemaphore: ("acquire", "acquire_many", "release", "__enter__", "__exit__"),
    holdfast.asyncio.Lock: ("__aenter__", "__aexit__"),
}


@pytest.mark.parametrize("kind", NATIVE, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_native_methods_stand_in_their_class(kind: type) -> None:
    """A reader finds each with its text; a call adds no frame of Python."""
    source = inspect.getsource(kind)
    words = " ".join(source.split())  # 3.13 takes the indentation out of texts
    for name in NATIVE[kind]:
        method = vars(kind)[name]
        assert re.search(rf"    (async )?def {name}\(", source), name
        assert " ".join(method.__doc__.split()) in words
        assert inspect.signature(method).parameters
        if name != "__enter__" or sys.version_info < (3, 14):
            assert inspect.ismethoddescriptor(method)


@pytest.mark.parametrize("package", ["holdfast", "holdfast.asyncio"])
def test_no_module_has_names_of_another_that_it_does_not_import(package: str) -> None:
    prefix = f"{package}._"
    for name, module in list(sys.modules.items()):
        if name.startswith(prefix) and not name.endswith("._core"):
            source = inspect.getsource(module)
            # "@": pytest's, which rewrites the modules of an installed plugin's distribution.
            names = {each for each in vars(module) if not each.startswith(("@", "__"))}
            unknown = {each for each in names if each not in source} - {
                one.rpartition(".")[2] for one in sys.modules if one.startswith(f"{name}.")
            }
            assert not unknown, name


@pytest.mark.parametrize("package", ["holdfast", "holdfast.asyncio"])
def test_type_hints_can_be_evaluated(package: str) -> None:
    """Of every public class and its methods, as tools that make documentation or forms do."""
    module = importlib.import_module(package)
    classes = [getattr(module, name) for name in module.__all__]
    for each in classes:
        if not isinstance(each, type):
            continue
        typing.get_type_hints(each)
        for name, method in inspect.getmembers(each, inspect.isfunction):
            if name == "__init__" or not name.startswith("_"):
                typing.get_type_hints(method)
