"""Of what no lock of locks can be made: refused before anything is sent."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
import holdfast.asyncio
from tests.support.actors import Flavour
from tests.support.owners import MakeClient

Make = Callable[..., Any]


@pytest.fixture(params=["MultiLock", "RedLock"])
def make(request: pytest.FixtureRequest, deaf: Any, flavour: Flavour) -> Make:
    """Makes a lock of locks."""
    if request.param == "MultiLock":
        return deaf.multi_lock
    module = importlib.import_module("holdfast.asyncio" if flavour.asyncio else "holdfast")
    return module.RedLock


def test_of_nothing(make: Make) -> None:
    with pytest.raises(ValueError, match="at least one"):
        make()


def test_a_member_twice(make: Make, deaf: Any) -> None:
    with pytest.raises(ValueError, match=r"'a'.*twice"):
        make(deaf.lock("a"), deaf.lock("b"), deaf.lock(b"a"))


def test_one_name_of_two_clients_is_two_members(
    make: Make, deaf: Any, make_client: MakeClient
) -> None:
    other = make_client("redis://127.0.0.1:1")
    assert make(deaf.lock("a"), other.lock("a")).name == "a"


@pytest.mark.values("thing", [None, "a", 7, object], ids=repr)
def test_what_is_no_lock(make: Make, deaf: Any, thing: Any) -> None:
    with pytest.raises(TypeError, match=type(thing).__name__):
        make(deaf.lock("a"), thing)


def test_a_lock_of_locks(make: Make, deaf: Any) -> None:
    inner = make(deaf.lock("a"))
    with pytest.raises(TypeError, match=type(inner).__name__):
        make(deaf.lock("b"), inner)


def test_members_of_the_other_flavour(make: Make, deaf: Any, flavour: Flavour) -> None:
    module = holdfast if flavour.asyncio else holdfast.asyncio
    stranger = module.Client("redis://127.0.0.1:1").lock("b")
    with pytest.raises(TypeError, match="asyncio"):
        make(deaf.lock("a"), stranger)


def test_members_of_a_closed_client(alice: Any, make: Make, deaf: Any, flavour: Flavour) -> None:
    closed = flavour.client("redis://127.0.0.1:1")
    lock = closed.lock("b")
    alice.do(closed.close)
    with pytest.raises(holdfast.ConnectionError, match=r"'b'.*closed"):
        make(deaf.lock("a"), lock)
