"""``doctor``: each finding on a server that has it, and none on one that has not."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import holdfast
import holdfast.inspect
from holdfast import servers
from holdfast_tools.doctor import KINDS, LEVELS, Finding, examine
from tests.deployments.security.test_rights import rights_beside, rights_of
from tests.support.certificates import make_certificates
from tests.support.clocks import Clocks
from tests.support.clusters import Cluster
from tests.support.fixtures import StartServer
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.cli.conftest import Run

pytestmark = pytest.mark.servers("redis")

BUILT = [kind.word for kind in servers.BUILT]
CHECKS = [
    "version",
    "round trip",
    "eviction policy",
    "memory",
    "persistence",
    "min-replicas-to-write",
    "replicas",
    "cluster coverage",
    "clock",
    "tracking",
    "WAIT",
    "CLIENT",
    "connection names",
    "guard",
    "scripts",
    "pub/sub",
    "rights",
    "TLS",
]


def levels(url: str, kinds: Sequence[str] = KINDS, **options: Any) -> dict[str, str]:
    """The worst level of each check."""
    found: dict[str, str] = {}
    with holdfast.Client(url, **options) as client, holdfast.Client(url, **options) as other:
        for finding in examine(client, other, b"app:doctor", kinds):
            assert finding.found
            assert finding.means
            assert finding.do
            found[finding.check] = max(
                found.get(finding.check, "good"), finding.level, key=LEVELS.index
            )
    return found


def others(found: dict[str, str], *checks: str) -> set[str]:
    return {level for check, level in found.items() if check not in checks}


def test_every_check_is_made_and_leaves_nothing_behind(run: Run, server: Server) -> None:
    done = run("doctor", "--json")
    findings = json.loads(done.stdout)["findings"]
    assert (done.returncode, done.stderr) == (0, "")
    assert [finding["check"] for finding in findings] == CHECKS
    assert {tuple(finding) for finding in findings} == {("check", "level", "found", "means", "do")}
    assert server.keys() == set()
    lines = [line.split("\t") for line in run("doctor").stdout.splitlines()]
    assert [(line[0], line[1]) for line in lines] == [(f["level"], f["check"]) for f in findings]


@pytest.mark.parametrize(
    ("settings", "check", "level"),
    [
        ({"appendonly": "yes"}, "persistence", "good"),
        ({"save": "3600 1"}, "persistence", "good"),
        ({"save": ""}, "persistence", "warning"),
        ({"maxmemory-policy": "allkeys-lru"}, "eviction policy", "bad"),
        ({"maxmemory": "1gb"}, "memory", "good"),
    ],
    ids=["file", "snapshots", "none", "eviction", "memory"],
)
def test_settings_that_matter(
    start_server: StartServer, settings: dict[str, str], check: str, level: str
) -> None:
    found = levels(start_server(settings).url, ["lock"])
    assert found[check] == level
    assert others(found, check, "persistence") == {"good"}


def test_a_server_that_is_full_is_bad_and_one_that_is_nearly_full_a_warning(
    start_server: StartServer,
) -> None:
    server = start_server()
    server.inspect.set("data", bytes(30_000_000))  # beside which connections count for nothing
    used = int(server.inspect.info("memory")["used_memory"])
    server.inspect.config_set("maxmemory", int(used * 1.05))
    assert levels(server.url, ["lock"])["memory"] == "warning"
    server.inspect.config_set("maxmemory", used // 2)
    found = levels(server.url, ["lock"])
    assert (found["memory"], found["scripts"]) == ("bad", "bad")


def test_missing_replicas_are_bad(start_server: StartServer) -> None:
    server = start_server({"min-replicas-to-write": "1", "min-replicas-max-lag": "10"})
    found = levels(server.url, ["lock"], command_timeout=0.5)
    assert found["min-replicas-to-write"] == "bad"
    assert found["scripts"] == found["pub/sub"] == "bad"


@pytest.mark.slow  # five seconds behind, or it is none
def test_a_replica_that_falls_behind_is_a_warning(start_server: StartServer) -> None:
    primary = start_server()
    replica = start_server({"replicaof": f"127.0.0.1 {primary.port}"})
    eventually(lambda: levels(primary.url, ["lock"])["replicas"] == "good", what="it follows")
    replica.pause()
    eventually(lambda: levels(primary.url, ["lock"])["replicas"] == "warning", what="it lags")
    replica.resume()


def test_a_clock_that_is_wrong_is_a_warning(start_server: StartServer, clocks: Clocks) -> None:
    server = start_server(environment=clocks.environment)
    clocks.step(wall=3600)
    found = levels(server.url, ["lock"])
    assert found["clock"] == "warning"
    assert others(found, "clock", "persistence") == {"good"}


@pytest.fixture
def user(server: Server) -> Iterator[Any]:
    """Makes a user with these rights; its URL."""

    def make(*rights: str) -> str:
        with server.connect() as connection:
            connection.execute_command("ACL", "SETUSER", "few", "reset", "on", ">secret", *rights)
        return server.url.replace("redis://", "redis://few:secret@")

    yield make
    with server.connect() as connection:
        connection.execute_command("ACL", "DELUSER", "few")


def documented_rights(kind: str) -> list[str]:
    """What the pages list: of what is built on a kind, beside the rights of that one."""
    titles = {"read_write_lock": "read-write lock", "count_down_latch": "count-down latch"}
    if kind in BUILT:
        return [*documented_rights(servers.kind_of(kind).seen_as), *rights_beside(kind)]
    return rights_of(titles.get(kind, kind.replace("_", " ")))


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
@pytest.mark.parametrize("kind", BUILT)
def test_a_missing_right_of_what_is_built_on_locks_is_named(user: Any, kind: str) -> None:
    rights = [*documented_rights(kind), "+subscribe", "+unsubscribe"]
    for missing in rights_beside(kind):
        if missing in documented_rights(servers.kind_of(kind).seen_as):
            continue
        url = user(*(one for one in rights if one != missing))
        with holdfast.Client(url) as client, holdfast.Client(url) as other:
            findings = list(examine(client, other, b"app:doctor", [kind]))
        bad = [one for one in findings if (one.check, one.level) == ("rights", "bad")]
        assert {one.means for one in bad} == {f"these kinds fail: {kind}"}, missing
        assert any(missing.partition("{")[0] in one.do for one in bad), missing


@pytest.mark.parametrize("kind", KINDS)
def test_documented_rights_are_enough_for_their_kind(user: Any, kind: str) -> None:
    messages = ("subscribe", "unsubscribe")
    rights = documented_rights(kind)
    words = "hset hdel hexists hget hgetall hlen pttl pexpire"
    lock = [*(f"+{word}" for word in words.split()), "~*", "&*"]
    found = levels(user(*rights, *(f"+{word}" for word in messages), *lock), [kind])
    assert found["rights"] == found["scripts"] == found["pub/sub"] == "good"
    assert found["eviction policy"] == found["persistence"] == "unknown"


@pytest.mark.servers("real")
@pytest.mark.parametrize(
    ("right", "check", "option", "level"),
    [
        ("wait", "WAIT", "replicas_to_wait=1", "bad"),
        ("client|info", "CLIENT", "guard=true", "warning"),
        ("client|kill", "CLIENT", "guard=true", "warning"),
        ("client|setname", "connection names", "client_name=web", "warning"),
        ("client|tracking", "tracking", "tracking=auto", "warning"),
        ("client|tracking", "tracking", "tracking=require", "bad"),
    ],
)
def test_a_command_is_judged_by_the_option_that_needs_it(
    user: Any, right: str, check: str, option: str, level: str
) -> None:
    url = user("+@all", f"-{right}", "~*", "&*")
    missing = found_by(f"{url}?{option}&command_timeout=0.5", check)
    before = " (before Redis 7: +client)" if "|" in right else ""
    assert (missing.level, missing.do) == (level, f"ACL SETUSER few +{right}{before}")
    assert right.replace("|", " ").upper() in missing.found
    without = {"tracking": "tracking=off", "connection names": "client_name="}
    assert found_by(f"{url}?{without.get(check, 'tracking=auto')}", check).level == "good"


@pytest.mark.servers("real")
def test_the_names_of_connections_say_who_holds_a_lock(server: Server) -> None:
    found = found_by(server.url, "connection names")
    assert (found.level, found.found) == ("good", "CLIENT SETNAME is allowed")
    with holdfast.Client(server.url, client_name="web") as client, client.lock("app:mine"):
        [info] = holdfast.inspect.locks(client)
    [owner] = info.owners
    assert owner.client is not None
    assert found.means.endswith("show the host and process id of an owner")
    assert owner.client.name.startswith(f"web:{socket.gethostname()}:{os.getpid()}:")


def found_by(url: str, check: str) -> Finding:
    with holdfast.Client(url) as client, holdfast.Client(url) as other:
        findings = list(examine(client, other, b"app:doctor", ["lock"]))
    assert {finding.level for finding in findings if finding.check == "rights"} == {"good"}
    [found] = [finding for finding in findings if finding.check == check]
    return found


@pytest.mark.servers("real")
def test_the_error_of_a_script_names_the_missing_right(user: Any) -> None:
    url = user("+@all", "-hset", "~*", "&*")
    with holdfast.Client(url) as client, holdfast.Client(url) as other:
        findings = {one.check: one for one in examine(client, other, b"app:doctor", ["lock"])}
        with pytest.raises(holdfast.ServerError) as caught:
            client.lock("app:mine").acquire(blocking=False)
    for check in ("scripts", "pub/sub"):
        found = findings[check]
        assert (found.level, found.do) == ("bad", "ACL SETUSER few +hset")
        assert found.found.startswith("hset is refused")
    assert "user_script" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("del", lambda client: client.fair_lock("app:mine").force_release()),
        ("hdel", lambda client: client.lock("app:mine").release()),
        ("publish", lambda client: client.lock("app:mine").release()),
        ("time", lambda client: client.permit_semaphore("app:permits", permits=1).acquire()),
    ],
    ids=["del", "hdel", "publish", "time"],
)
def test_a_command_that_was_renamed_is_named(
    start_server: StartServer, command: str, call: Callable[[holdfast.Client], object]
) -> None:
    server = start_server({f"rename-command {command.upper()}": "hidden"})
    with holdfast.Client(server.url) as client, holdfast.Client(server.url) as other:
        client.lock("app:mine").acquire()
        with pytest.raises(holdfast.ServerError, match=command.upper()) as caught:
            call(client)
        assert "rename-command" in str(caught.value)
        findings = list(examine(client, other, b"app:doctor"))
    named = [one for one in findings if one.check == "rights" and one.level == "bad"]
    assert [one.found for one in named] == [
        f"{command} is refused: the server has no command of that name"
    ]
    assert "rename-command" in named[0].do


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
def test_each_missing_right_is_named(user: Any) -> None:
    url = user("+@all", "~*", "&*", "-zadd", "-publish")
    with holdfast.Client(url) as client, holdfast.Client(url) as other:
        findings = list(examine(client, other, b"app:doctor"))
    rights = [finding for finding in findings if finding.check == "rights"]
    assert [(one.level, one.found.partition(" ")[0]) for one in rights] == [
        ("bad", "publish"),
        ("bad", "zadd"),
    ]
    assert "fair_lock, permit_semaphore, slots, barrier" in rights[1].means
    assert "+zadd" in rights[1].do


def test_messages_that_do_not_come_are_bad(user: Any) -> None:
    found = levels(user("+@all", "~*", "&*", "-subscribe"), ["lock"])
    assert (found["pub/sub"], found["scripts"], found["rights"]) == ("bad", "good", "good")


def test_a_missing_subscribe_is_named_beside_the_rights_of_scripts(user: Any) -> None:
    url = user("+@all", "~*", "&*", "-subscribe", "-evalsha", "-hexists")
    with holdfast.Client(url) as client, holdfast.Client(url) as other:
        findings = {one.check: one for one in examine(client, other, b"app:doctor", ["lock"])}
    for word in ("evalsha", "hexists", "subscribe"):
        assert f"{word} is refused" in findings["pub/sub"].found
        assert f"+{word}" in findings["pub/sub"].do
    assert "subscribe" not in findings["scripts"].found


def test_the_status_tells_of_bad_findings(user: Any, run: Run) -> None:
    done = run("--url", user("+@all", "~*", "&*", "-zadd"), "doctor")
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("days", "level"), [(-1, "bad"), (10, "warning"), (100, "good")], ids=["over", "soon", "late"]
)
def test_when_the_certificate_expires(
    start_server: StartServer, tmp_path: Path, days: int, level: str
) -> None:
    directory = make_certificates(tmp_path / "certificates", days=days)
    server = start_server(tls=directory)
    found = levels(server.url, ["lock"], tls_ca=str(directory / "ca.crt"), retries=0)
    assert found["TLS"] == level
    assert set(found) == ({"TLS"} if days < 0 else set(CHECKS))
    assert levels(server.url, ["lock"], tls_verify=False)["TLS"] == level


def test_slots_without_a_server_are_bad() -> None:
    with Cluster("redis") as cluster:
        found = levels(cluster.url, ["lock"])
        assert others(found, "persistence") == {"good"}
        cluster.servers[0].inspect.execute_command("CLUSTER", "DELSLOTS", "0")
        found = levels(cluster.url, ["lock"])
        assert found["cluster coverage"] == "bad"
        single = cluster.servers[1].url
        assert levels(single, ["lock"])["cluster coverage"] == "warning"


def test_uncovered_slots_are_a_finding_of_the_command(run: Run) -> None:
    """A primary that is down, and slots that no server has."""
    settings = {"cluster-require-full-coverage": "yes"}
    with Cluster("redis", settings, replicas=False) as cluster:
        cluster.servers[0].inspect.execute_command("CLUSTER", "DELSLOTS", "0")
        command = ["--url", f"{cluster.url}?command_timeout=1&retries=0", "doctor", "--json"]
        for name in ("b", "c", "a"):  # one of each server
            done = run(*command, "--name", name)
            assert (done.returncode, done.stderr) == (1, "")
            findings = json.loads(done.stdout)["findings"]
            found = {(one["check"], one["level"]) for one in findings}
            assert {("cluster coverage", "bad"), ("round trip", "good")} <= found
            if name == "b":
                cluster.servers[2].stop()


def test_a_server_that_wants_a_password_is_69(run: Run, start_server: StartServer) -> None:
    server = start_server(password="secret")
    done = run("--url", server.url, "doctor")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (69, "", 1)
    assert "NOAUTH" in done.stderr
    assert "give the client a password" in done.stderr


@pytest.mark.parametrize("refused", [(), ("exists",), ("exists", "pttl")], ids=" ".join)
def test_what_is_there_is_left_alone(
    run: Run, server: Server, user: Any, refused: tuple[str, ...]
) -> None:
    url = user("+@all", "~*", "&*", *(f"-{command}" for command in refused))
    server.inspect.set("text", "mine")
    server.inspect.rpush("redisson_lock_queue:{queued}", "mine")
    with holdfast.Client(server.url) as client, client.lock("held"):
        for name in ("text", "queued", "held"):
            done = run("--url", url, "doctor", "--json", "--name", name)
            findings = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
            for check in ("scripts", "pub/sub", "rights"):
                assert findings[check]["level"] == "unknown"
                assert "it was not tried" in findings[check]["means"]
                assert (name if "pttl" not in refused else "exists") in findings[check]["found"]
            assert (done.returncode, done.stderr) == (0, "")
        assert client.lock("held").locked()
    assert server.inspect.get("text") == b"mine"
    assert server.inspect.lrange("redisson_lock_queue:{queued}", 0, -1) == [b"mine"]


def test_a_lock_that_is_taken_meanwhile_is_left_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast_tools.doctor.keys_in_use", lambda *_: [])
    with holdfast.Client(server.url) as client, client.lock("app:doctor") as lock:
        found = levels(server.url, ["lock"])
        assert found["scripts"] == found["pub/sub"] == found["rights"] == "unknown"
        assert lock.locked()


REFUSED = ("hset", "evalsha", "publish", "pexpire", "zadd", "rpush", "incr", "set", "decrby")


@pytest.mark.parametrize("more", [(), ("del",), ("del", "get", "hexists")], ids=" ".join)
def test_every_refused_command_is_named_with_the_right_to_add(
    run: Run, server: Server, more: tuple[str, ...]
) -> None:
    refused = (*more, *(one for one in REFUSED if more == () or one != "set"))
    minus = [f"-{command}" for command in refused]
    server.inspect.execute_command(
        *["ACL", "SETUSER", "some", "reset", "on", ">pw", "~*", "&*", "+@all", *minus]
    )
    url = server.url.replace("redis://", "redis://some:pw@")
    done = run("--url", url, "doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    findings = [one for one in json.loads(done.stdout)["findings"] if one["check"] == "rights"]
    named = {one["found"].partition(" ")[0]: one["do"] for one in findings if one["level"] == "bad"}
    assert set(named) == set(refused)
    for command, do in named.items():
        assert f"ACL SETUSER some +{command}" in do
    eventually(lambda: server.keys() == set(), what="what the check wrote has expired")


def test_patterns_of_keys_and_channels_that_are_missing(run: Run, server: Server) -> None:
    words = ["ACL", "SETUSER", "some", "reset", "on", ">pw", "~app:*", "&other", "+@all"]
    server.inspect.execute_command(*words)
    url = server.url.replace("redis://", "redis://some:pw@")
    command = ["--url", url, "doctor", "--json", "--kind", "fair_lock", "--name", "app:x"]
    findings = json.loads(run(*command).stdout)["findings"]
    rights = {
        one["found"].partition(" ")[0]: one["do"] for one in findings if one["level"] == "bad"
    }
    assert "ACL SETUSER some '&redisson_lock__channel:{app:x}'" in rights["publish"]
    assert "ACL SETUSER some '~redisson_lock_queue:{app:x}'" in rights["rpush"]
    assert "hset" not in rights


def test_patterns_of_a_prefix_reach_no_other_names(run: Run, server: Server) -> None:
    words = ["ACL", "SETUSER", "some", "reset", "on", ">pw", "~shop:*", "&other", "+@all"]
    server.inspect.execute_command(*words)
    url = server.url.replace("redis://", "redis://some:pw@") + "?name_prefix=app:"
    command = ["--url", url, "doctor", "--json", "--kind", "fair_lock"]
    findings = json.loads(run(*command).stdout)["findings"]
    rights = {
        one["found"].partition(" ")[0]: one["do"] for one in findings if one["level"] == "bad"
    }
    assert "ACL SETUSER some '&redisson_lock__channel:{app:*'" in rights["publish"]
    assert "ACL SETUSER some '~redisson_lock_queue:{app:*'" in rights["rpush"]
    assert "ACL SETUSER some '~app:*'" in rights["hset"]
