"""``ls`` and ``show`` print what the contract says, and nothing else."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import pytest

import holdfast
from holdfast import inspect
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually
from tests.tools.cli.conftest import COMMAND, Run, environment

pytestmark = pytest.mark.servers("redis")


def test_ls_prints_the_same_as_the_module(run: Run, client: holdfast.Client) -> None:
    with client.lock("order:1", lease=60), client.read_write_lock("user", lease=60).read:
        eventually(lambda: client.stats().tracked == 2)  # by the connection that renews
        [order, user] = inspect.locks(client)
        done = run("ls", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        printed = json.loads(done.stdout)
        assert [(one["name"], one["kind"]) for one in printed] == [
            ("order:1", "lock"),
            ("user", "read_write_lock"),
        ]
        for one, info in zip(printed, (order, user), strict=True):
            assert one | {"ttl": 0} == info.to_json() | {"ttl": 0}
        assert [one["name"] for one in json.loads(run("ls", "user", "--json").stdout)] == ["user"]


def test_other_programs_get_a_line_for_each_lock(run: Run, client: holdfast.Client) -> None:
    with client.lock("a\tb", lease=60):
        [line] = run("ls").stdout.splitlines()
        name, kind, owner, holds, left, waiters, since = line.split("\t")
        assert (name, kind, holds, waiters) == ("a\\x09b", "lock", "1", "0")
        assert owner == f"{socket.gethostname()}:{os.getpid()} orders"
        assert (left[-2:], since) == (" s", "")
    assert run("ls").stdout == ""
    assert run("ls", "--json").stdout == "[]\n"


@pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning")
def test_ls_is_sorted_and_finds_owners(run: Run, server: Server) -> None:
    with holdfast.Client(server.url, label="Billing") as client:
        client.lock("b", lease=60).acquire()
        client.lock("a", lease=600, label="invoices of May").acquire()
        client.read_write_lock("c", lease=6000).read.acquire()

        def listed(*options: str) -> str:
            printed = json.loads(run("ls", "--json", *options).stdout)
            return "".join(one["name"] for one in printed)

        assert listed() == listed("--sort", "name") == "abc"
        assert listed("--sort", "left") == "bac"
        for name, since, said in (("c", 10**9, ""), ("a", 15 * 10**8, "invoices of May")):
            [owner] = [one for one in server.inspect.hkeys(name) if one != b"mode"]
            field = owner.partition(b":")[2] + b":" + name.encode()
            server.inspect.hset(f"holdfast:client:{client.id}", field, f"{since * 1000} {said}")
        assert listed("--sort", "age") == "cab"
        assert listed("--older-than", "1d") == listed("--older-than", "90") == "ac"
        assert listed("--older-than", f"{(time.time() - 1_400_000_000) / 3600}h") == "c"
        assert listed("--older-than", "900000d") == ""
        with holdfast.Client(server.url) as other, ThreadPoolExecutor() as threads:
            waiting = threads.submit(other.lock("b", lease=60).acquire, timeout=BOUND)
            eventually(lambda: listed("--sort", "waiters") == "bac")
            client.lock("b").force_release()
            assert waiting.result(BOUND)
            assert listed("--owner", f":{os.getpid()}") == "abc"
            assert listed("--owner", "billing") == "ac"
            assert listed("--owner", "of may") == "a"
            assert listed("--owner", other.id) == "b"
            assert listed("--owner", "none of them") == ""


PERSONS = """
import os, pty, struct, fcntl, termios, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
columns = int(os.environ["WIDTH"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
try:
    while part := os.read(fd, 4096):
        os.write(1, part)
except OSError:
    pass
"""


def on_terminal(server: Server, *command: str, columns: int = 120) -> list[str]:
    """The lines on a terminal of that width."""
    settings = environment(TERM="xterm", WIDTH=str(columns))
    done = subprocess.run(
        [sys.executable, "-c", PERSONS, *COMMAND, "--url", server.url, *command],
        capture_output=True, text=True, check=True, env=settings,
    )  # fmt: skip
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", done.stdout).splitlines()


def test_people_see_what_is_built_on_locks(run: Run, client: holdfast.Client) -> None:
    slots = client.slots("gpus", ["gpu0", "gpu1"], lease=60)
    with client.leader("cron", value="10.0.0.7:9000", lease=60) as leader, slots:
        lines = run("ls").stdout.splitlines()
        assert [line.split("\t")[:2] for line in lines] == [["cron", "leader"], ["gpus", "slots"]]
        assert lines[1].split("\t")[2].endswith(" orders (slot gpu0)")
        shown = run("show", "cron").stdout
        assert "\nkind\tleader\n" in shown
        assert f"\ntoken\t{leader.token}\nvalue\t10.0.0.7:9000\n" in shown
        shown = run("show", "gpus").stdout
        assert re.search(r"^owner\t.* orders [0-9a-f]{32} .*, has slot gpu0$", shown, re.MULTILINE)
        assert "\npermits\t1 free of 2 in all\n" in shown


def test_names_stand_on_one_line_beside_long_owners(server: Server) -> None:
    name = "invoices:2026:customer-4711"
    label = "billing worker 3 of the second data centre"
    with (
        holdfast.Client(server.url, label=label) as client,
        client.lock(name, lease=60),
        client.permit_semaphore("throttle", permits=1, lease=60),
    ):
        lines = on_terminal(server, "ls")
        assert any(line.startswith(f"{name} ") for line in lines)
        assert any("billing worker 3 " in line for line in lines)
        assert lines[0].rstrip().endswith("WAITERS")


def test_a_lock_is_one_line_of_a_terminal(
    server: Server, client: holdfast.Client, other: holdfast.Client
) -> None:
    name = "invoices:2026:customer-4711"
    permits = client.permit_semaphore("throttle", lease=60)
    permits.try_set_permits(3)
    both = client.read_write_lock(name, lease=60).read, other.read_write_lock(name, lease=60).read
    with both[0], both[0], both[1], permits:
        lines = on_terminal(server, "ls")
    process = f"{socket.gethostname()}:{os.getpid()}"
    rows = [line.split() for line in lines if name in line or "throttle" in line]
    assert [row[0] for row in rows] == [name, "throttle"]
    assert len(lines) <= 5
    assert f"{process} orders (read) and 1 more" in lines[-2]
    assert rows[0][-4] == "3"  # holds, before "59.9 s" and no waiter
    assert not re.search("[0-9a-f]{8}-[0-9a-f]{4}", "".join(lines))


@pytest.mark.parametrize("columns", [80, 50])
def test_a_narrow_terminal_cuts_no_owner(server: Server, columns: int) -> None:
    """It says who holds what for how long, in more lines."""
    with (
        holdfast.Client(server.url, label="billing worker 3") as client,
        client.lock("night:17:invoices of a customer", lease=60, label="run of Monday"),
    ):
        lines = on_terminal(server, "ls", columns=columns)
    words = " ".join(lines).split()
    assert max(map(len, lines)) <= columns
    assert {"billing", "worker", "3", "on", "run", "of", "Monday", "customer"} <= {*words}
    assert "HELD" in words
    assert len(lines) < 16


def test_show_has_an_owner_s_program_first_and_its_id(run: Run, client: holdfast.Client) -> None:
    process = f"{socket.gethostname()}:{os.getpid()}"
    with client.read_write_lock("demo", lease=60).read:
        shown = run("show", "demo").stdout
        assert re.search(
            rf"^owner\t{process} orders {client.id}:\d+ 127\S+.*, reads, holds 1$",
            shown,
            re.MULTILINE,
        )


def test_show_says_which_permits_are_free_and_which_are_all(
    run: Run, client: holdfast.Client
) -> None:
    permits = client.permit_semaphore("throttle", lease=60)
    permits.try_set_permits(5)
    with permits, permits:
        assert "\npermits\t3 free of 5 in all\n" in run("show", "throttle").stdout
    client.semaphore("slots").try_set_permits(2)
    assert "\npermits\t2 free\n" in run("show", "slots", "--kind", "semaphore").stdout


def test_show_tells_by_its_status_whether_it_is_held(run: Run, client: holdfast.Client) -> None:
    with client.fenced_lock("demo", lease=60) as lock:
        done = run("show", "demo", "--json")
        assert done.returncode == 0
        assert json.loads(done.stdout)["token"] == lock.token
        assert f"token\t{lock.token}\n" in run("show", "demo").stdout
    done = run("show", "demo", "--json")
    assert (done.returncode, done.stdout, done.stderr) == (1, "null\n", "")
    assert (run("show", "demo").returncode, run("show", "demo").stdout) == (1, "")


def test_show_does_not_call_a_number_what_it_may_not_be(run: Run, client: holdfast.Client) -> None:
    client.count_down_latch("steps").try_set_count(2)
    done = run("show", "steps")
    assert "kind\tsemaphore or latch\nleft" in done.stdout
    assert "\nnumber\t2\n" in done.stdout
    assert (done.returncode, "permits" in done.stdout) == (0, False)
    assert "\ncount\t2\n" in run("show", "steps", "--kind", "count_down_latch").stdout


def test_names_are_the_bytes_of_the_command_line(run: Run, client: holdfast.Client) -> None:
    for name in (b"\xff\xfe", b"-x", b"--json"):
        with client.lock(name, lease=60):
            done = run("show", "--json", "--", name)
            assert done.returncode == 0
            assert json.loads(done.stdout)["key"] == inspect.locks(client)[0].key
            assert [one["kind"] for one in json.loads(run("ls", "--json", "--", name).stdout)] == [
                "lock"
            ]


def shown_moment(at: float | None) -> str:
    return datetime.fromtimestamp(at or 0, timezone.utc).isoformat(" ", "seconds")


def test_a_label_and_a_purpose_are_shown(run: Run, server: Server) -> None:
    with holdfast.Client(server.url, label="billing worker 3") as client:
        lock = client.lock("invoices", label="nightly run", lease=60)
        with lock:
            eventually(lambda: lock.holders()[0].label)
            [line] = run("ls").stdout.splitlines()
            program = f"{socket.gethostname()}:{os.getpid()}"
            assert line.split("\t")[2] == f"billing worker 3 on {program} for nightly run"
            assert line.split("\t")[6] == shown_moment(lock.holders()[0].since)
            shown = dict(
                each.split("\t", 1) for each in run("show", "invoices").stdout.splitlines()
            )
            assert (shown["label"], shown["purpose"]) == ("billing worker 3", "nightly run")
            assert re.fullmatch(
                rf"{re.escape(line.split(chr(9))[6])}, for \d+\.\d s", shown["since"]
            )
            assert re.fullmatch(r"connected, its lease ends in 5\d\.\d s", shown["client"])
            [owner] = json.loads(run("show", "invoices", "--json").stdout)["owners"]
            assert (owner["label"], owner["purpose"]) == ("billing worker 3", "nightly run")
    assert server.keys() == set()


def test_a_hold_that_its_client_has_not_noted_is_said_to_be_young(
    run: Run, server: Server, client: holdfast.Client
) -> None:
    """Not of a waiter, which is not noted."""
    about = {"started": 1, "within": 2000}
    with client.lock("young", lease=60), client.lock("queued", lease=60):
        server.inspect.hset(f"holdfast:client:{client.id}", mapping=about)
        waiter = server.inspect.hkeys("queued")[0].partition(b":")[0] + b":99"
        server.inspect.rpush("redisson_lock_queue:{queued}", waiter)
        found = {one["name"]: one["owners"] for one in json.loads(run("ls", "--json").stdout)}
        told = {name: (one["since"], one["within"]) for name, [one] in found.items()}
        assert told == {"queued": (None, 2.0), "young": (None, 2.0)}
        lines = {line.split("\t")[0]: line.split("\t")[6] for line in run("ls").stdout.splitlines()}
        assert lines == {"queued": "< 2 s", "young": "< 2 s"}
        shown = dict(line.split("\t", 1) for line in run("show", "young").stdout.splitlines())
        assert shown["since"] == "less than 2 s ago"
        [queued] = json.loads(run("show", "queued", "--json").stdout)["queue"]
        assert (queued["since"], queued["within"]) == (None, None)
