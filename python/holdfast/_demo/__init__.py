"""``holdfast demo``: what the lock promises, done and checked before the user's eyes."""

from __future__ import annotations

import secrets
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING

from holdfast._client import Client
from holdfast._errors import HoldfastError

from .children import Children
from .scenes import SCENES, Stage
from .servers import NoServer, Server
from .story import BrokenPromise, Story

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run"]


def run(url: str | None, kinds: Sequence[str]) -> int:
    """Play every scene, on the server at `url` or on one of `kinds` that is started for it.

    Returns 0 only if all was as promised. Whatever was started has ended by then, also when
    Ctrl-C or SIGTERM ends it early, with ``KeyboardInterrupt``.
    """
    story = Story()
    with ExitStack() as stack:
        stack.enter_context(_ended_by(signal.SIGTERM, signal.SIGHUP))
        try:
            if url is None:
                server = stack.enter_context(Server.first_of(kinds))
                url, name = server.url, "myLock"
                story.tell(f"{server.title} was started for this demo")
            else:
                name = f"holdfast-demo:{secrets.token_hex(4)}:myLock"
            client = stack.enter_context(Client(url))
            client.ping()
            children = stack.enter_context(Children(url))
            stage = Stage(story, client, children, name)
            for scene in SCENES:
                scene(stage)
        except NoServer as error:
            story.tell(str(error))
            return 1
        except (BrokenPromise, HoldfastError, ValueError) as error:
            story.tell(f"NOT AS PROMISED: {error}" if client_is_up else str(error))
            return 1
    story.tell("all of it was as promised")
    return 0
