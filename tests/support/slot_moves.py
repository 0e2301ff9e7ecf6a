"""Slots of a cluster that move in one step, and slots of a database other than 0.

Redis 8.4 and Valkey 9 copy the keys of a slot, then switch it. Other servers move it key by key, as
`Cluster.migrate_slot` does.
"""

from __future__ import annotations

import redis

from tests.support.clusters import Cluster, slot_of
from tests.support.servers import Server


def why_not_at_once(server: Server) -> str | None:
    """Why this server cannot move a slot in one step, or None where it can."""
    if _knows(server, "MIGRATION", "STATUS", "ALL") or _knows(server, "GETSLOTMIGRATIONS"):
        return None
    version = server.inspect.info("server")
    number = version.get("valkey_version", version["redis_version"])
    return f"{server.kind} {number} has no CLUSTER MIGRATION and no CLUSTER MIGRATESLOTS"


def move_at_once(cluster: Cluster, name: str | bytes) -> tuple[Server, Server]:
    """Move the slot of a key to another primary in one step: (from, to)."""
    source, target = cluster.primary_of(name), cluster.other_primary(name)
    slot = slot_of(name)
    if _knows(target, "MIGRATION", "STATUS", "ALL"):
        target.inspect.execute_command("CLUSTER", "MIGRATION", "IMPORT", slot, slot)
    else:
        to = ("NODE", cluster.id_of(target))
        source.inspect.execute_command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, *to)
    cluster.await_owner(target, name)
    return source, target


def move_key_by_key(cluster: Cluster, name: str | bytes, database: int) -> tuple[Server, Server]:
    """Move the slot of a key with its keys of one database, as redis-cli does: (from, to)."""
    source, target = cluster.begin_migration(name)
    with source.connect(db=database) as there:
        while keys := there.execute_command("CLUSTER", "GETKEYSINSLOT", slot_of(name), 100):
            to = ("127.0.0.1", target.port, "", database, 5000, "REPLACE")
            there.execute_command("MIGRATE", *to, "KEYS", *keys)
    cluster.end_migration(source, target, name)
    return source, target


def _knows(server: Server, *words: str) -> bool:
    """Whether it has a subcommand of CLUSTER, which only looks."""
    try:
        server.inspect.execute_command("CLUSTER", *words)
    except redis.ResponseError as error:
        if "unknown subcommand" not in str(error).lower():
            raise
        return False
    return True
