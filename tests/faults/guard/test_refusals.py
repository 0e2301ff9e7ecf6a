"""A guard whose releases are refused for a reason that passes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest

from tests.faults.guard.conftest import StartProgram
from tests.support.impostors import Scripted, scripted
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers("real")

GRANTED, FREED = b"$-1\r\n", b":1\r\n"
REFUSALS = 3
"""More than a guard sends of itself: one, and one after 50 ms."""


@dataclass
class Refusing(Scripted):
    """A server that grants, and later refuses some releases."""

    refusal: bytes = GRANTED
    dies: bool = False
    """The program that holds."""
    times: list[float] = field(default_factory=list)
    """Of releases."""

    def reply_to(self, words: list[bytes]) -> bytes:
        if words == [b"CLIENT", b"INFO"]:
            return b"$4\r\nid=1\r\n"
        if words[0] not in {b"EVALSHA", b"EVAL"}:
            return super().reply_to(words)
        if not self.dies:
            return GRANTED
        self.times.append(time.monotonic())
        return self.refusal if len(self.times) <= REFUSALS else FREED


@pytest.mark.parametrize(("word", "apart"), [("OOM", 0.04), ("WRONGPASS", 0.9), ("NOAUTH", 0.9)])
def test_a_release_goes_on_until_it_is_accepted(
    start_program: StartProgram, word: str, apart: float
) -> None:
    """killed-process: by the table of errors that pass."""
    with scripted(Refusing(refusal=f"-{word} not now\r\n".encode())) as server:
        assert isinstance(server, Refusing)
        program = start_program("orders", url=server.url, lease=240.0)
        server.dies = True
        program.kill()
        eventually(lambda: len(server.times) > REFUSALS, what="a release is accepted")
        assert server.times[-1] - server.times[-2] >= apart
