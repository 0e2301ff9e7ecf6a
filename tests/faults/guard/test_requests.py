"""What a program has requested, and has not learned of, when it dies."""

from __future__ import annotations

import pytest

import holdfast
from tests.faults.guard.conftest import StartProgram
from tests.support.proxy import FaultProxy
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

NAME = "myPermits"


@pytest.mark.parametrize("lease", [None, 120.0], ids=["renewed", "leased"])
def test_all_permits_of_a_request_without_an_answer_are_given_back(
    start_program: StartProgram, next_owner: holdfast.Client, server: Server, lease: float | None
) -> None:
    """killed-process."""
    permits = next_owner.permit_semaphore(NAME)
    permits.try_set_permits(4)
    permits.release_many(permits.acquire_many(1))  # the server knows the scripts from now on
    with FaultProxy(server.port) as proxy:
        program = start_program("another", url=proxy.url)
        proxy.deafen()
        program.do(f"client.permit_semaphore({NAME!r}).acquire_many(3, lease={lease})")
        eventually(lambda: permits.acquired_permits() == 3)
        program.kill()
        proxy.heal()
        eventually(lambda: permits.available_permits() == 4, BOUND)


def test_all_permits_of_several_are_given_back(
    start_program: StartProgram, next_owner: holdfast.Client
) -> None:
    permits = next_owner.permit_semaphore(NAME)
    permits.try_set_permits(4)
    program = start_program()
    program.do(f"client.permit_semaphore({NAME!r}).acquire_many(3); say('acquired')")
    program.child.expect("acquired")
    program.kill()
    eventually(lambda: permits.available_permits() == 4, BOUND)
