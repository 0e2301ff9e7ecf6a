"""A cluster of three primaries: what it costs beside one server, and what a failover costs."""

from __future__ import annotations

import time
from contextlib import ExitStack

from benchmarks.cases.case import NEVER, Case, Column, Plan, pair_samples, placed, worker
from benchmarks.cases.family import BESIDE, beside
from benchmarks.cases.renewed import LEASE, cpu_seconds
from benchmarks.cluster import Cluster, wait_until
from benchmarks.contender import Contender
from benchmarks.server import Monitor, Server

RENEWED = 1000
FAILOVER_LEASE = 1.0
ASLEEP = 0.3  # by then a waiter has subscribed and sleeps


def words_for(cluster: Cluster) -> dict[str, object]:
    """What a worker has to know to use the cluster."""
    ports = cluster.ports
    return {"cluster": 1, "port": ports[0], "ports": ",".join(map(str, ports))}


class ClusterPair(Case):
    """The plain lock of one server and of a cluster, one after the other, all on one CPU."""

    name = "pair-cluster"
    title = "Uncontended acquire + release, a cluster of 3 primaries beside one server"
    columns = BESIDE
    base = "redisson"

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        with placed(server, True), Cluster(server.program) as cluster:
            plain = pair_samples(server, contender, plan)
            return beside(plain, pair_samples(server, contender, plan, **words_for(cluster)))


class ClusterWatchdog(Case):
    """At the least each lock takes one command each third of its lease."""

    name = "watchdog-cluster"
    title = "1000 locks over 3 nodes renewed each second, lease 3 s"
    columns = (
        Column("lost", "locks lost"),
        Column("commands", "commands : least", 2),
        Column("cpu", "client CPU s per 100 000 renewals", 3),
    )

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        with ExitStack() as stack:
            cluster = stack.enter_context(Cluster(server.program))
            words = {**words_for(cluster), "locks": RENEWED, "lease": LEASE}
            process = stack.enter_context(worker(server, contender, "watchdog", **words))
            process.ready()
            process.go()
            process.result()
            monitors = [Monitor(port) for port in cluster.ports]
            for monitor in monitors:
                stack.callback(monitor.close)
            before = cpu_seconds(process.pid)
            time.sleep(plan.renewal_seconds)
            commands = sum(monitor.drain() for monitor in monitors)
            spent = cpu_seconds(process.pid) - before
            least = RENEWED * plan.renewal_seconds / (LEASE / 3)
            return {
                "lost": RENEWED - sum(len(node.key_names()) for node in cluster.nodes),
                "commands": commands / least,
                "cpu": spent / least * 100_000,
            }


class Failover(Case):
    """A lock's primary dies with its holder; the lease ends before the replica leads."""

    name = "failover"
    title = "A primary and a holder die: the replica leads → acquired by a waiter"
    columns = (
        Column("failover", "primary dies → replica leads, ms"),
        Column("after", "replica leads → acquired, ms"),
    )

    def measure(self, server: Server, contender: Contender, plan: Plan) -> dict[str, float]:
        del plan
        with ExitStack() as stack:
            cluster = stack.enter_context(Cluster(server.program, replica=True))
            words = {**words_for(cluster), "name": cluster.name_on_first()}
            words["lease"] = FAILOVER_LEASE
            waiting = worker(server, contender, "contend", workers=1, grants=1, **words)
            waiter = stack.enter_context(waiting)
            holder = stack.enter_context(worker(server, contender, "hold", **words))
            waiter.ready()
            holder.ready()
            holder.kill()
            waiter.go(NEVER)
            time.sleep(ASLEEP)
            died = time.monotonic_ns()
            cluster.nodes[0].kill()
            leads = wait_until(cluster.replica_leads, "failover")
            acquired = waiter.result()["grants"][0][0]
        return {"failover": (leads - died) / 1e6, "after": (acquired - leads) / 1e6}
