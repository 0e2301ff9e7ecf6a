"""The tools show which holds a guard releases."""

from __future__ import annotations

import pytest

import holdfast
from holdfast import inspect
from tests.faults.guard.conftest import StartProgram
from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers("valkey")  # Redis 7.0 does not know CLIENT SETINFO

GUARDED = "holdfast(guard)"


def connections(server: Server, library: str) -> list[int]:
    """The numbers of the connections of a library."""
    listed = server.inspect.client_list()
    return [int(each["id"]) for each in listed if each.get("lib-name") == library]


def test_the_library_of_a_guarded_owner_says_so(
    server: Server, start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    program = start_program("guarded")
    eventually(lambda: connections(server, "holdfast"), what="its connection for renewals")
    [calls] = connections(server, GUARDED)
    server.inspect.client_kill_filter(_id=str(calls))
    program.do("client.ping()")  # its connection for calls is the newest from now on
    eventually(lambda: connections(server, GUARDED) not in ([], [calls]))
    next_owner.lock("free").acquire()
    clients = {info.name: info.owners[0].client for info in inspect.locks(next_owner)}
    libraries = {name: client and client.library for name, client in clients.items()}
    version = holdfast.__version__
    assert libraries == {"guarded": f"{GUARDED} {version}", "free": f"holdfast {version}"}
