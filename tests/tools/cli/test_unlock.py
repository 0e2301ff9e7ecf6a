"""``unlock`` asks before it releases by force, and its status says what came of it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from collections.abc import Callable

import pytest

import holdfast
from holdfast import inspect
from tests.support.servers import Server
from tests.tools.cli.conftest import BOUND, COMMAND, Run, environment

pytestmark = [
    pytest.mark.servers("redis"),
    pytest.mark.filterwarnings("ignore:.* was closed while it held:ResourceWarning"),
]


def answer(
    server: Server, text: str, *command: str, meanwhile: Callable[[], object] | None = None
) -> tuple[int, str]:
    """Type an answer on a terminal; the status and what was shown.

    ``meanwhile``: called between the question and the answer.
    """
    controller, terminal = pty.openpty()
    if meanwhile is None:
        os.write(controller, text.encode())
    process = subprocess.Popen(
        [*COMMAND, "--url", server.url, *(command or ("unlock", "demo"))],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment(),
    )
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(controller, 4096):
            shown += piece
            if meanwhile is not None and b"[y/n]" in shown:
                meanwhile()
                meanwhile = None
                os.write(controller, text.encode())
    except OSError:  # the other side has ended
        pass
    finally:
        os.close(controller)
    return process.wait(BOUND), shown.decode()


def test_without_a_terminal_it_refuses_without_yes(run: Run, client: holdfast.Client) -> None:
    client.lock("demo", lease=60).acquire()
    done = run("unlock", "demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "holdfast: 'demo' stays locked: there is no terminal for the question; use --yes\n"
    )
    assert inspect.lock(client, "demo") is not None
    done = run("unlock", "demo", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("'demo' was released by force; held by ")
    assert f" {client.id}:" in done.stdout
    assert inspect.lock(client, "demo") is None
    assert run("unlock", "demo", "--yes").returncode == 1


def test_show_tells_who_has_done_it(run: Run, client: holdfast.Client) -> None:
    client.lock("demo", lease=60).acquire()
    found = inspect.lock(client, "demo")
    assert found is not None
    assert run("unlock", "demo", "--yes").returncode == 0
    done = run("show", "demo")
    assert (done.returncode, done.stderr) == (1, "")
    [forced] = done.stdout.splitlines()
    assert re.fullmatch(
        r"forced\tat 20\S+ \S+ by user 'default', connection holdfast:\S+ 127\.0\.0\.1:\d+, "
        rf"held by {found.owners[0].id}",
        forced,
    )
    assert run("show", "demo", "--json").stdout == "null\n"
    with client.lock("other", lease=60).hold():
        assert "forced" not in run("show", "other").stdout
    with client.lock("demo", lease=60).hold():
        done = run("show", "demo")
        assert done.returncode == 0
        assert forced in done.stdout
        [shown] = json.loads(run("show", "demo", "--json").stdout)["forced"]
        assert shown["owners"] == [found.owners[0].id]


def test_on_a_terminal_it_asks(server: Server, client: holdfast.Client) -> None:
    client.lock("demo", lease=60).acquire()
    for text in ("n\n", "\n", "\x04"):
        status, shown = answer(server, text)
        assert status == 2, shown
        assert "'demo' is held by " in shown
        assert f"{client.id}:" in shown
        assert inspect.lock(client, "demo") is not None
    status, shown = answer(server, "y\n")
    assert status == 0, shown
    assert inspect.lock(client, "demo") is None


def test_an_owner_that_it_has_not_asked_about_keeps_the_lock(
    server: Server, client: holdfast.Client, other: holdfast.Client
) -> None:
    lock = client.lock("demo", lease=60)
    lock.acquire()

    def pass_on() -> None:
        lock.release()
        other.lock("demo", lease=60).acquire()

    status, shown = answer(server, "y\n", meanwhile=pass_on)
    assert status == 2
    flat = " ".join(shown.split())
    assert "'demo' stays locked: it is held by " in flat
    assert f"{other.id}:" in flat
    assert inspect.lock(client, "demo") is not None
    status, shown = answer(server, "y\n", meanwhile=other.lock("demo").force_release)
    assert (status, "released by its owner meanwhile" in " ".join(shown.split())) == (1, True)
    other.lock("demo", lease=60).acquire()
    assert answer(server, "y\n", meanwhile=lambda: None)[0] == 0


def test_it_shows_what_is_at_stake(server: Server) -> None:
    with holdfast.Client(server.url, label="billing") as client:
        client.lock("demo", lease=60, label="invoices of May").acquire()
        status, shown = answer(server, "n\n")
        assert status == 2
        flat = " ".join(shown.split())
        assert "labelled 'billing', for 'invoices of May', since 20" in flat
        assert "The owner may still be at work" in flat
        assert "0 wait for it" in flat
        client.permit_semaphore("many", permits=3).acquire_many(2)
        status, shown = answer(server, "y\n", "unlock", "many")
        assert status == 0
        flat = " ".join(shown.split())
        assert "All 2 permits in use are released" in flat
        assert "2 permits of 'many' were released by force" in flat


def test_a_name_is_taken_as_ls_writes_it(run: Run, client: holdfast.Client) -> None:
    for raw, text in ((b"a\tb", r"a\x09b"), (b"\xff1", r"\xff1")):
        client.lock(raw, lease=60).acquire()
        assert run("ls").stdout.startswith(f"{text}\t")
        assert run("show", text).returncode == 0
        assert run("unlock", text, "--yes").returncode == 0
        assert run("show", text).returncode == 1
        assert run("show", raw).returncode == 1
    for raw in (rb"c\x09d", b"c\td"):
        client.lock(raw, lease=60).acquire()
    assert run("unlock", r"c\x09d", "--yes").returncode == 0
    assert inspect.lock(client, rb"c\x09d") is None, "the literal name comes first"
    assert inspect.lock(client, b"c\td") is not None


def test_what_is_no_lock_is_left_alone(run: Run, server: Server, client: holdfast.Client) -> None:
    client.semaphore("permits").try_set_permits(2)
    with server.connect() as connection:
        connection.hset("hash", "field", "value")
    keys = server.keys()
    for name in ("permits", "hash"):
        done = run("unlock", name, "--yes")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"holdfast: '{name}' is ")
        assert done.stderr.count("\n") == 1
    assert server.keys() == keys
