"""What the semaphore and the latch have in common: names, objects, clients."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from tests.contract.kinds import Name, Synchronizer, as_bytes
from tests.contract.test_names import NAMES
from tests.contract.test_objects import COPIES
from tests.support.owners import MakeClient
from tests.support.servers import Server


@pytest.mark.values("name", NAMES.values(), ids=NAMES.keys())
def test_the_name_is_the_key_and_makes_the_channel(
    alice: Any, client: Any, server: Server, synchronizer: Synchronizer, name: Name
) -> None:
    with server.listening(synchronizer.channel(name)) as messages:
        assert alice.do(synchronizer.begin, synchronizer.make(client, name)) is True
        assert messages.received() == [b"1"]
    assert server.inspect.get(name) == b"1"
    assert server.inspect.pttl(name) == -1


def test_all_else_that_is_left_on_the_server_ends_by_itself(
    alice: Any, client: Any, server: Server, synchronizer: Synchronizer
) -> None:
    alice.do(synchronizer.begin, synchronizer.make(client, "it"))
    others = server.keys() - {b"it"}
    assert all(key.startswith(b"redisson_request:{it}:") for key in others)
    assert all(0 < server.inspect.pttl(key) <= 20_000 for key in others)


def test_a_prefix_is_put_before_the_name(
    alice: Any, make_client: MakeClient, server: Server, synchronizer: Synchronizer
) -> None:
    client = make_client(name_prefix="app:")
    with server.listening(synchronizer.channel("app:it")) as messages:
        alice.do(synchronizer.begin, synchronizer.make(client, "it"))
        assert messages.received() == [b"1"]
    assert server.inspect.get("app:it") == b"1"


def test_text_and_its_bytes_are_one_name(
    alice: Any, client: Any, synchronizer: Synchronizer
) -> None:
    name = "Schlüssel"
    assert alice.do(synchronizer.begin, synchronizer.make(client, name)) is True
    assert alice.do(synchronizer.begin, synchronizer.make(client, as_bytes(name))) is False


def test_the_constructor_sends_nothing(deaf: Any, synchronizer: Synchronizer) -> None:
    it = synchronizer.make(deaf, "it")
    assert it.name == "it"
    assert repr(it) == f"<{synchronizer.class_name} 'it'>"


@pytest.mark.values("name", [None, 7, 1.5, ["a"], bytearray(b"a")], ids=repr)
def test_names_of_a_wrong_type(deaf: Any, synchronizer: Synchronizer, name: Any) -> None:
    with pytest.raises(TypeError, match="name"):
        synchronizer.make(deaf, name)


@pytest.mark.values("name", ["", b"", "\ud800"], ids=["empty", "no bytes", "surrogate"])
def test_names_that_cannot_be(deaf: Any, synchronizer: Synchronizer, name: Any) -> None:
    with pytest.raises(ValueError, match="name"):
        synchronizer.make(deaf, name)


@pytest.mark.values("how", COPIES.values(), ids=COPIES.keys())
def test_copies_are_refused(client: Any, synchronizer: Synchronizer, how: Any) -> None:
    with pytest.raises(TypeError, match=synchronizer.class_name):
        how(synchronizer.make(client, "it"))


def test_a_closed_client_is_an_error(alice: Any, client: Any, synchronizer: Synchronizer) -> None:
    it = synchronizer.make(client, "it")
    alice.do(client.close)
    with pytest.raises(holdfast.ConnectionError, match="closed"):
        alice.do(synchronizer.begin, it)


def test_a_key_of_another_type_stays_as_it_was(
    alice: Any, client: Any, server: Server, synchronizer: Synchronizer
) -> None:
    server.inspect.hset("a hash", "field", "untouched")
    it = synchronizer.make(client, "a hash")
    for call in (synchronizer.begin, lambda it: it.delete()):
        with pytest.raises(holdfast.ServerError, match="WRONGTYPE"):
            alice.do(call, it)
    assert server.inspect.hgetall("a hash") == {b"field": b"untouched"}
