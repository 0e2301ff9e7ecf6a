"""`holdfast.contrib.prometheus`, and the dashboard over it."""

from __future__ import annotations

import gc
import json
import re
import socket
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import holdfast
from tests.support.owners import MakeClient
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

prometheus_client = pytest.importorskip("prometheus_client")

from holdfast.contrib.prometheus import Collector, by_program  # noqa: E402 - its package may be missing

pytestmark = pytest.mark.servers("redis")

DASHBOARD = Path(__file__).parents[3] / "docs/monitoring/grafana.json"


def registry_of(*clients: Any) -> Any:
    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(*clients))
    return registry


def test_each_figure_is_a_metric_labelled_with_the_client(client: Any, alice: Any) -> None:
    alice.do(client.lock("myLock").acquire)
    registry = registry_of(client)
    label = {"client": by_program(client)}
    stats = client.stats()
    for name in ("acquired", "contended", "timed_out", "cancelled", "failed", "released", "lost",
                 "renewals", "renewal_failures", "commands", "reconnects"):  # fmt: skip
        assert registry.get_sample_value(f"holdfast_{name}_total", label) == getattr(stats, name)
    assert registry.get_sample_value("holdfast_held", label) == 1
    assert registry.get_sample_value("holdfast_waiting", label) == 0
    assert registry.get_sample_value("holdfast_wait_seconds_count", label) == 1
    assert registry.get_sample_value("holdfast_wait_seconds_sum", label) == stats.wait_seconds.sum
    assert registry.get_sample_value("holdfast_hold_seconds_count", label) == 0


def test_buckets_are_cumulative(client: Any, alice: Any) -> None:
    lock = client.lock("myLock")
    for _ in range(5):
        alice.do(lock.acquire)
        alice.do(lock.release)
    registry = registry_of(client)
    histogram = client.stats().hold_seconds
    seen = 0
    for bound, count in zip([*map(str, histogram.bounds), "+Inf"], histogram.counts, strict=True):
        seen += count
        label = {"client": by_program(client), "le": bound}
        assert registry.get_sample_value("holdfast_hold_seconds_bucket", label) == seen
    assert seen == 5


def test_clients_of_one_name_are_added_up(
    server: Server, make_client: MakeClient, alice: Any
) -> None:
    clients = [make_client(client_name="web"), make_client(client_name="web"), make_client()]
    for number, client in enumerate(clients):
        alice.do(client.lock(f"lock{number}").acquire)
    registry = registry_of(*clients)
    assert registry.get_sample_value("holdfast_held", {"client": "web"}) == 2
    assert registry.get_sample_value("holdfast_held", {"client": by_program(clients[2])}) == 1
    text = prometheus_client.generate_latest(registry).decode()
    assert text.count("\nholdfast_acquired_total{") == 2


def test_a_registry_knows_the_names_before_the_first_scrape(
    client: Any, make_client: MakeClient
) -> None:
    registry = registry_of(client)
    with pytest.raises(ValueError, match="holdfast_held"):
        registry.register(Collector(make_client()))
    with pytest.raises(ValueError, match=r"one Collector\(a, b\)"):
        registry.register(Collector(make_client()))
    assert "Collector" not in prometheus_client.generate_latest(registry).decode()


def test_a_second_collector_of_a_client_is_refused_with_a_sentence(
    client: Any, make_client: MakeClient
) -> None:
    """Two would count everything twice."""
    first = Collector(client, make_client())
    with pytest.raises(ValueError, match="has a Collector already: register that one"):
        Collector(make_client(), client)
    first.close()
    second = Collector(client)
    del second
    gc.collect()
    Collector(client)


def test_the_label_is_the_same_after_each_start(
    client: Any, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/srv/app/worker.py"])
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    clients = [client, make_client(), make_client(client_name="web")]
    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(*clients))
    text = prometheus_client.generate_latest(registry).decode()
    labels = set(re.findall(r'^holdfast_held\{client="(.*)"\}', text, re.MULTILINE))
    assert labels == {f"{socket.gethostname()}:worker.py", "web"}
    assert not any(client.id in text for client in clients)


def test_figures_by_lock_name(make_client: MakeClient, alice: Any, bob: Any) -> None:
    client, bystander = make_client(name_prefix="app:", client_name="web"), make_client()
    collector = Collector(client, names=["order:*", "nightly"])
    registry = prometheus_client.CollectorRegistry()
    registry.register(collector)
    for name in ("order:1", "order:2", "nightly", "unlisted"):
        alice.do(client.lock(name).acquire)
    assert not bob.do(client.lock("order:2").acquire, blocking=False)
    alice.do(client.lock("order:1").release)
    alice.do(bystander.lock("nightly").acquire)
    nightly = client.lock("nightly")
    alice.do(nightly.force_release)
    with pytest.raises(holdfast.LockLostError):
        alice.do(nightly.release)

    def value(name: str, label: str) -> Any:
        labels = {"client": "web", "name": label}
        return registry.get_sample_value(f"holdfast_lock_{name}", labels)

    names = ("order:*", "nightly", "other")
    assert [value("acquired_total", label) for label in names] == [2, 1, 1]
    assert [value("timed_out_total", label) for label in names] == [1, 0, 0]
    assert [value("lost_total", label) for label in names] == [0, 1, 0]
    assert [value("held", label) for label in names] == [1, 0, 1]
    assert [value("wait_seconds_count", label) for label in names] == [2, 1, 1]
    assert [value("hold_seconds_count", label) for label in names] == [1, 1, 0]
    assert registry.get_sample_value("holdfast_acquired_total", {"client": "web"}) == 4
    collector.close()
    alice.do(client.lock("order:3").acquire)
    assert value("acquired_total", "order:*") == 2


