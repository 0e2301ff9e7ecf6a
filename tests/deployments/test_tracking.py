"""Holds whose changes the server reports, where the server of a hold changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deployments.conftest import LONG, NAME
from tests.support.clusters import Cluster
from tests.support.owners import MakeClient
from tests.support.sentinels import Service
from tests.support.waiting import eventually, stays

pytestmark = [pytest.mark.servers("real")]


def track(client: Any) -> None:
    eventually(lambda: client.stats().tracked == 1, within=30, what="the hold is tracked")


def test_a_hold_whose_slot_has_moved(cluster: Cluster, alice: Any, make_client: MakeClient) -> None:
    """changed-key: the old server reports the removal.

    The hold is found, and tracked, at the new one.
    """
    client = make_client(cluster.url, lease=LONG)
    lost: list[Any] = []
    alice.do(client.lock(NAME, on_lost=lost.append).acquire)
    track(client)
    _, target = cluster.migrate_slot(NAME)
    stays(lambda: not lost, 0.2)
    track(client)
    target.inspect.delete(NAME)
    eventually(lambda: lost, within=2)


def test_a_hold_in_a_slot_that_is_half_moved(
    cluster: Cluster, alice: Any, make_client: MakeClient
) -> None:
    client = make_client(cluster.url, lease=LONG)
    lost: list[Any] = []
    alice.do(client.lock(NAME, on_lost=lost.append).acquire)
    track(client)
    source, target = cluster.begin_migration(NAME)
    cluster.migrate_keys(source, target, NAME)
    stays(lambda: not lost, 0.2)
    cluster.end_migration(source, target, NAME)
    track(client)
    target.inspect.delete(NAME)
    eventually(lambda: lost, within=2)


def test_a_hold_after_a_failover(service: Service, alice: Any, make_client: MakeClient) -> None:
    """changed-key."""
    client = make_client(service.url, lease=LONG, command_timeout=LONG)
    lost: list[Any] = []
    alice.do(client.lock(NAME, on_lost=lost.append).acquire)
    track(client)
    primary = service.fail_over()
    eventually(lambda: client.stats().reconnects >= 1, within=30)
    track(client)
    assert not lost
    primary.inspect.delete(NAME)
    eventually(lambda: lost, within=2)
