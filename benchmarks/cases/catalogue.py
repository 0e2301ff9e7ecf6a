"""All benchmarks, in the order of the report."""

from __future__ import annotations

from benchmarks.cases.alone import Pair, Throughput
from benchmarks.cases.case import Case
from benchmarks.cases.clustered import ClusterPair, ClusterWatchdog, Failover
from benchmarks.cases.contended import Crowd, HandOver
from benchmarks.cases.family import AWAY_MS, KindPair, Readers, RedPair
from benchmarks.cases.renewed import Watchdog
from benchmarks.cases.scaling import (
    ClientScaling,
    NodeScaling,
    ProcessScaling,
    WaiterScaling,
)
from benchmarks.cases.startup import Startup
from benchmarks.cases.waiting import DeadHolder, Wake

CASES: tuple[Case, ...] = (
    Pair("pair", "Uncontended acquire + release, one thread, on the server's CPU", True),
    Pair("pair-apart", "Uncontended acquire + release, one thread, on another CPU", False),
    Pair("task", "Uncontended acquire + release, one asyncio task, on the server's CPU", True),
    Pair("pair-asyncio", "Uncontended acquire + release, one asyncio task, another CPU", False),
    Throughput("threads", "32 threads, each with a separate lock", 32),
    Throughput("tasks", "1000 tasks of asyncio (goroutines), each with a separate lock", 1000),
    Wake(),
    DeadHolder(),
    HandOver("hand-over-threads", "Hand-overs among 8 threads of one process", 1, 8),
    HandOver("hand-over-processes", "Hand-overs among 4 processes", 4, 1),
    HandOver("hand-over-processes-8", "Hand-overs among 8 processes", 8, 1),
    Crowd("crowd-threads", "200 waiters in one process, each holds for 1 ms", 1),
    Crowd("crowd-processes", "200 waiters in 4 processes, each holds for 1 ms", 4),
    Watchdog("watchdog-10k", "10 000 locks renewed each second, lease 3 s", 10_000),
    Watchdog("watchdog-100k", "100 000 locks renewed each second, lease 3 s", 100_000),
    Startup(),
    KindPair("pair-fair", "Uncontended fair lock, one thread, on the server's CPU", "fair"),
    KindPair("pair-read", "Uncontended read lock, one thread, on the server's CPU", "read"),
    KindPair("pair-semaphore", "Uncontended semaphore on the server's CPU", "semaphore"),
    KindPair("pair-multi", "Uncontended multi lock of 3 names on the server's CPU", "multi"),
    RedPair("pair-red", "RedLock over 5 servers, uncontended, one thread"),
    RedPair("pair-red-away", "RedLock over 5 servers, each 1 ms away and 1 ms back", AWAY_MS),
    HandOver("hand-over-fair", "Hand-overs of a fair lock among 8 processes", 8, 1, kind="fair"),
    Readers(),
    ClusterPair(),
    ClusterWatchdog(),
    Failover(),
    ClientScaling(),
    ProcessScaling(),
    NodeScaling(),
    WaiterScaling("scale-waiters", "µs from grant to grant, tasks of one process for one name", 1),
    WaiterScaling("scale-waiters-8", "The same, the tasks of 8 processes", 8),
)
