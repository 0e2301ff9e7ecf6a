"""What calls ``on_lost`` of a lock."""

from __future__ import annotations

from contextvars import copy_context
from functools import partial
from typing import Any

from . import _events, _log

__all__ = ["Watcher"]


class Watcher(_events.Listener):
    """Receives the losses of one owner of a lock."""

    __slots__ = ("_context", "holds", "lock")

    def __init__(self, lock: Any) -> None:
        if lock._on_lost is not None and not lock._client._asynchronous:
            _events.keep_handlers(lock._client)
        self.lock = lock
        self.holds = 0  # acquired by this lock object
        self._context = copy_context()  # of the acquiring caller
        super().__init__(lock._client._listeners)

    def _hold_lost(self, reason: str) -> None:
        worker = _events.handlers_of(self.lock._client)
        _events.run_on(worker, self.lost_owner, partial(self._tell, self._loss(reason)))

    def _loss(self, reason: str) -> _events.Loss:
        return _events.Loss(self.lock, self.lost_owner, self.lost_token, reason)

    def _tell(self, loss: _events.Loss) -> None:
        """Call ``on_lost``; on the thread that it may block."""
        try:
            self._context.run(self._report, loss)
        except BaseException as error:  # noqa: BLE001 - also SystemExit
            _log.exception("on_lost of %r raised", self.lock.name, cause=error)

    def _report(self, loss: _events.Loss) -> Any:
        """Call ``on_lost``; in the acquirer's context."""
        _events.current_loss.set(loss)
        return self._call_on_lost()

    def _call_on_lost(self) -> Any:
        if self.lock._on_lost is not None:
            return self.lock._on_lost(self.lock)
        return None
