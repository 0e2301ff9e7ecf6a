"""Batches of renewals in a cluster: of one slot, also while the slot moves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.waiting import eventually

pytestmark = [pytest.mark.servers("real")]

LEASE = 3.0
TAG = "{orders}"


def hold_all(alice: Any, client: Any, lost: list[Any]) -> list[str]:
    """Holds in one slot, and some in others."""
    names = [f"{TAG}:{number}" for number in range(20)] + [f"other:{n}" for n in range(20)]
    for name in names:
        assert alice.do(client.lock(name, on_lost=lost.append).acquire)
    return names


def see_all_renewed(client: Any, times: int) -> None:
    renewed = client.stats().renewals
    eventually(lambda: client.stats().renewals >= renewed + 40 * times)


def test_the_holds_of_a_slot_are_renewed_together(
    cluster: Cluster, alice: Any, make_client: MakeClient
) -> None:
    client = make_client(cluster.url, lease=LEASE, tracking="off")
    lost: list[Any] = []
    hold_all(alice, client, lost)
    see_all_renewed(client, 2)
    server = cluster.primary_of(TAG)
    scripts, renewed = server.scripts_run(), server.inspect.info("commandstats")["cmdstat_pexpire"]
    see_all_renewed(client, 2)
    scripts = (server.scripts_run() or 0) - (scripts or 0)
    calls = server.inspect.info("commandstats")["cmdstat_pexpire"]["calls"] - renewed["calls"]
    assert calls >= 2 * 20
    assert scripts < calls * 2 / 3
    assert not lost


def test_the_holds_of_a_slot_that_moves_are_all_kept(
    cluster: Cluster, alice: Any, make_client: MakeClient
) -> None:
    """Half moved, a batch has keys on both sides: TRYAGAIN. Then it is at the other: ASK, MOVED."""
    client = make_client(cluster.url, lease=LEASE)
    lost: list[Any] = []
    names = hold_all(alice, client, lost)
    see_all_renewed(client, 1)
    source, target = cluster.begin_migration(TAG)
    cluster.migrate(source, target, names[:10])
    see_all_renewed(client, 2)
    assert not lost
    cluster.migrate_keys(source, target, TAG)
    see_all_renewed(client, 2)
    assert not lost
    cluster.end_migration(source, target, TAG)
    see_all_renewed(client, 2)
    assert not lost
