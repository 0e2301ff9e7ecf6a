"""What a guard knows of its program's servers when the program dies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers("real")

NAME = "myLock"
RIGHTS = ("on", "+@all", "~*", "&*")

HOLDER = """
client = holdfast.Client(URL, guard=True, lease=120, password=lambda: ("app", GIVEN[-1]))
lock = client.lock(NAME)
lock.acquire()
say("held", client._core.guard_pid)
while True:
    exec(hear())
"""


def test_credentials_that_came_while_the_guard_was_stopped_are_known(
    start_child: StartChild, private_server: Server
) -> None:
    """missing-guard."""
    inspect = private_server.inspect
    inspect.execute_command("ACL", "SETUSER", "app", *RIGHTS, ">old")
    child = start_child(f"GIVEN = ['old']\n{HOLDER}", URL=private_server.url, NAME=NAME)
    guard = int(child.expect("held")[0])
    child.send(f"os.kill({guard}, signal.SIGSTOP)")
    # Each is a new connection, of which the guard has to know.
    for _ in range(500):
        child.send("client.ping(); say('connected', client._core.guard_pid)")
        child.expect("connected")
        inspect.execute_command("CLIENT", "KILL", "USER", "app", "TYPE", "normal")
    inspect.execute_command("ACL", "SETUSER", "app", "resetpass", ">new")
    child.send("GIVEN.append('new'); client.ping(); say('guarded', client.stats().guarded)")
    assert child.expect("guarded") == ["True"]
    child.send(f"os.kill({guard}, signal.SIGCONT); say('on')")
    child.expect("on")
    child.kill()
    eventually(lambda: not inspect.exists(NAME))


def test_the_connection_of_another_program_is_left_alone_that_has_the_number_by_now(
    start_child: StartChild, private_server: Server
) -> None:
    """killed-process."""
    program = f"GIVEN = ['']\n{HOLDER}".replace(', password=lambda: ("app", GIVEN[-1])', "")
    child = start_child(program, URL=private_server.url, NAME=NAME)
    child.expect("held")
    [number] = [int(each["id"]) for each in private_server.connections() if "eval" in each["cmd"]]
    child.pause()
    private_server.restart(keep_data=True)
    others: list[Any] = []
    while not others or others[-1].client_id() < number:
        others.append(private_server.connect(single_connection_client=True))
    assert number in {other.client_id() for other in others}
    child.kill()
    eventually(lambda: not private_server.inspect.exists(NAME))
    assert number in {int(each["id"]) for each in private_server.connections()}
    for other in others:
        other.close()
