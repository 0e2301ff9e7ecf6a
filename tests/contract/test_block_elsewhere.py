"""A block that ends in another thread or task than it began in says where its hold is."""

from __future__ import annotations

import re
from typing import Any

import pytest

import holdfast
from tests.contract.conftest import Stage
from tests.support.losses import entered, left


def test_the_error_names_the_owner_and_what_to_use(alice: Any, bob: Any, stage: Stage) -> None:
    lock = stage.lock()
    alice.do(lambda: entered(lock))
    word = "task" if stage.flavour.asyncio else "thread"
    with pytest.raises(holdfast.NotOwnedError, match=re.escape("use lock.hold()")) as caught:
        bob.do(lambda: left(lock))
    assert f"is held by another block, in {word} '" in str(caught.value)
    alice.do(lambda: left(lock))


def test_a_block_of_a_lock_that_no_owner_holds_is_only_not_owned(alice: Any, stage: Stage) -> None:
    lock = stage.lock()
    with pytest.raises(holdfast.NotOwnedError) as caught:
        alice.inside(lock, lambda _: lock.release())
    assert "another block" not in str(caught.value)
