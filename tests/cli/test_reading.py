"""``ls`` and ``show`` print what the contract says, and nothing else."""

from __future__ import annotations

import json

import pytest

import holdfast
from holdfast import inspect
from tests.cli.conftest import Run
from tests.support.waiting import eventually

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
        name, kind, owner, holds, left, waiters = line.split("\t")
        assert (name, kind, holds, waiters) == ("a\\x09b", "lock", "1", "0")
        assert owner.startswith(f"{client.id}:")
        assert left.endswith(" s")
    assert run("ls").stdout == ""
    assert run("ls", "--json").stdout == "[]\n"


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
