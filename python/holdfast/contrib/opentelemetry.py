"""Traces and metrics of locks by OpenTelemetry; needs the extra ``holdfast-locks[opentelemetry]``.

>>> HoldfastInstrumentor().instrument()

Each acquisition of a lock or of permits is a span ``holdfast.acquire``; the loss of a lock's hold
is an event ``holdfast.lost`` on the span that was current when it was acquired; the figures of
``client.stats()`` are metrics.
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

from dataclasses import fields
from time import perf_counter
from typing import TYPE_CHECKING, Any

from opentelemetry import context, metrics, trace
from opentelemetry.metrics import Observation
from opentelemetry.trace import SpanKind, Status, StatusCode

from holdfast import Stats, __version__
from holdfast.contrib._figures import HELP, by_program
from holdfast.integration import About, log_warning, shown
from holdfast.observe import BOUNDS, add_observer, clients, remove_observer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from opentelemetry.context import Context
    from opentelemetry.trace import Span

__all__ = ["HoldfastInstrumentor"]

SCOPE = "holdfast"
NAME = "holdfast.lock.name"
KIND = "holdfast.lock.kind"
OUTCOME = "holdfast.outcome"
REASON = "holdfast.reason"
CLIENT = "holdfast.client"
LOST = "holdfast.lost"

_NOW = ("held", "waiting", "tracked", "guarded")
_TIMES = ("wait_seconds", "hold_seconds")


class HoldfastInstrumentor:
    """Instruments all existing and future clients of the process.

    A singleton: each call of the class returns the same object.
    """

    _one: HoldfastInstrumentor | None = None
    _recorder: _Recorder | None = None

    def __new__(cls) -> HoldfastInstrumentor:  # noqa: D102 - the class says it
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def instrument(
        self, *, tracer_provider: Any = None, meter_provider: Any = None, **_: Any
    ) -> None:
        """Begin; without providers with the global ones. No effect when it has begun already."""
        if self._recorder is not None:
            log_warning(
                About("instrumented_twice"),
                "holdfast is instrumented already; uninstrument() it first",
            )
            return
        tracer = trace.get_tracer(SCOPE, __version__, tracer_provider)
        meter = metrics.get_meter(SCOPE, __version__, meter_provider)
        self._recorder = _Recorder(tracer, meter)
        add_observer(self._recorder)

    def uninstrument(self, **_: Any) -> None:
        """End: no new spans, and no new values of metrics."""
        if self._recorder is None:
            return
        remove_observer(self._recorder)
        self._recorder.stop()
        self._recorder = None

    @property
    def is_instrumented_by_opentelemetry(self) -> bool:
        """Whether ``instrument()`` was called last."""
        return self._recorder is not None

    def instrumentation_dependencies(self) -> Collection[str]:
        """The packages required for the instrumentation: only this one."""
        return ()


class _Acquisition:
    """An acquisition under way."""

    __slots__ = ("around", "begun", "kind", "name", "span", "surrounding")

    def __init__(self, tracer: Any, kind: str, name: bytes) -> None:
        self.kind = kind
        self.name = name
        self.around: Context = context.get_current()
        self.surrounding: Span = trace.get_current_span(self.around)
        attributes = {NAME: shown(name), KIND: kind}
        self.span: Span = tracer.start_span(
            "holdfast.acquire", self.around, SpanKind.CLIENT, attributes
        )
        self.begun = perf_counter()


class _Held:
    """A hold, since its first grant."""

    __slots__ = ("around", "attributes", "since", "surrounding")

    def __init__(self, acquisition: _Acquisition) -> None:
        self.around = acquisition.around
        self.surrounding = acquisition.surrounding
        self.attributes = {KIND: acquisition.kind}
        self.since = perf_counter()


class _Recorder:
    """Receives the engine's events; called on any thread, before the caller of a lock returns."""

    def __init__(self, tracer: Any, meter: Any) -> None:
        self._tracer = tracer
        #: By name, client and owner: a thread is the same owner to all clients.
        self._holds: dict[tuple[bytes, str, int], _Held] = {}
        self._stopped = False
        bounds = list(BOUNDS)
        for field in fields(Stats):
            name, words = f"holdfast.{field.name}", HELP[field.name]
            if field.name in _TIMES:
                continue
            create = meter.create_observable_counter
            if field.name in _NOW:
                create = meter.create_observable_up_down_counter
            create(name, [self._reader(field.name)], description=words)
        self._waits, self._times_held = (
            meter.create_histogram(
                f"holdfast.{name}",
                "s",
                HELP[name],
                explicit_bucket_boundaries_advisory=bounds,
            )
            for name in _TIMES
        )

    def stop(self) -> None:
        self._stopped = True
        self._holds.clear()

    def _reader(self, field: str) -> Callable[[Any], Iterable[Observation]]:
        def read(_: Any) -> Iterable[Observation]:
            if self._stopped:
                return []
            sums: dict[str, int] = {}
            for client in clients():
                name = by_program(client)
                sums[name] = sums.get(name, 0) + getattr(client.stats(), field)
            return [Observation(value, {CLIENT: name}) for name, value in sums.items()]

        return read

    # ---- as holdfast.observe.Observer

    def begun(self, kind: str, name: bytes) -> _Acquisition:
        return _Acquisition(self._tracer, kind, name)

    def ended(self, acquisition: _Acquisition, outcome: str, client: str, owner: int) -> None:
        took = perf_counter() - acquisition.begun
        span = acquisition.span
        span.set_attribute(OUTCOME, outcome)
        if outcome == "failed":
            span.set_status(Status(StatusCode.ERROR))
        if outcome == "acquired":
            if owner:  # permits have none
                self._holds.setdefault((acquisition.name, client, owner), _Held(acquisition))
            self._waits.record(took, {KIND: acquisition.kind}, acquisition.around)
        span.end()

    def released(self, name: bytes, client: str, owner: int) -> None:
        hold = self._holds.pop((name, client, owner), None)
        if hold is not None:
            self._record_end(hold)

    def lost(self, name: bytes, client: str, owner: int, reason: str) -> None:
        hold = self._holds.pop((name, client, owner), None)
        if hold is None:  # it has been said already
            return
        attributes = {NAME: shown(name), REASON: reason, **hold.attributes}
        hold.surrounding.add_event(LOST, attributes)
        self._record_end(hold)

    def _record_end(self, hold: _Held) -> None:
        self._times_held.record(perf_counter() - hold.since, hold.attributes, hold.around)
