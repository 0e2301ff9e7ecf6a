"""The inspector's pages and API as an ASGI application.

It routes on the raw path (see `access.Guard`), so a lock's key is one segment: its name with every
special byte percent-encoded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import holdfast
from holdfast import inspect, servers

from .access import Access, Guard
from .feed import Feed, TooManyStreamsError
from .server_state import primaries
from .threads import Shared, in_thread

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from holdfast import Client

__all__ = ["make_app"]

STATIC = Path(__file__).with_name("static")

SEND_TIMEOUT = 20.0
"""Seconds after which a stream whose reader takes nothing is closed."""


def make_app(client: Client, feed: Feed, access: Access) -> ASGIApp:
    """The application, guarded by `access`."""
    api = _Api(client, feed, access)
    app = Starlette(
        routes=[
            Route("/", _page),
            Route("/healthz", _health),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/api/locks", api.locks),
            Route("/api/locks/{key}", api.lock),
            Route("/api/locks/{key}/force-release", api.force_release, methods=["POST"]),
            Route("/api/events", api.events),
            Route("/api/server", api.server),
        ],
        exception_handlers={
            holdfast.HoldfastError: _server_failed,
            TooManyStreamsError: _too_many_streams,
        },
    )
    app.router.redirect_slashes = False
    return Guard(app, access)


class _Api:
    def __init__(self, client: Client, feed: Feed, access: Access) -> None:
        self._client = client
        self._feed = feed
        self._access = access
        self._primaries = Shared(lambda: primaries(client))

    async def locks(self, _request: Request) -> Response:
        return JSONResponse(await self._feed.locks())

    async def lock(self, request: Request) -> Response:
        name = unquote_to_bytes(request.path_params["key"])
        try:
            found = await in_thread(lambda: inspect.lock(self._client, name))
        except holdfast.LockError as error:
            return _problem(404, str(error))
        if found is None:
            forced = await in_thread(lambda: inspect.forced_releases(self._client, name))
            body = {"error": "the lock is free", "forced": [one.to_json() for one in forced]}
            return JSONResponse(body, 404)
        return JSONResponse(found.to_json())

    async def force_release(self, request: Request) -> Response:
        name = unquote_to_bytes(request.path_params["key"])
        try:
            released = await in_thread(lambda: inspect.force_release(self._client, name))
        except holdfast.LockError as error:
            return _problem(409, str(error))
        return JSONResponse({"released": released})

    async def events(self, request: Request) -> Response:
        self._feed.check_room()
        brief = "brief" in request.query_params
        return EventSourceResponse(self._feed.stream(brief=brief), send_timeout=SEND_TIMEOUT)

    async def server(self, _request: Request) -> Response:
        """Whether the server answers, its primaries, and what this inspector may do."""
        status = self._feed.status
        answer: dict[str, Any] = {
            "server": self._client.url,
            "read_only": self._access.read_only,
            "releasable": [kind.word for kind in servers.KINDS if kind.type == b"hash"],
            "status": None if status is None else status.to_json(),
            "primaries": [],
        }
        if status is None or status.up:
            answer["primaries"] = await self._primaries.value()
        return JSONResponse(answer)


async def _page(_request: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-store"})


async def _health(_request: Request) -> Response:
    return PlainTextResponse("ok")


async def _server_failed(_request: Request, error: Exception) -> Response:
    return _problem(503, str(error))


async def _too_many_streams(_request: Request, _error: Exception) -> Response:
    return _problem(503, "too many pages are open")


def _problem(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status)
