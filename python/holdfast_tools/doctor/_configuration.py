"""Checks of a server's configuration, as it reports it."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Final

from holdfast.servers import listed

from ._finding import Finding, bad, good, refused, warning
from ._optional import closing, confirmations, connection_names
from ._tracking import tracking

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.servers import Needs, Server

__all__ = ["CHECKS", "Account"]

PINGS: Final = 20
OLDEST: Final = (6, 2)
SLOTS: Final = 16384
MEGABYTE: Final = 2**20
#: Of maxmemory: from this part on a server counts as nearly full.
MOST_USED: Final = 0.9
#: Seconds.
MOST_LAG: Final = 1
MOST_DIFFERENCE: Final = 1.0


class Account:
    """The configuration and state that one server reports."""

    def __init__(self, server: Server, needs: Needs, *, clustered: bool) -> None:
        self.server = server
        self.needs = needs
        self.clustered = clustered
        [self.refusal] = server.ask([(b"INFO",)])
        self.info: Mapping[str, str] = {}
        if isinstance(self.refusal, bytes):
            self.info = _parsed(self.refusal)

    def setting(self, name: str) -> str | None:
        """A directive of the configuration; ``None`` if this user may not read it."""
        [reply] = self.server.ask([(b"CONFIG", b"GET", name.encode())])
        pair = listed(reply)
        return str(pair[1].decode()) if len(pair) > 1 else None


def _parsed(info: bytes) -> dict[str, str]:
    lines = info.decode(errors="backslashreplace").splitlines()
    return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}


def version(account: Account) -> Finding:
    info = account.info
    if "redis_version" not in info:
        return refused("version", account.refusal, "INFO")
    name = "Valkey" if "valkey_version" in info else "Redis"
    number = info.get("valkey_version", info["redis_version"])
    found = f"{name} {number}"
    compatible = tuple(int(part) for part in info["redis_version"].split(".")[:2])
    if compatible < OLDEST:
        return warning(
            "version",
            found,
            "holdfast is tested with Redis 6.2 and Valkey 8, and newer",
            "upgrade the server",
        )
    return good("version", found, "holdfast is tested with servers of this age")


def round_trip(account: Account) -> Finding:
    times: list[float] = []
    for _ in range(PINGS):
        start = time.perf_counter()
        account.server.ask([(b"PING",)])
        times.append(time.perf_counter() - start)
    median = statistics.median(times) * 1000
    return good(
        "round trip",
        f"{median:.3f} ms (median of {PINGS})",
        "each acquire and each release takes at least this long",
    )


def eviction_policy(account: Account) -> Finding:
    check = "eviction policy"
    policy = account.info.get("maxmemory_policy") or account.setting("maxmemory-policy")
    if policy is None:
        return refused(check, account.refusal, "CONFIG GET")
    if policy == "noeviction":
        return good(check, policy, "a full server refuses writes and keeps its locks")
    return bad(
        check,
        policy,
        "a full server removes keys, locks among them, while they are held",
        "CONFIG SET maxmemory-policy noeviction, and in the server's configuration file",
    )


def memory(account: Account) -> Finding:
    check = "memory"
    if not account.info.get("maxmemory", "").isdigit():
        return refused(check, account.refusal, "INFO")
    used, limit = int(account.info["used_memory"]), int(account.info["maxmemory"])
    megabytes = f"{used / MEGABYTE:.0f} MB in use"
    if limit == 0:
        return good(check, f"{megabytes}, maxmemory is not set", "the server refuses no write")
    found = f"{megabytes} of {limit / MEGABYTE:.0f} MB (maxmemory)"
    if used < MOST_USED * limit:
        return good(check, found, "there is room for locks")
    do = "raise maxmemory, or remove keys"
    if used < limit:
        return warning(check, found, "a full server refuses every acquire (OOM)", do)
    means = "the server refuses every acquire (OOM); releases still work"
    return bad(check, found, means, do)


def persistence(account: Account) -> Finding:
    check = "persistence"
    if "aof_enabled" not in account.info:
        return refused(check, account.refusal, "INFO")
    if account.info["aof_enabled"] == "1":
        return good(check, "an append-only file", "locks outlive a restart of the server")
    save = account.setting("save")
    if save is None:
        return refused(check, account.refusal, "CONFIG GET")
    if save:
        means = "a restart brings back the locks of the last snapshot: later ones are lost"
        return good(check, f"snapshots (save {save})", means)
    return warning(
        check,
        "none",
        "a restart forgets all locks while their owners still work",
        "CONFIG SET appendonly yes, or restart the server only after the longest lease",
    )


def min_replicas(account: Account) -> Finding:
    check = "min-replicas-to-write"
    setting = account.setting("min-replicas-to-write")
    if setting is None:
        return refused(check, account.refusal, "CONFIG GET")
    if setting == "0":
        return good(check, "not set", "the server accepts locks without replicas")
    present = account.info.get("min_slaves_good_slaves", "0")
    if int(present) >= int(setting):
        means = "the server accepts locks only while replicas follow"
        return good(check, f"{present} of {setting} replicas follow", means)
    return bad(
        check,
        f"{present} of {setting} replicas follow",
        "the server refuses every acquire and release (NOREPLICAS)",
        "start the missing replicas, or lower min-replicas-to-write",
    )


def replicas(account: Account) -> Finding:
    check = "replicas"
    if "role" not in account.info:
        return refused(check, account.refusal, "INFO")
    lines = [_fields(value) for name, value in account.info.items() if _is_replica(name, value)]
    if not lines:
        means = "a failure of this server is a failure of its locks"
        return good(check, "none", means, "see the documentation on replicas for what they add")
    slow = [line for line in lines if _is_behind(line)]
    if slow:
        found = ", ".join(f"{_address(line)}: {_lag(line)}" for line in slow)
        return warning(
            check,
            found,
            "after a failover the newest locks are missing, and others are granted them",
            "see why the replica falls behind; replicas_to_wait makes a grant wait for replicas",
        )
    found = ", ".join(f"{_address(line)}: lag {line.get('lag', '?')} s" for line in lines)
    return good(check, found, "a failover loses at most the grants of the last moment")


def _is_replica(name: str, value: str) -> bool:
    return name.startswith("slave") and name[5:].isdigit() and "ip=" in value


def _fields(value: str) -> dict[str, str]:
    parts = (part.partition("=") for part in value.split(","))
    return {name: field for name, _, field in parts}


def _address(line: Mapping[str, str]) -> str:
    return f"{line['ip']}:{line.get('port', '?')}"


def _is_behind(line: Mapping[str, str]) -> bool:
    return line.get("state") != "online" or int(line.get("lag", "0")) > MOST_LAG


def _lag(line: Mapping[str, str]) -> str:
    online = line.get("state") == "online"
    return f"lag {line.get('lag', '?')} s" if online else f"state {line.get('state')}"


def coverage(account: Account) -> Finding:
    check = "cluster coverage"
    if not account.clustered:
        if account.info.get("cluster_enabled") == "1":
            return warning(
                check,
                "the server belongs to a cluster, but the URL does not say so",
                "locks whose slots other servers have fail (MOVED)",
                "use a URL that begins with redis+cluster://",
            )
        return good(check, "not a cluster", "one server has all names")
    [reply] = account.server.ask([(b"CLUSTER", b"INFO")])
    if not isinstance(reply, bytes):
        return refused(check, reply, "CLUSTER INFO")
    state = _parsed(reply)
    covered = int(state.get("cluster_slots_ok", "0"))
    if covered == SLOTS and state.get("cluster_state") == "ok":
        return good(check, f"all {SLOTS} slots are served", "every name has a server")
    return bad(
        check,
        f"{covered} of {SLOTS} slots are served, state {state.get('cluster_state', '?')}",
        "names in the other slots cannot be locked",
        "start the missing primaries or fail over to their replicas (CLUSTER FAILOVER)",
    )


def clock(account: Account) -> Finding:
    check = "clock"
    before = time.time()
    [reply] = account.server.ask([(b"TIME",)])
    after = time.time()
    moment = listed(reply)
    if not moment:
        return refused(check, reply, "TIME")
    difference = int(moment[0]) + int(moment[1]) / 1e6 - (before + after) / 2
    found = f"{difference:+.3f} s against this machine"
    if abs(difference) <= MOST_DIFFERENCE:
        return good(check, found, "both clocks agree")
    return warning(
        check,
        found,
        "Redisson's fair locks and permits carry times of the client's clock: they expire too "
        "early or too late",
        "set both machines' clocks by NTP",
    )


CHECKS: Final[tuple[Callable[[Account], Finding], ...]] = (
    version,
    round_trip,
    eviction_policy,
    memory,
    persistence,
    min_replicas,
    replicas,
    coverage,
    clock,
    lambda account: tracking(account.server, account.needs),
    lambda account: confirmations(account.server, account.needs),
    lambda account: closing(account.server, account.needs),
    lambda account: connection_names(account.server, account.needs),
)
