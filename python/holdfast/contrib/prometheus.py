"""The figures of clients for ``prometheus_client``; needs the extra ``holdfast[prometheus]``.

>>> from prometheus_client import REGISTRY
>>> REGISTRY.register(Collector(client))
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
from __future__ import annotations

from dataclasses import fields
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)

from holdfast import Histogram, Stats
from holdfast.contrib._figures import HELP, checked_clients, label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric

    from holdfast._base_client import BaseClient

__all__ = ["Collector"]

_GAUGES = ("held", "waiting")
_HISTOGRAMS = ("wait_seconds", "hold_seconds")


class Collector:
    """The figures ``client.stats()`` of one or more clients, read at each scrape.

    To be registered with a ``CollectorRegistry``. The metrics are ``holdfast_<field>_total``,
    ``holdfast_held``, ``holdfast_waiting``, ``holdfast_wait_seconds`` and
    ``holdfast_hold_seconds``; their label ``client`` is the client's name, if it was given one,
    else its id. Clients of one name are added up.

    Raises ``TypeError`` for anything else than clients, and without any.
    """

    def __init__(self, *clients: BaseClient) -> None:
        self._clients = checked_clients(clients)

    def describe(self) -> Iterable[Metric]:
        """The metrics without their values."""
        return [_family(name) for name in HELP]

    def collect(self) -> Iterator[Metric]:
        """The metrics of this moment; sends nothing."""
        figures: dict[str, list[Stats]] = {}
        for client in self._clients:
            figures.setdefault(label(client), []).append(client.stats())
        for field in fields(Stats):
            family = _family(field.name)
            for client_label, stats in figures.items():
                _add(family, client_label, [getattr(each, field.name) for each in stats])
            yield family


def _family(field: str) -> Any:
    name, words, labels = f"holdfast_{field}", HELP[field], ["client"]
    if field in _GAUGES:
        return GaugeMetricFamily(name, words, labels=labels)
    if field in _HISTOGRAMS:
        return HistogramMetricFamily(name, words, labels=labels)
    return CounterMetricFamily(name, words, labels=labels)


def _add(family: Any, client_label: str, values: list[Any]) -> None:
    if isinstance(family, HistogramMetricFamily):
        family.add_metric([client_label], _buckets(values), sum_value=sum(h.sum for h in values))
    else:
        family.add_metric([client_label], sum(values))


def _buckets(histograms: list[Histogram]) -> list[tuple[str, float]]:
    counts = map(sum, zip(*(each.counts for each in histograms), strict=True))
    bounds = [*map(str, histograms[0].bounds), "+Inf"]
    return list(zip(bounds, accumulate(counts), strict=True))
