"""Runs the inspector: listens, prints its address, serves until a signal ends it."""

from __future__ import annotations

import contextlib
import html
import ipaddress
import os
import socket
import sys
import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from holdfast import inspect

from .access import Access, host_with_port, own_origins
from .api import make_app
from .connections import bounded_protocol
from .feed import Feed

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from holdfast import Client

__all__ = ["CannotListenError", "Options", "serve"]

BACKLOG = 128
"""Connections that wait to be accepted; asyncio accepts as many in one step."""


class CannotListenError(Exception):
    """The address is taken, or not one of this machine."""


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    host: str = "127.0.0.1"
    port: int = 8420
    allowed_hosts: tuple[str, ...] = ()
    read_only: bool = False
    open_browser: bool = False


class _Server(uvicorn.Server):
    """uvicorn's server; a signal ends the open streams too."""

    def __init__(self, config: uvicorn.Config, feed: Feed) -> None:
        super().__init__(config)
        self._feed = feed

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._feed.close()
        super().handle_exit(sig, frame)


def serve(client: Client, options: Options) -> None:
    """Serve the page until SIGINT or SIGTERM, which is raised again when all has ended.

    To be called in the main thread. Prints the address with the token of this run. Raises
    `CannotListenError` where the address cannot be listened on.
    """
    with contextlib.closing(_listen(options.host, options.port)) as listener:
        port = listener.getsockname()[1]
        origins = own_origins(options.host, options.allowed_hosts, port)
        access = Access(port, origins, options.read_only)
        feed = Feed(lambda: [lock.to_json() for lock in inspect.locks(client)])
        config = uvicorn.Config(
            make_app(client, feed, access),
            loop="asyncio",
            http=bounded_protocol(),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=1,
        )
        address = f"http://{_browsable(listener)}/?token={access.token}"
        _announce(address, listener)
        with _opened(address) if options.open_browser else contextlib.nullcontext():
            _Server(config, feed).run([listener])


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket on the first address of `host`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = found[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        hint = "choose another --host or --port; --port 0 takes a free port"
        msg = f"cannot listen on {host_with_port(host, port)}: {reason}; {hint}"
        raise CannotListenError(msg) from error


def _browsable(listener: socket.socket) -> str:
    """Host and port under which a browser on this machine reaches the listener."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "127.0.0.1" if listener.family == socket.AF_INET else "::1"
    return host_with_port(host, port)


def _announce(address: str, listener: socket.socket) -> None:
    host = listener.getsockname()[0]
    if not ipaddress.ip_address(host).is_loopback:
        print(
            f"holdfast: warning: {host} can be reached from other machines, over plain HTTP: "
            "anyone who reads the traffic can use the page. Prefer 127.0.0.1 and an SSH tunnel.",
            file=sys.stderr,
        )
    print(address, flush=True)
    if sys.stdout.isatty():
        print("Open this address in a browser. Ctrl-C ends the inspector.", file=sys.stderr)


@contextlib.contextmanager
def _opened(address: str) -> Generator[None]:
    """Open the address in the user's browser.

    Command lines are visible to every user of the machine, so the browser is given a private file
    that leads to the address.
    """
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        page = Path(folder) / "inspect.html"
        link = html.escape(address)
        page.write_text(
            '<!doctype html><meta charset="utf-8"><title>holdfast</title>'
            f'<meta http-equiv="refresh" content="0; url={link}">'
            f'<a href="{link}" rel="noreferrer">Open the inspector</a>',
            encoding="utf-8",
        )
        if not webbrowser.open(page.as_uri()):
            print("holdfast: warning: no browser could be started", file=sys.stderr)
        yield
