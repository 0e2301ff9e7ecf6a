"""A native method of a lock that is called with the wrong number of arguments."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from holdfast import _core

NATIVE = [
    _core.BlockingHold,
    _core.BlockingLock,
    _core.BlockingPermitSemaphore,
    _core.BlockingSemaphore,
    _core.TaskLock,
]


@pytest.mark.parametrize("native", NATIVE, ids=lambda native: native.__name__)
def test_a_state_is_not_made_of_missing_arguments(native: Any) -> None:
    made = type("Made", (native,), {})()
    with pytest.raises(TypeError, match=r"argument 1 is missing \(0 given\)"):
        made._bind()


def test_an_exit_takes_no_names() -> None:
    with holdfast.Client("redis://127.0.0.1:1") as client:
        lock: Any = client.lock("myLock")
        with pytest.raises(TypeError, match="exactly 3 arguments, without names"):
            lock.__exit__(None, None, None, other=1)