def held(collector: Collector) -> float:
    """The locks that are held, of all names."""
    families = {family.name: family for family in collector.collect()}
    return sum(sample.value for sample in families["holdfast_lock_held"].samples)


def test_a_detached_hold_is_held_where_it_is_attached(client: Any, alice: Any) -> None:
    collector = Collector(client, names=["*"])
    hold = alice.do(client.lock("nightly").hold)
    ticket = alice.do(hold.detach)
    assert held(collector) == 0
    hold = alice.do(client.attach, ticket)
    assert held(collector) == 1
    alice.do(hold.release)
    assert held(collector) == 0
    collector.close()


@pytest.mark.flavours("asyncio")
@pytest.mark.parametrize("as_hold", [False, True], ids=["of a task", "of a hold"])
def test_a_cancelled_release_is_counted(
    make_client: MakeClient, server: Server, alice: Any, as_hold: bool
) -> None:
    """Nothing is held any more, although the server has not answered yet."""
    begun = Event()
    with FaultProxy(server.port) as proxy:
        client = make_client(proxy.url)
        collector = Collector(client, names=["*"])
        lock = client.lock("nightly")
        taken = alice.do(lock.hold) if as_hold else lock

        def work() -> Any:
            if not as_hold:
                yield lock.acquire()
            proxy.stall()
            begun.set()
            yield taken.release()

        releasing = alice.begin(work)
        assert begun.wait(BOUND)
        alice.cancel()
        eventually(releasing.done)
        assert held(collector) == 0
        collector.close()
        proxy.heal()


def test_at_most_a_hundred_names_are_labels(make_client: MakeClient, alice: Any) -> None:
    client = make_client(client_name="web")
    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(client, names=lambda name: name if name != "shy" else None))
    locks = [client.lock(f"lock{number}") for number in range(103)]
    hostile = client.lock(b'\xff"\n\xe2\x80\xae')

    def work() -> Any:
        for lock in (hostile, *locks, client.lock("shy")):
            yield lock.acquire()
            yield lock.release()

    alice.do(work)
    text = prometheus_client.generate_latest(registry).decode()
    counts = dict(
        re.findall(r'^holdfast_lock_acquired_total\{.*name="(.*)"\} (.*)$', text, re.MULTILINE)
    )
    assert len(counts) == 101
    assert counts["other"] == "5.0"
    assert sum(map(float, counts.values())) == 105


@pytest.mark.parametrize("names", ["order:*", b"order:*", 7, [7]], ids=repr)
def test_names_that_are_no_function_and_no_patterns_are_refused(client: Any, names: Any) -> None:
    with pytest.raises(TypeError, match="names"):
        Collector(client, names=names)
    Collector(client)


@pytest.mark.parametrize("clients", [(), (None,), ("redis://",)], ids=["none", "None", "url"])
def test_what_is_no_client_is_refused(clients: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="clients"):
        Collector(*clients)


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    registry = registry_of(holdfast.Client())
    names = {sample.name for family in registry.collect() for sample in family.samples}
    dashboard = json.loads(DASHBOARD.read_text())
    asked = set(re.findall(r"holdfast_\w+", json.dumps(dashboard)))
    assert asked <= names
    assert {name for name in names if name.endswith(("_total", "held", "waiting"))} <= asked


def test_the_dashboard_is_what_grafana_s_schema_knows() -> None:
    """Read and written by the classes that Grafana makes of its schema, nothing is missing."""
    pytest.importorskip("grafana_foundation_sdk")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    dashboard = json.loads(DASHBOARD.read_text())
    known = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    assert list(differences(dashboard, known)) == []
    places = [(panel["id"], tuple(panel["gridPos"].values())) for panel in dashboard["panels"]]
    assert len(dict(places)) == len({place for _, place in places}) == len(places)


def differences(ours: Any, known: Any, path: str = "") -> Any:
    """Where `known` lacks or changes something of `ours`; what it adds are defaults."""
    if isinstance(ours, dict) and isinstance(known, dict):
        for key, value in ours.items():
            yield from differences(value, known.get(key), f"{path}/{key}")
    elif isinstance(ours, list) and isinstance(known, list) and len(ours) == len(known):
        for number, (one, other) in enumerate(zip(ours, known, strict=True)):
            yield from differences(one, other, f"{path}/{number}")
    elif ours != known:
        yield path, ours, known
