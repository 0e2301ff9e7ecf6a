"""Steps of a script, commands, and the wait for a change of a state, for tasks: see ``steps``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import _core
from holdfast._engine.arguments import Seconds, checked_timeout
from holdfast._engine.loop import request
from holdfast._locks.steps import Argument, BaseRevision, step_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Revision", "send_commands", "step"]


async def step(
    core: _core.Client,
    script: str,
    keys: Sequence[bytes],
    args: Sequence[Argument] = (),
    name: bytes = b"",
) -> Any:
    """As ``holdfast._locks.steps.step``."""
    return await _replied(step_of(core, script, keys, args, name))


async def send_commands(
    core: _core.Client,
    name: bytes,
    commands: Sequence[Sequence[bytes]],
    within: float | None = None,
) -> list[Any]:
    """As ``_core.send_commands``."""
    if not commands:
        return []
    replies: list[Any] = await _replied(_core.sending_of(core, name, commands, within))
    return replies


async def _replied(sending: _core.Sending) -> Any:
    await request(sending.exchange)
    return sending.reply()


class Revision(BaseRevision):
    """Waits for changes of the state of a name."""

    __slots__ = ()

    async def wait(self, known: int, timeout: Seconds | None = None) -> bool:
        """As ``holdfast._locks.steps.Revision.wait``."""
        seconds = checked_timeout(True, timeout)
        return await request(self._core.acquire(known, True, seconds))
