"""`holdfast.contrib.opentelemetry`: spans, events and metrics."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
    InMemorySpanExporter,
)

from holdfast.contrib.opentelemetry import HoldfastInstrumentor

pytestmark = pytest.mark.servers("redis")


def work_with_permits(client: Any, alice: Any) -> None:
    """Two grants and two refusals of each kind of semaphore."""
    slots, permits = client.semaphore("slots"), client.permit_semaphore("permits")
    alice.do(slots.try_set_permits, 1)
    alice.do(permits.try_set_permits, 1)
    for _ in range(2):
        assert alice.do(slots.acquire)
        assert not alice.do(slots.acquire, blocking=False)
        alice.do(slots.release)
        permit = alice.do(permits.acquire)
        assert alice.do(permits.acquire, blocking=False) is None
        alice.do(permits.release, permit)


class Telescope:
    """What was recorded."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.tracer = self.tracers.get_tracer("test")

    def spans(self, name: str = "holdfast.acquire") -> list[Any]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def outcomes(self) -> list[Any]:
        return [span.attributes["holdfast.outcome"] for span in self.spans()]

    def points(self) -> dict[str, list[Any]]:
        """The data points of each metric, read now."""
        data = self._reader.get_metrics_data()
        return {
            metric.name: list(metric.data.data_points)
            for resource in (data.resource_metrics if data else [])
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def telescope() -> Iterator[Telescope]:
    """Instruments with providers of the test's own."""
    telescope = Telescope()
    HoldfastInstrumentor().instrument(
        tracer_provider=telescope.tracers, meter_provider=telescope.meters
    )
    yield telescope
    HoldfastInstrumentor().uninstrument()
    telescope.meters.shutdown()


def test_an_acquisition_is_a_span(client: Any, alice: Any, bob: Any, telescope: Telescope) -> None:
    lock = client.lock("myLock")
    alice.do(lock.acquire)
    (span,) = telescope.spans()
    assert dict(span.attributes) == {
        "holdfast.lock.name": "myLock",
        "holdfast.lock.kind": "lock",
        "holdfast.outcome": "acquired",
    }
    assert not bob.do(lock.acquire, blocking=False)
    assert not bob.do(lock.acquire, timeout=1)
    alice.do(lock.release)
    assert telescope.outcomes() == ["acquired", "timed_out", "timed_out"]


def test_each_kind_of_lock_has_its_word(client: Any, alice: Any, telescope: Telescope) -> None:
    both = client.read_write_lock("rw")
    locks = {
        "lock": client.lock("a"),
        "fair_lock": client.fair_lock("b"),
        "fenced_lock": client.fenced_lock("c"),
        "spin_lock": client.spin_lock("d"),
        "read": both.read,
        "multi_lock": client.multi_lock(client.lock("e"), client.lock("f")),
    }
    for lock in locks.values():
        alice.do(lock.acquire)
        alice.do(lock.release)
    alice.do(both.write.acquire)
    kinds = [span.attributes["holdfast.lock.kind"] for span in telescope.spans()]
    assert kinds == [*locks, "write"]


def test_a_span_belongs_to_the_one_around_it_and_takes_the_time_of_the_wait(
    client: Any, alice: Any, bob: Any, telescope: Telescope
) -> None:
    lock = client.lock("myLock")
    alice.do(lock.acquire)

    def waits() -> Iterator[Any]:
        with telescope.tracer.start_as_current_span("job"):
            yield lock.acquire()

    waiting = bob.begin(waits)
    eventually(lambda: client.stats().waiting == 1)
    assert len(telescope.spans()) == 1  # of the one that waits: not yet
    alice.do(lock.release)
    waiting.result(BOUND)
    (job,) = telescope.spans("job")
    span = telescope.spans()[-1]
    assert span.parent.span_id == job.context.span_id
    assert job.start_time <= span.start_time < span.end_time <= job.end_time


@pytest.mark.flavours("asyncio")
def test_a_cancelled_acquisition_is_a_span(
    client: Any, alice: Any, bob: Any, telescope: Telescope
) -> None:
    alice.do(client.lock("myLock").acquire)
    bob.begin(client.lock("myLock").acquire)
    eventually(lambda: client.stats().waiting == 1)
    bob.cancel()
    eventually(lambda: telescope.outcomes() == ["acquired", "cancelled"])


def test_an_acquisition_without_a_server_is_a_failed_span(
    make_client: MakeClient, alice: Any, telescope: Telescope, server: Server
) -> None:
    client = make_client("redis://127.0.0.1:1", retries=0)
    with pytest.raises(holdfast.ConnectionError):
        alice.do(client.lock("myLock").acquire)
    (span,) = telescope.spans()
    assert span.attributes["holdfast.outcome"] == "failed"
    assert not span.status.is_ok


def test_a_loss_is_an_event_on_the_span_around_the_acquire_before_the_error(
    client: Any, alice: Any, telescope: Telescope, server: Server
) -> None:
    lock = client.lock("myLock")
    seen: list[Any] = []

    def work() -> Iterator[Any]:
        with telescope.tracer.start_as_current_span("job") as job:
            yield lock.acquire()
            server.inspect.delete("myLock")
            with telescope.tracer.start_as_current_span("inner"):
                try:
                    yield lock.release()
                except holdfast.LockLostError:
                    seen.extend(job.events)

    alice.do(work)
    (event,) = seen
    assert event.name == "holdfast.lost"
    assert event.attributes["holdfast.lock.name"] == "myLock"
    (job,) = telescope.spans("job")
    assert len(job.events) == 1
    assert not telescope.spans("inner")[0].events


def test_a_loss_that_no_call_finds_is_an_event_too(
    client: Any, alice: Any, telescope: Telescope
) -> None:
    lock = client.lock("myLock", on_lost=lambda _: None)  # so that no error is logged
    job = telescope.tracer.start_span("job")

    def work() -> Iterator[Any]:
        from opentelemetry.trace import use_span

        with use_span(job):
            yield lock.acquire()
        yield lock.force_release()

    alice.do(work)
    eventually(lambda: [event.name for event in job.events] == ["holdfast.lost"])
    eventually(lambda: telescope.points()["holdfast.hold_seconds"][0].count == 1)


def test_figures_are_metrics_of_each_client(
    make_client: MakeClient, alice: Any, telescope: Telescope
) -> None:
    client, named = make_client(client_name="api"), make_client(client_name="web")
    nameless = make_client()
    alice.do(client.lock("one").acquire)
    alice.do(named.lock("two").acquire)
    alice.do(named.lock("three").acquire)

    def values(name: str) -> dict[str, float]:
        points = telescope.points()[f"holdfast.{name}"]
        return {point.attributes["holdfast.client"]: point.value for point in points}

    def are_exported(name: str) -> bool:  # a command for renewals may come in between
        shown = values(name)
        figures = [getattr(each.stats(), name) for each in (client, named)]
        assert [shown["api"], shown["web"]] == figures, name
        # Of a client without a name it is that of the program: the same after each start.
        assert any(label.startswith(f"{socket.gethostname()}:") for label in shown)
        assert nameless.id not in shown
        return True

    for name in ("acquired", "contended", "timed_out", "cancelled", "failed", "released", "lost",
                 "renewals", "renewal_failures", "commands", "reconnects", "held",
                 "waiting"):  # fmt: skip
        eventually(lambda name=name: are_exported(name))
    assert values("held")["web"] == 2


def test_times_are_recorded_before_the_caller_goes_on(
    client: Any, alice: Any, telescope: Telescope
) -> None:
    lock = client.lock("myLock")
    counts = []

    def work() -> Iterator[Any]:
        yield lock.acquire()
        counts.append(telescope.points()["holdfast.wait_seconds"][0].count)
        yield lock.acquire()
        yield lock.release()
        counts.append("holdfast.hold_seconds" in telescope.points())
        yield lock.release()
        counts.append(telescope.points()["holdfast.hold_seconds"][0].count)

    alice.do(work)
    assert counts == [1, False, 1]
    (point,) = telescope.points()["holdfast.wait_seconds"]
    assert point.explicit_bounds == client.stats().wait_seconds.bounds
    assert point.count == 2


def test_nothing_is_recorded_after_uninstrument(
    client: Any, alice: Any, telescope: Telescope
) -> None:
    HoldfastInstrumentor().uninstrument()
    assert not HoldfastInstrumentor().is_instrumented_by_opentelemetry
    alice.do(client.lock("myLock").acquire)
    assert telescope.spans() == []
    assert not telescope.points().get("holdfast.acquired")
    HoldfastInstrumentor().uninstrument()  # again: nothing
    HoldfastInstrumentor().instrument(tracer_provider=telescope.tracers)
    alice.do(client.lock("myLock").acquire)
    assert telescope.outcomes() == ["acquired"]


def test_an_observer_that_fails_does_not_fail_the_lock(
    client: Any, alice: Any, telescope: Telescope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise KeyError("reason")

    monkeypatch.setattr("sys.unraisablehook", lambda _: None)
    recorder = HoldfastInstrumentor()._recorder
    monkeypatch.setattr(type(recorder), "ended", fails)
    lock = client.lock("myLock")
    assert alice.do(lock.acquire)
    alice.do(lock.release)


@pytest.mark.flavours("sync")
def test_an_interrupt_while_it_is_recorded_leaves_nothing_held(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        """
        from holdfast.contrib.opentelemetry import HoldfastInstrumentor
        HoldfastInstrumentor().instrument()
        recorder = type(HoldfastInstrumentor()._recorder)
        def ended(*_):
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass
        recorder.ended = ended
        client = holdfast.Client(URL)
        lock = client.lock("myLock")
        try:
            lock.acquire()
        except KeyboardInterrupt:
            say("interrupted", client.stats().held)
        hear("end")
        """,
        URL=server.url,
    )
    assert child.expect("interrupted") == ["0"]
    eventually(lambda: not server.inspect.exists("myLock"))
    child.send("end")
    assert child.wait() == 0


@pytest.mark.flavours("sync")
def test_opentelemetry_instrument_finds_it_by_itself(server: Server, flavour: Any) -> None:
    """A program that knows nothing of telemetry, started by the command of OpenTelemetry's."""
    pytest.importorskip("opentelemetry.instrumentation.distro")
    program = f"""if True:
        import holdfast
        with holdfast.Client({server.url!r}) as client, client.lock("nightly"):
            pass
        """
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    instrument = shutil.which("opentelemetry-instrument", path=os.pathsep.join(folders))
    assert instrument is not None, folders
    command = [instrument, sys.executable, "-c", program]
    exporters = {f"OTEL_{what}_EXPORTER": "none" for what in ("METRICS", "LOGS")}
    environment = {**os.environ, **exporters, "OTEL_TRACES_EXPORTER": "console"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    span = json.loads(done.stdout)
    assert span["name"] == "holdfast.acquire"
    assert span["attributes"]["holdfast.lock.name"] == "nightly"
    assert span["attributes"]["holdfast.outcome"] == "acquired"


def test_holds_of_two_clients_on_one_name_are_kept_apart(
    make_client: MakeClient, alice: Any, telescope: Telescope
) -> None:
    """One thread or task is the same owner to both."""
    locks = [make_client().read_write_lock("myLock").read for _ in range(2)]

    def work() -> Iterator[Any]:
        for number, lock in enumerate(locks):
            with telescope.tracer.start_as_current_span(f"job {number}") as job:
                yield lock.acquire()
                if number == 1:
                    yield locks[0].release()
                    yield lock.force_release()
                    with pytest.raises(holdfast.LockLostError):
                        yield lock.release()
                    assert [event.name for event in job.events] == ["holdfast.lost"]

    alice.do(work)
    assert not telescope.spans("job 0")[0].events
    assert sum(point.count for point in telescope.points()["holdfast.hold_seconds"]) == 2


def test_a_loss_that_no_call_finds_counts_for_its_client(
    make_client: MakeClient, alice: Any, telescope: Telescope
) -> None:
    told: list[Any] = []
    mine = make_client(tracking="off").read_write_lock("myLock").read  # it is lost, too, but later
    lost = make_client().read_write_lock("myLock", on_lost=told.append).read
    job = telescope.tracer.start_span("job")

    def work() -> Iterator[Any]:
        from opentelemetry.trace import use_span

        with use_span(job):
            yield mine.acquire()
        yield lost.acquire()
        yield lost.force_release()

    alice.do(work)
    eventually(lambda: told)
    assert not job.events


def test_permits_have_spans(client: Any, alice: Any, telescope: Telescope) -> None:
    work_with_permits(client, alice)
    spans = [
        (span.attributes["holdfast.lock.kind"], span.attributes["holdfast.lock.name"])
        for span in telescope.spans()
    ]
    assert spans == 2 * [
        *2 * [("semaphore", "slots")],
        *2 * [("permit_semaphore", "permits")],
    ]
    assert telescope.outcomes() == 4 * ["acquired", "timed_out"]
    waits = {
        point.attributes["holdfast.lock.kind"]: point.count
        for point in telescope.points()["holdfast.wait_seconds"]
    }
    assert waits == {"semaphore": 2, "permit_semaphore": 2}
    recorder = HoldfastInstrumentor()._recorder
    assert recorder is not None
    assert recorder._holds == {}
