"""Locks in a FastAPI application; needs the extra ``holdfast[fastapi]``.

::

    app = FastAPI(lifespan=lifespan("redis://127.0.0.1:6379"))


    @app.post("/orders/{order_id}", dependencies=[Depends(Locked("order:{order_id}"))])
    async def change(order_id: int): ...
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
# Annotations are not postponed here: FastAPI could not resolve those of a callable object.

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request, routing
from fastapi.dependencies.utils import get_dependant, request_params_to_args
from fastapi.exceptions import RequestValidationError

from holdfast import ConnectionError, HoldfastError, LockTimeout
from holdfast._arguments import Seconds
from holdfast._events import logger
from holdfast.asyncio import Client
from holdfast.contrib._locks import checked_options, new_lock, seconds_to_retry

__all__ = ["Locked", "lifespan"]

HTTP_LOCKED = 423
HTTP_UNAVAILABLE = 503


class Locked:
    """A dependency that holds a lock for the time of a request.

    ``Depends(Locked("order:{order_id}", wait=2.0))``: the name is filled in with the path and query
    parameters of the route, as its function gets them. The lock is taken before the function is
    called, and released after the response has been sent, also when the client has disconnected.
    The dependency's value is the hold: its ``lost`` and its ``token`` (of a fenced lock).

    ``wait``: how long to wait for a busy lock, in seconds (2; ``None``: without limit); then the
    response is 423 with ``Retry-After``. Without a server it is 503. ``kind``: ``lock``,
    ``fair_lock``, ``fenced_lock``, ``read`` or ``write``. ``lease``: the lock's.

    Raises ``TypeError`` or ``ValueError`` for a bad argument. A parameter that a route lacks is a
    ``ValueError`` when the application starts with ``lifespan``, else at the first request.
    """

    def __init__(
        self,
        template: str,
        *,
        wait: Seconds | None = 2.0,
        kind: str = "lock",
        lease: Seconds | None = None,
    ) -> None:
        self._fields = checked_options(template, kind, wait=wait, lease=lease)
        self._template = template
        self._kind = kind
        self._options: dict[str, Any] = {"wait": wait, "lease": lease}
        self._parameters: dict[Any, list[_Parameter]] = {}  # by the function of the route

    async def __call__(self, request: Request) -> AsyncIterator[Any]:
        """Called by FastAPI."""
        values = {each.name: each.value(request) for each in self._parameters_of(request)}
        name = self._template.format_map(values)
        lock = new_lock(_client_of(request.app), self._kind, name, **self._options)
        hold = await self._acquire(lock)
        try:
            yield hold
        finally:
            try:
                await hold.release()
            except HoldfastError as error:  # the response is on its way: there is only the log
                log = logger()
                log.error("%r could not be released after a request: %s", name, error)

    async def _acquire(self, lock: Any) -> Any:
        try:
            try:
                return await lock.hold()
            except LockTimeout:
                after = seconds_to_retry(await lock.ttl())
        except ConnectionError as error:
            detail = f"the server of the lock {lock.name!r} is out of reach; try again later"
            raise HTTPException(HTTP_UNAVAILABLE, detail) from error
        detail = f"{lock.name!r} is held by another request; try again in {after} s"
        raise HTTPException(HTTP_LOCKED, detail, headers={"Retry-After": str(after)})

    def bind(self, route: Any) -> None:
        """At the start: find the parameters of the name; ``ValueError`` when `route` lacks one."""
        self._bind(route.endpoint, route.dependant, route.path)

    def _bind(self, endpoint: Any, dependant: Any, path: str) -> "list[_Parameter]":
        found = {each.name: each for each in _parameters(dependant)}
        for field in self._fields:
            if field not in found:
                msg = (
                    f"field {field!r} of the template {self._template!r} is no path or query "
                    f"parameter of {path!r}; there are: {', '.join(found) or 'none'}"
                )
                raise ValueError(msg)
        bound = self._parameters[endpoint] = [found[field] for field in self._fields]
        return bound

    def _parameters_of(self, request: Request) -> "list[_Parameter]":
        endpoint = request.scope["endpoint"]
        bound = self._parameters.get(endpoint)
        if bound is None:  # the application has another lifespan
            path = "".join(f"/{{{name}}}" for name in request.path_params)
            bound = self._bind(endpoint, get_dependant(path=path, call=endpoint), request.url.path)
        return bound


class _Parameter:
    """A path or query parameter of a route, read as FastAPI reads it for the function."""

    def __init__(self, field: Any, where: str) -> None:
        self.name: str = field.name
        self._field = field
        self._where = where  # the attribute of the request

    def value(self, request: Request) -> Any:
        """The value for the route's function; 422, as by FastAPI, if there is none."""
        values, errors = request_params_to_args([self._field], getattr(request, self._where))
        if errors:
            raise RequestValidationError(errors)
        return values[self.name]


def _parameters(dependant: Any) -> Iterator[_Parameter]:
    for below in dependant.dependencies:
        yield from _parameters(below)
    for where in ("query_params", "path_params"):
        for field in getattr(dependant, where):
            yield _Parameter(field, where)


def _client_of(app: Any) -> Client:
    client = getattr(app.state, "holdfast", None)
    if not isinstance(client, Client):
        msg = (
            "app.state.holdfast must be a holdfast.asyncio.Client: give the application "
            "lifespan=holdfast.contrib.fastapi.lifespan(url), or set it at start-up"
        )
        raise RuntimeError(msg)
    return client


def lifespan(
    url: str | None = None, **options: Any
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """A lifespan that opens ``app.state.holdfast`` with the application and closes it at the end.

    ``FastAPI(lifespan=lifespan(url))``; within a lifespan of the application:
    ``async with lifespan(url)(app): ...``. Arguments as those of ``holdfast.asyncio.Client``, and
    its errors, at once; at the start ``ValueError`` for a ``Locked`` whose route lacks a parameter.
    Each worker process has a separate client.
    """
    Client(url, **options)  # raises for invalid arguments; no command is sent

    @asynccontextmanager
    async def open_client(app: FastAPI) -> AsyncIterator[None]:
        for route in _routes(app.routes):
            for locked in _locked_of(route.dependant):
                locked.bind(route)
        async with Client(url, **options) as client:
            app.state.holdfast = client
            yield

    return open_client


def _routes(routes: Any) -> Iterator[Any]:
    """The routes with dependencies, those of included routers too."""
    # The versions before it copy the routes of an included router.
    each_of: Any = getattr(routing, "iter_route_contexts", iter)
    for route in each_of(routes):
        if getattr(route, "dependant", None) is not None:
            yield route


def _locked_of(dependant: Any) -> Iterator[Locked]:
    if isinstance(dependant.call, Locked):
        yield dependant.call
    for below in dependant.dependencies:
        yield from _locked_of(below)
