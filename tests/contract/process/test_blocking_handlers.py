"""The program's code that blocks delays no loss, no other client, no cancellation and no caller."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from tests.contract.process.conftest import NAME
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, taking

pytestmark = pytest.mark.flavours("sync")

OTHER = "otherLock"


class Gate(logging.Handler):
    """A handler, of the log or of a loss, that blocks until the gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.passed: list[str] = []

    def __call__(self, _: object) -> None:
        self.entered.set()
        self.opened.wait()

    def emit(self, record: logging.LogRecord) -> None:
        self(record)
        self.passed.append(record.getMessage())


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


@pytest.fixture
def log_gate(gate: Gate) -> Iterator[Gate]:
    """A handler of the library's log that blocks."""
    logger = logging.getLogger("holdfast")
    logger.addHandler(gate)
    yield gate
    gate.opened.set()
    logger.removeHandler(gate)


def test_a_handler_of_another_client_delays_no_handler_and_no_record(
    make_client: MakeClient, server: Server, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """blocked-handler."""
    told = threading.Event()
    make_client().lock(NAME, on_lost=gate).acquire(lease=0.4)
    assert gate.entered.wait(BOUND)
    make_client().lock(OTHER, on_lost=lambda _: told.set()).acquire(lease=0.4)
    assert told.wait(BOUND)
    eventually(lambda: f"the hold on '{OTHER}'" in caplog.text)


def test_a_handler_delays_the_handlers_of_its_client_only_in_order(
    make_client: MakeClient, server: Server, gate: Gate
) -> None:
    client, told = make_client(), list[str]()
    client.lock(NAME, on_lost=gate).acquire(lease=0.4)
    assert gate.entered.wait(BOUND)
    locks = [client.lock(f"{NAME}{i}", on_lost=lambda lock: told.append(lock.name)) for i in "123"]
    for lock in locks:
        lock.acquire(lease=0.4)
        eventually(lambda lock=lock: lock.lost)
    assert told == []
    gate.opened.set()
    eventually(lambda: told == [lock.name for lock in locks])


async def _work(lock: Any) -> None:
    async with lock:
        await taking(BOUND)


def _see_a_cancellation(server: Server) -> None:
    """Return when the loss of a hold has cancelled its task."""

    async def main() -> None:
        async with holdfast.asyncio.Client(server.url) as client:
            with pytest.raises(holdfast.LockLostError):
                await _work(client.lock(OTHER, lease=0.4, cancel_on_lost=True))

    asyncio.run(main())


def test_a_handler_of_a_client_delays_no_cancellation(
    make_client: MakeClient, server: Server, gate: Gate
) -> None:
    """blocked-handler."""
    make_client().lock(NAME, on_lost=gate).acquire(lease=0.4)
    assert gate.entered.wait(BOUND)
    _see_a_cancellation(server)


def test_a_log_handler_delays_no_loss_and_no_cancellation(
    make_client: MakeClient, server: Server, log_gate: Gate
) -> None:
    """blocked-handler."""
    told = threading.Event()
    make_client().lock(NAME).acquire(lease=0.4)
    assert log_gate.entered.wait(BOUND)
    make_client().lock(OTHER, on_lost=lambda _: told.set()).acquire(lease=0.4)
    assert told.wait(BOUND)
    server.inspect.delete(OTHER)
    _see_a_cancellation(server)
    assert log_gate.passed == []


def _fail_after_a_loss(lock: Any, server: Server) -> None:
    def fail() -> None:
        with lock:
            server.inspect.delete(NAME)
            raise KeyError

    with pytest.raises(KeyError):
        fail()


def test_a_log_handler_delays_no_caller(
    make_client: MakeClient, server: Server, log_gate: Gate
) -> None:
    """blocked-handler: errors of releases behind errors of bodies are notes on them, and logged."""
    lock = make_client().lock(NAME)
    for _ in range(20):
        _fail_after_a_loss(lock, server)
    assert log_gate.passed == []
    log_gate.opened.set()
    eventually(lambda: sum("was released after this" in text for text in log_gate.passed) == 20)


def test_a_record_belongs_to_its_caller(
    make_client: MakeClient, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    lock = make_client().lock(NAME)
    _fail_after_a_loss(lock, server)
    (record,) = [each for each in caplog.records if "after this" in each.getMessage()]
    assert record.threadName == threading.current_thread().name
    assert "/holdfast/_" in record.pathname


def test_what_the_log_drops_is_counted(
    make_client: MakeClient, server: Server, log_gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdfast._engine import log as _log

    monkeypatch.setattr(_log.worker, "_most", 5)
    client = make_client()
    locks = [client.lock(f"{NAME}{number}") for number in range(20)]
    for lock in locks:
        lock.acquire(lease=0.4)
    eventually(lambda: all(lock.lost for lock in locks))
    eventually(lambda: _log.worker._dropped >= 10)
    log_gate.opened.set()
    eventually(lambda: any("log records were dropped" in text for text in log_gate.passed))


@pytest.mark.servers("real")
def test_a_pipe_that_is_not_read_as_standard_error_delays_no_loss(
    start_child: StartChild, server: Server
) -> None:
    """blocked-handler."""
    child = start_child(
        """
        import fcntl
        reader, writer = os.pipe()
        os.dup2(writer, 2)
        fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
        try:
            while os.write(writer, b" " * 4096):
                pass
        except BlockingIOError:
            fcntl.fcntl(writer, fcntl.F_SETFL, 0)
        first = holdfast.Client(URL).lock("first")
        first.acquire(lease=0.4)
        until(lambda: first.lost)
        client = holdfast.Client(URL)
        client.lock(NAME, on_lost=lambda _: say("told")).acquire(lease=0.4)
        hear("read")
        text = b""
        while b"'second'" not in text:
            text += os.read(reader, 4096)
        say("written")
        """,
        URL=server.url,
        NAME="second",
    )
    child.expect("told")
    child.send("read")
    child.expect("written")
    assert child.wait() == 0


def _python_threads() -> set[str]:
    return {each.name for each in threading.enumerate() if each.name.startswith("holdfast")}


def test_a_client_without_a_handler_has_no_thread_for_them(
    make_client: MakeClient, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    eventually(lambda: "holdfast-on-lost" not in _python_threads())  # of the tests before
    lock = make_client().lock(NAME)
    lock.acquire(lease=0.4)
    eventually(lambda: f"the hold on '{NAME}'" in caplog.text)
    assert "holdfast-on-lost" not in _python_threads()


@pytest.mark.servers("real")
def test_close_ends_the_threads(start_child: StartChild, server: Server) -> None:
    child = start_child(
        """
        client = holdfast.Client(URL)
        client.lock("myLock", on_lost=lambda _: say("told")).acquire(lease=0.4)
        hear("close")
        client.close()
        say("left", *[each.name for each in threading.enumerate() if "holdfast" in each.name])
        """,
        URL=server.url,
    )
    child.expect("told")
    child.send("close")
    assert child.expect("left") == []
    assert child.wait() == 0


@pytest.mark.servers("real")
def test_a_child_of_fork_starts_its_threads(start_child: StartChild, server: Server) -> None:
    """Also where the threads of its parent are blocked at that moment."""
    child = start_child(
        """
        import logging
        go = threading.Event()
        class Blocking(logging.Handler):
            def emit(self, record):
                if os.getpid() == PARENT:
                    self.release()
                    go.wait()
                else:
                    say("logged", record.getMessage())
        PARENT = os.getpid()
        logging.getLogger("holdfast").addHandler(Blocking())
        client = holdfast.Client(URL)
        client.lock("a", on_lost=lambda _: (say("blocked"), go.wait())).acquire(lease=0.4)
        hear("fork")
        if os.fork() == 0:
            client.lock("b", on_lost=lambda _: say("told")).acquire(lease=0.4)
            hear("end")
            os._exit(0)
        os.wait()
        os._exit(0)
        """,
        URL=server.url,
    )
    child.expect("blocked")
    child.send("fork")
    assert {child.next_line().split()[0] for _ in range(2)} == {"told", "logged"}
    child.send("end")
    assert child.wait() == 0


@pytest.mark.servers("real")
def test_a_child_of_fork_has_its_records_handled_before_it_goes_on(
    start_child: StartChild, server: Server
) -> None:
    """Also where a handler had blocked its parent."""
    child = start_child(
        """
        import logging
        from holdfast._engine import log as _log
        class Blocking(logging.Handler):
            def emit(self, record):
                if os.getpid() == PARENT:
                    self.release()
                    threading.Event().wait()
                let_pass(0.02)
                say("handled")
        PARENT = os.getpid()
        logging.getLogger("holdfast").addHandler(Blocking())
        _log.warning(_log.About("x"), "blocks")
        if os.fork() == 0:
            _log.TIMEOUT = 600.0  # on a busy machine a handler may take longer than usual
            _log.warning(_log.About("x"), "goes on")
            say("returned")
            let_pass(0.1)
            os._exit(0)
        os.wait()
        os._exit(0)
        """,
        URL=server.url,
    )
    assert [child.next_line().split()[0] for _ in range(2)] == ["handled", "returned"]
    assert child.wait() == 0


@pytest.mark.servers("real")
def test_a_log_handler_that_blocks_does_not_keep_the_interpreter(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        """
        import contextlib, logging
        class Blocking(logging.Handler):
            def createLock(self):
                self.lock = contextlib.nullcontext()  # logging waits for another at the end
            def acquire(self):
                pass
            release = acquire
            def emit(self, record):
                say("blocked")
                threading.Event().wait()
        logging.getLogger("holdfast").addHandler(Blocking())
        lock = holdfast.Client(URL).lock("a")
        lock.acquire(lease=0.4)
        hear("end")
        """,
        URL=server.url,
    )
    child.expect("blocked")
    child.send("end")
    assert child.wait() == 0, child.errors


@pytest.mark.servers("real")
def test_what_is_queued_for_the_log_is_written_at_the_end(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        """
        import logging
        class Slow(logging.Handler):
            def emit(self, record):
                let_pass(0.05)
                say("logged")
        logging.getLogger("holdfast").addHandler(Slow())
        client = holdfast.Client(URL)
        told = []
        for number in range(6):
            client.lock(f"lock{number}", on_lost=told.append).acquire(lease=0.4)
        until(lambda: len(told) == 6)
        """,
        URL=server.url,
    )
    for _ in range(6):
        child.expect("logged")
    assert child.wait() == 0, child.errors
