"""What a server was sent and what it published, in order and complete.

Both collectors end a reading by a mark that they send themselves and wait for, so that nothing
that happened before is missing and no time has to pass.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.support.waiting import BOUND

_HOUSEKEEPING = {"HELLO", "AUTH", "CLIENT", "SELECT", "PING", "SCRIPT", "COMMAND"}


@dataclass(frozen=True)
class Sent:
    """One command as the server saw it; `by_script` when a script ran it."""

    address: str
    words: tuple[str, ...]
    by_script: bool

    @property
    def name(self) -> str:
        return self.words[0].upper()

    @property
    def housekeeping(self) -> bool:
        """Whether it greets, logs in or loads a script rather than doing the caller's work."""
        return self.name in _HOUSEKEEPING


class Recording:
    """A context manager that collects what the server is sent while it is open.

    Both ends are exact: commands that were answered before `with` are not in it, and reading
    `commands` first makes the server catch up. It owns `listener` and closes it; what the
    connection `inspect` sends itself is left out.
    """

    def __init__(self, listener: Any, inspect: Any) -> None:
        self._listener = listener
        self._inspect = inspect
        self._monitor: Any = listener.monitor()
        self._sent: list[Sent] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._ended = False

    def __enter__(self) -> Recording:
        self._monitor.__enter__()
        self._thread.start()
        self._mark()
        self.clear()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended = True
        self._inspect.execute_command("ECHO", "the end")  # for the listener to see that it is over
        self._thread.join(BOUND)
        self._monitor.__exit__(*error)
        self._listener.close()

    @property
    def commands(self) -> list[Sent]:
        """What clients sent so far, without housekeeping and without commands run by scripts."""
        self._mark()
        with self._changed:
            return [c for c in self._sent if not c.by_script and not c.housekeeping]

    @property
    def scripted(self) -> list[Sent]:
        """What scripts ran so far."""
        self._mark()
        with self._changed:
            return [c for c in self._sent if c.by_script]

    def count(self) -> Counter[str]:
        """How often each command was sent by clients."""
        return Counter(command.name for command in self.commands)

    def clear(self) -> None:
        """Forget what was recorded so far."""
        with self._changed:
            self._sent.clear()

    def _mark(self) -> None:
        """Send a mark and wait until it comes back, so that all before it is recorded."""
        mark = uuid.uuid4().hex
        self._inspect.execute_command("ECHO", mark)
        with self._changed:
            seen = self._changed.wait_for(lambda: self._passed(mark), BOUND)
        assert seen, "the server does not report its commands"

    def _passed(self, mark: str) -> bool:
        for sent in self._sent:
            if sent.words == ("ECHO", mark):
                address = sent.address
                self._sent = [c for c in self._sent if c.address != address]
                return True
        return False

    def _listen(self) -> None:
        while not self._ended:
            event = self._monitor.next_command()
            words = tuple(event["command"].split(" "))
            by_script = event["client_type"] == "lua"
            address = f"{event['client_address']}:{event['client_port']}"
            with self._changed:
                self._sent.append(Sent(address, words, by_script))
                self._changed.notify_all()


class Messages:
    """A context manager that collects the messages of one channel while it is open.

    Or, with `below`, of all channels whose names go on with ":" there. It owns `listener` and
    closes it; the connection `inspect` sends the marks.
    """

    def __init__(
        self, listener: Any, inspect: Any, channel: str | bytes, *, below: bool = False
    ) -> None:
        self._listener = listener
        self._inspect = inspect
        self._channel = channel if isinstance(channel, bytes) else channel.encode()
        self._pattern = re.sub(rb"([][\\*?^])", rb"\\\1", self._channel) + b":*" if below else b""
        self._subscription: Any = listener.pubsub()

    def __enter__(self) -> Messages:
        if self._pattern:
            self._subscription.psubscribe(self._pattern)
        else:
            self._subscription.subscribe(self._channel)
        assert self._next("psubscribe" if self._pattern else "subscribe") == 1
        return self

    def __exit__(self, *error: object) -> None:
        self._subscription.close()
        self._listener.close()

    def received(self) -> list[bytes]:
        """The payloads since the last call."""
        mark = uuid.uuid4().hex.encode()
        self._inspect.publish(self._channel + b":mark" if self._pattern else self._channel, mark)
        kind = "pmessage" if self._pattern else "message"
        return list(iter(lambda: self._next(kind), mark))

    def _next(self, kind: str) -> Any:
        message = self._subscription.get_message(timeout=BOUND)
        assert message is not None, "the server does not pass messages on"
        assert message["type"] == kind
        return message["data"]
