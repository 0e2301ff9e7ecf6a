"""A step of a script, and the wait for a change of a state: what new kinds are built on."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

import holdfast
from holdfast._locks import steps, task_steps
from holdfast._locks.kinds import key_beside
from tests.contract.kinds import as_bytes
from tests.support.owners import MakeActor, MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

NAME = b"state"
STATE = key_beside("state", NAME)
CHANNEL = key_beside("changed_channel", NAME)


def once(exchange: Any) -> Any:
    """A call of this exchange alone."""
    return (yield exchange)


def drive(client: Any) -> Any:
    """What carries out calls for its flavour."""
    return partial(task_steps.drive, client) if client._asynchronous else steps.run


def run(client: Any, actor: Any, script: str, keys: list[bytes], args: Any = ()) -> Any:
    time = steps.without_limit(client._core)
    exchange = steps.step(client._core, time, script, keys, args)
    return actor.do(drive(client), once(exchange))


def begin_wait(
    server: Server, actor: Any, client: Any, known: int, timeout: float = -1.0
) -> Future[Any]:
    """Let an owner wait for another revision; returns once its client listens, or it has ended."""
    time = steps.time_of(client._core, timeout)
    exchange = steps.changes(client, NAME).wait(known, time)
    waiting: Future[Any] = actor.begin(drive(client), once(exchange))
    eventually(lambda: waiting.done() or server.subscribers(as_bytes(CHANNEL)) == 1)
    return waiting


def set_state(server: Server, **fields: Any) -> None:
    server.inspect.hset(STATE, mapping=fields)


def test_a_step_gets_its_reply(client: Any, alice: Any, server: Server) -> None:
    server.inspect.hset("lock", "owner", 1)
    server.inspect.pexpire("lock", 50_000)
    assert 0 < run(client, alice, "lock/ttl", [b"lock"]) <= 50_000
    assert run(client, alice, "lock/ttl", [b"other"]) == -2


def test_a_step_is_sent_with_its_text_where_the_server_lacks_it(
    client: Any, alice: Any, server: Server
) -> None:
    assert run(client, alice, "lock/ttl", [b"lock"]) == -2
    server.inspect.script_flush()
    assert run(client, alice, "lock/ttl", [b"lock"]) == -2


def test_a_step_publishes_as_the_topology_has_it(client: Any, alice: Any, server: Server) -> None:
    server.inspect.hset("lock", "owner", 1)
    assert run(client, alice, "lock/release", [b"lock", b"of:{lock}"], [b"owner", 0]) == 1
    assert not server.inspect.exists("lock")


def test_a_step_raises_the_error_of_the_server(client: Any, alice: Any, server: Server) -> None:
    server.inspect.set("lock", "text")
    with pytest.raises(holdfast.ServerError) as caught:
        run(client, alice, "lock/release", [b"lock", b"of:{lock}"], [b"owner", 0])
    assert caught.value.code == "WRONGTYPE"


@pytest.mark.parametrize(
    ("script", "keys", "args"),
    [("lock/none", [b"lock"], []), ("lock/ttl", [], []), ("lock/ttl", [b"lock"], [b"more"])],
)
def test_a_step_with_other_parameters_is_refused_before_anything_is_sent(
    client: Any, script: str, keys: list[bytes], args: list[object]
) -> None:
    with pytest.raises(ValueError, match=script):
        steps.step(client._core, steps.without_limit(client._core), script, keys, args)


def test_commands_get_their_replies_in_order(client: Any, alice: Any, server: Server) -> None:
    server.inspect.set("key", "value")
    words = [(b"GET", b"key"), (b"HGET", b"key", b"field"), (b"GET", b"none")]
    exchange = steps.commands(client._core, b"key", words, steps.without_limit(client._core))
    value, error, none = alice.do(drive(client), once(exchange))
    assert (value, error.code, none) == (b"value", "WRONGTYPE", None)


# ---- the revision of a state


def test_a_state_with_another_revision_is_no_wait(client: Any, alice: Any, server: Server) -> None:
    set_state(server, revision=7)
    assert begin_wait(server, alice, client, 6).result(BOUND) is True
    assert begin_wait(server, alice, client, 7, timeout=0).result(BOUND) is False


def test_a_state_that_is_not_there_has_revision_0(client: Any, alice: Any, server: Server) -> None:
    assert begin_wait(server, alice, client, 0, timeout=0).result(BOUND) is False
    assert begin_wait(server, alice, client, 5).result(BOUND) is True


def test_a_change_wakes_all_who_wait(client: Any, alice: Any, bob: Any, server: Server) -> None:
    set_state(server, revision=7)
    waiting = [begin_wait(server, actor, client, 7) for actor in (alice, bob)]
    set_state(server, revision=8)
    server.inspect.publish(CHANNEL, "8")
    assert [one.result(BOUND) for one in waiting] == [True, True]


def test_a_state_is_over_with_the_lock_of_its_owner(
    client: Any, alice: Any, server: Server
) -> None:
    server.inspect.hset(NAME, "owner", 1)
    server.inspect.pexpire(NAME, 300)
    set_state(server, revision=7, owner="owner")
    assert begin_wait(server, alice, client, 7).result(BOUND) is True
    assert not server.inspect.exists(NAME)
    assert begin_wait(server, alice, client, -7, timeout=0).result(BOUND) is False


def test_a_state_is_over_at_its_moment(client: Any, alice: Any, server: Server) -> None:
    seconds, micros = server.inspect.time()
    set_state(server, revision=7, until=seconds * 1000 + micros // 1000 + 300)
    assert begin_wait(server, alice, client, 7).result(BOUND) is True
    assert begin_wait(server, alice, client, -7, timeout=0).result(BOUND) is False


def test_a_wait_sends_nothing_while_nothing_changes(
    client: Any, alice: Any, server: Server
) -> None:
    set_state(server, revision=7)
    waiting = begin_wait(server, alice, client, 7)
    before = server.scripts_run()
    assert not waiting.done()
    set_state(server, revision=8)
    server.inspect.publish(CHANNEL, "8")
    assert waiting.result(BOUND) is True
    assert before is None or server.scripts_run() - before <= 2


def test_a_state_has_the_prefix_of_its_client(
    make_client: MakeClient, make_actor: MakeActor, server: Server
) -> None:
    client = make_client(server.url, name_prefix="app:")
    server.inspect.hset("holdfast_state:{app:state}", "revision", 7)
    assert steps.keys_of(client, NAME).state == b"holdfast_state:{app:state}"
    assert begin_wait(server, make_actor(), client, 6).result(BOUND) is True
