"""The figures of clients for ``prometheus_client``; needs the extra ``holdfast-locks[prometheus]``.

>>> from prometheus_client import REGISTRY
>>> REGISTRY.register(Collector(client, names=["order:*", "nightly"]))
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

from dataclasses import fields
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, finalize, ref

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from holdfast import Histogram, Stats
from holdfast.contrib._figures import HELP, by_program, checked_clients
from holdfast.contrib._named import NAMED_HELP, NamedFigures
from holdfast.observe import add_observer, remove_observer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from holdfast.integration import BaseClient

__all__ = ["Collector", "by_program"]

_GAUGES = ("held", "waiting", "tracked", "guarded")
_HISTOGRAMS = ("wait_seconds", "hold_seconds")

#: By client, its collector: two would count everything twice.
_collectors: WeakKeyDictionary[BaseClient, ref[Collector]] = WeakKeyDictionary()


class Collector:
    """The figures ``client.stats()`` of one or more clients, read at each scrape.

    To be registered with a ``CollectorRegistry``. The metrics are ``holdfast_<field>_total``,
    ``holdfast_held``, ``holdfast_waiting``, ``holdfast_wait_seconds`` and
    ``holdfast_hold_seconds``; their label ``client`` is the client's name, if it was given one,
    else ``host:program`` (``by_program``): the same after a restart. Clients of one label are added
    up. ``label``: a function of the client that returns another label. A registry takes one
    collector, ``Collector(a, b)`` for all clients; the error for a second one says so.

    ``names``: counts by lock names, too, as ``holdfast_lock_acquired_total`` and so on with a
    second label ``name``: a function of a lock's name that returns its label (``None``: ``other``),
    or glob patterns, of which the first that matches is the label. 100 labels at most; the rest is
    ``other``. Locks then take a longer way, through Python. ``close()`` ends it.

    Raises ``TypeError`` for anything else than clients, and without any; ``ValueError`` for a
    client that has a collector.
    """

    def __init__(
        self,
        *clients: BaseClient,
        label: Callable[[BaseClient], str] = by_program,
        names: Callable[[str], str | None] | Iterable[str] | None = None,
    ) -> None:
        self._clients = checked_clients(clients)
        self._label = label
        for client in self._clients:
            _refuse_second(client)
        self._named = None if names is None else NamedFigures(self._clients, names)
        if self._named is not None:
            add_observer(self._named)
            finalize(self, remove_observer, self._named)
        _collectors.update(dict.fromkeys(self._clients, ref(self)))

    def close(self) -> None:
        """Count by names no longer; another collector may have the clients then."""
        if self._named is not None:
            remove_observer(self._named)
        for client in self._clients:
            _collectors.pop(client, None)

    def describe(self) -> Iterable[Metric]:
        """The metrics without their values."""
        named = NAMED_HELP if self._named is not None else ()
        return [*map(_family, HELP), *map(_named_family, named), _advice()]

    def collect(self) -> Iterator[Metric]:
        """The metrics of this moment; sends nothing."""
        figures: dict[str, list[Stats]] = {}
        for client in self._clients:
            figures.setdefault(self._label(client), []).append(client.stats())
        for field in fields(Stats):
            family = _family(field.name)
            for client_label, stats in figures.items():
                _add(family, [client_label], [getattr(each, field.name) for each in stats])
            yield family
        if self._named is not None:
            yield from self._collect_named(self._named)

    def _collect_named(self, named: NamedFigures) -> Iterator[Metric]:
        figures: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for client, name, read in named.read():
            figures.setdefault((self._label(client), name), []).append(read)
        for field in NAMED_HELP:
            family = _named_family(field)
            for labels, several in figures.items():
                _add(family, list(labels), [each[field] for each in several])
            yield family


def _refuse_second(client: BaseClient) -> None:
    known = _collectors.get(client)
    if known is not None and known() is not None:
        msg = (
            f"{client!r} has a Collector already: register that one, give all clients to one "
            "Collector, or close() it first"
        )
        raise ValueError(msg)


def _advice() -> Metric:
    """No metric: a registry that has a collector refuses another by its names, and quotes this."""
    advice = Metric("holdfast", "", "unknown")
    advice.name = "holdfast: give all clients of a registry to one Collector(a, b)"
    return advice


def _family(field: str) -> Any:
    return _family_of(field, f"holdfast_{field}", HELP[field], ["client"])


def _named_family(field: str) -> Any:
    return _family_of(field, f"holdfast_lock_{field}", NAMED_HELP[field], ["client", "name"])


def _family_of(field: str, name: str, words: str, labels: list[str]) -> Any:
    if field in _GAUGES:
        return GaugeMetricFamily(name, words, labels=labels)
    if field in _HISTOGRAMS:
        return HistogramMetricFamily(name, words, labels=labels)
    return CounterMetricFamily(name, words, labels=labels)


def _add(family: Any, labels: list[str], values: list[Any]) -> None:
    if isinstance(family, HistogramMetricFamily):
        family.add_metric(labels, _buckets(values), sum_value=sum(h.sum for h in values))
    else:
        family.add_metric(labels, sum(values))


def _buckets(histograms: list[Histogram]) -> list[tuple[str, float]]:
    counts = map(sum, zip(*(each.counts for each in histograms), strict=True))
    bounds = [*map(str, histograms[0].bounds), "+Inf"]
    return list(zip(bounds, accumulate(counts), strict=True))
