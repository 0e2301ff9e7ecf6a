"""``holdfast demo``: shows and checks the guarantees of the lock."""

from __future__ import annotations

import secrets
import signal
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from holdfast import Client, HoldfastError

from .processes import Children
from .scenes import SCENES, Stage
from .servers import NoServerError, Server
from .story import BrokenPromiseError, Story

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run"]

ADVICE = (
    "Install redis-server or valkey-server, or pip install 'holdfast-locks[server]', or name a "
    "running one with --url redis://host:port"
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(url: str | None, kinds: Sequence[str]) -> int:
    """Play every scene, on the server at `url` or on the first of `kinds` that can be started.

    Returns 0 only if every promise was kept. All processes have ended by then, also when Ctrl-C,
    SIGTERM or SIGHUP ends it early, as ``KeyboardInterrupt``.
    """
    story = Story()
    with ExitStack() as stack:
        _listen_to_signals(stack)
        try:
            stage = _set_stage(stack, story, url, kinds)
        except NoServerError as error:
            story.tell(f"The demo cannot begin: {error}. {ADVICE}")
            return 1
        except (HoldfastError, ValueError) as error:
            story.tell(f"The demo cannot begin: {error}")
            return 1
        try:
            for scene in SCENES:
                scene(stage)
        except (BrokenPromiseError, HoldfastError) as error:
            story.tell(f"NOT AS PROMISED: {error}")
            return 1
    story.tell("All of it was as promised.")
    return 0


def _listen_to_signals(stack: ExitStack) -> None:
    for number in SIGNALS:
        before = signal.getsignal(number)
        if before is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
        stack.callback(signal.signal, number, before)


def _ignore_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _set_stage(stack: ExitStack, story: Story, url: str | None, kinds: Sequence[str]) -> Stage:
    name = "myLock"
    if url is None:
        server = stack.enter_context(Server(kinds))
        for failure in server.failures:
            story.tell(f"{failure}; the next server is tried.")
        url = server.url
        client = stack.enter_context(Client(url))
        server.wait_for(client)
        story.tell(f"{server.title} runs for this demo.")
    else:
        name = f"holdfast-demo:{secrets.token_hex(4)}:{name}"
        client = stack.enter_context(Client(url))
        client.ping()
        story.tell(f"The server at {client._url} answers; the demo's lock there is {name!r}.")
    folder = stack.enter_context(TemporaryDirectory(prefix="holdfast-"))
    children = stack.enter_context(Children(url))
    stack.callback(_ignore_signals)  # a second Ctrl-C must not stop the clearing up
    return Stage(story, client, children, name, Path(folder))
