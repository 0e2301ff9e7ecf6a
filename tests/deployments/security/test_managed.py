"""Servers that refuse what a managed service refuses, or are too old to know it.

Nothing but scripts, their commands and pub/sub is needed: no CONFIG, no INFO, no CLIENT, no WAIT.
"""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.kinds import KINDS, Kind
from tests.support.fixtures import StartServer
from tests.support.owners import MakeClient
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

NAME = "myLock"
REFUSED = (
    *("bgsave", "client", "cluster", "command", "config", "debug", "hello", "info", "keys"),
    *("latency", "module", "monitor", "object", "psync", "replicaof", "role", "scan", "shutdown"),
    *("slowlog", "wait"),
)
SECRET = "hunter2"


@pytest.fixture
def managed(private_server: Server) -> str:
    """The URL of a user of a server without administrative commands."""
    rights = ["~*", "&*", "+@all", "-@admin", "-@dangerous", *(f"-{word}" for word in REFUSED)]
    words = ["on", f">{SECRET}", *rights]
    private_server.inspect.execute_command("ACL", "SETUSER", "app", *words)
    return private_server.url.replace("redis://", f"redis://app:{SECRET}@")


@pytest.fixture
def owners(alice: Any, bob: Any) -> tuple[Any, Any]:
    return alice, bob


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_every_kind_works(
    kind: Kind, owners: tuple[Any, Any], make_client: MakeClient, managed: str,
    private_server: Server,
) -> None:  # fmt: skip
    alice, bob = owners
    mine, theirs = (kind.make(make_client(managed), NAME) for _ in range(2))
    rival = kind.make_rival(make_client(managed), NAME) if kind.make_rival else theirs
    alice.do(mine.acquire)
    waiting = bob.begin(rival.acquire)
    eventually(lambda: not kind.listens or private_server.subscribed_channels())
    alice.do(mine.release)
    assert waiting.result(BOUND) is True
    bob.do(rival.release)
    denied = private_server.inspect.execute_command("ACL", "LOG")
    # The name of a connection is refused without harm.
    objects = [entry[entry.index(b"object") + 1] for entry in denied]
    denied = [each for each in objects if b"client" not in each]
    assert denied == [], denied


def test_what_needs_more_says_so(alice: Any, make_client: MakeClient, managed: str) -> None:
    """An option that needs a command which is refused: its error names the command."""
    waiting = make_client(managed, replicas_to_wait=1)
    with pytest.raises(holdfast.ServerError, match="WAIT") as refused:
        alice.do(waiting.lock(NAME).acquire)
    assert refused.value.code == "NOPERM"


def test_a_name_that_is_refused_does_no_harm(
    alice: Any, make_client: MakeClient, managed: str
) -> None:
    assert alice.do(make_client(managed, client_name="payments").ping) is True


def test_commands_that_are_not_there(
    alice: Any, make_client: MakeClient, start_server: StartServer, tmp_path: Any
) -> None:
    """Renamed away, as before there were access lists."""
    without = tmp_path / "without.conf"
    without.write_text("".join(f'rename-command {word} ""\n' for word in REFUSED))
    server = start_server({"include": str(without)})
    lock = make_client(server.url).lock(NAME)
    assert alice.do(lock.acquire)
    assert alice.do(lock.owned) is True
    alice.do(lock.release)
