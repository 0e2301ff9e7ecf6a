"""Locks and clients as Python objects."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.conftest import Stage

COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.values("how", COPIES.values(), ids=COPIES.keys())
def test_copies_are_refused(stage: Stage, how: Callable[[Any], Any]) -> None:
    for thing in (stage.lock(), stage.default_client):
        with pytest.raises(TypeError, match=type(thing).__name__):
            how(thing)


def test_weak_references(stage: Stage) -> None:
    lock = stage.lock()
    seen = weakref.ref(lock), weakref.ref(stage.default_client)
    assert seen[0]() is lock
    assert seen[1]() is stage.default_client
    del lock
    gc.collect()
    assert seen[0]() is None


def test_a_lock_keeps_its_client(alice: Any, stage: Stage) -> None:
    lock = stage.lock(stage.flavour.client(stage.server.url))
    gc.collect()
    assert alice.do(lock.acquire)
    alice.do(lock.release)


def test_a_hold_outlives_the_lock_object(alice: Any, stage: Stage) -> None:
    assert alice.do(lambda: stage.lock().acquire())
    gc.collect()
    assert alice.do(lambda: stage.lock().hold_count()) == 1
    alice.do(lambda: stage.lock().release())
    assert stage.all_keys() == set()
