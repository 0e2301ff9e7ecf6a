"""Locks in a FastAPI application; needs the extra ``holdfast-locks[fastapi]``.

app = FastAPI(lifespan=lifespan("redis://127.0.0.1:6379"))


@app.post("/orders/{order_id}", dependencies=[Depends(Locked("order:{order_id}"))])
async def change(order_id: int): ...
"""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false
# Annotations are not postponed here: FastAPI could not resolve those of a callable object.

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from inspect import isasyncgenfunction, isgeneratorfunction, unwrap
from typing import Any, Literal

from fastapi import BackgroundTasks, FastAPI, HTTPException, WebSocketException, routing
from fastapi.dependencies.utils import get_dependant, request_params_to_args
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from starlette.background import BackgroundTask
from starlette.requests import HTTPConnection
from starlette.routing import Mount

from holdfast import HoldfastError, LockTimeout
from holdfast.asyncio import Client
from holdfast.contrib._locks import (
    PERMITS,
    checked_label,
    checked_options,
    new_lock,
    purpose,
    seconds_to_retry,
)
from holdfast.integration import Seconds, about, checked_name, is_busy, log_error, term

__all__ = ["Locked", "get_client", "lifespan"]

HTTP_LOCKED = 423
HTTP_UNAVAILABLE = 503

#: The WebSocket close code "try again later", and the longest reason: RFC 6455, 7.4 and 5.5.
WEBSOCKET_TRY_AGAIN = 1013
LONGEST_REASON = 123

#: Where a request's scope has its holds, by kind and name.
HOLDS = "holdfast.holds"
#: Where a request has its parameters, and a route what it knows of them.
PATH = "path_params"
QUERY = "query_params"
#: Where FastAPI keeps what is closed when all dependencies of a request have ended.
CLOSED_LAST = "fastapi_middleware_astack"


class Locked:
    """A dependency that holds a lock for the time of a request, or of a WebSocket connection.

    ``Depends(Locked("order:{order_id}", wait=2.0))``: the name is filled in with the path and query
    parameters of the route, as its function gets them. The lock is taken before the function is
    called, and released after the response has been sent and every dependency of the request has
    ended, whatever their order, also when the client has disconnected: what a dependency commits
    behind its ``yield`` is committed before the release. The dependency's value is the hold: its
    ``lost`` and its ``token`` (of a fenced lock). Several ``Locked`` of one request with the same
    kind and name are one hold.

    ``wait``: how long to wait for a busy lock, in seconds (2; ``None``: without limit); then the
    response is 423 with ``Retry-After``. Without a server, or with one that refuses to work, it is
    503. A WebSocket connection is refused in both cases. ``kind``: ``lock``, ``fair_lock``,
    ``fenced_lock``, ``read`` or ``write``; or ``permit_semaphore``, with ``permits``: how many
    requests run at a time. ``lease``: the lock's. ``background``: whether it is
    held until the background tasks have ended; it is so in any case where FastAPI ends another
    dependency with ``yield`` after them. ``cancel_on_lost``: a loss cancels the function, and
    the response is 503 unless it has begun; a function with ``def`` goes on in its thread.
    ``label``: what the holds are for, as of a lock; by default the method and the path of the
    route, ``POST /orders/{order_id}``; ``False``: nothing is said.

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
        background: bool = False,
        cancel_on_lost: bool = False,
        permits: int | None = None,
        label: str | Literal[False] | None = None,
    ) -> None:
        self._label: str | Literal[False] | None = checked_label(label)
        self._fields = checked_options(template, kind, wait=wait, lease=lease, permits=permits)
        self._template = template
        self._kind = kind
        self._options: dict[str, Any] = {"wait": wait, "lease": lease}
        if permits is not None:
            self._options["permits"] = permits
        self._background = bool(background)
        self._cancel_on_lost = bool(cancel_on_lost)
        #: By the function of the route, and the field: the path and the query parameter.
        self._parameters: dict[Any, dict[str, dict[str, _Parameter]]] = {}
        self._alone: dict[Any, bool] = {}  # likewise: no other dependency ends after the response

    async def __call__(
        self, connection: HTTPConnection, background_tasks: BackgroundTasks
    ) -> AsyncIterator[Any]:
        """Called by FastAPI."""
        values = {each.name: each.value(connection) for each in self._parameters_of(connection)}
        name = self._template.format_map(values)
        try:
            checked_name("the lock's name", name)
        except ValueError as error:
            raise _invalid(connection, [_bad_name(name, str(error))]) from error
        holds = connection.scope.setdefault(HOLDS, {})
        if (self._kind, name) in holds:
            yield holds[self._kind, name]
            return
        client = _client_of(connection.app)
        canceller = _Canceller(client)
        options = {**self._options, "label": purpose(self._label, _route_of(connection))}
        if self._cancel_on_lost:
            options = {**options, "on_lost": canceller.cancel}
        lock = new_lock(client, self._kind, name, **options)
        stack: AsyncExitStack = connection.scope[CLOSED_LAST]
        hold = holds[self._kind, name] = await self._acquire(connection, lock)
        release = _Release(hold)
        stack.push_async_callback(release)
        if not self._background and self._is_alone(connection):
            # The first of them runs when the response has been sent.
            background_tasks.tasks.insert(0, BackgroundTask(release))
        try:
            with canceller.in_place_of(self._lost(connection, name)):
                yield hold
        finally:
            del holds[self._kind, name]

    async def _acquire(self, connection: HTTPConnection, lock: Any) -> Any:
        try:
            try:
                if self._kind == PERMITS:
                    return await _Permit.acquired(lock, self._options["wait"])
                return await lock.hold()
            except LockTimeout as error:
                if not is_busy(error):
                    raise
                left = None if self._kind == PERMITS else await lock.ttl()
                after = seconds_to_retry(left)
        except HoldfastError as error:
            text = "%r could not be acquired for a request: %s"
            log_error(about(lock, "request_refused"), text, lock.name, error)
            detail = f"the server of the lock {lock.name!r} cannot be used; try again later"
            raise _refusal(connection, HTTP_UNAVAILABLE, detail) from error
        why = "has no free permit" if self._kind == PERMITS else "is held by another request"
        detail = f"{lock.name!r} {why}; try again in {after} s"
        raise _refusal(connection, HTTP_LOCKED, detail, {"Retry-After": str(after)})

    @staticmethod
    def _lost(connection: HTTPConnection, name: str) -> Exception:
        detail = f"the lock {name!r} was lost while the request was handled; try again"
        return _refusal(connection, HTTP_UNAVAILABLE, detail)

    def bind(self, route: Any) -> None:
        """At the start: find the parameters of the name; ``ValueError`` when `route` lacks one."""
        self._bind(route.endpoint, route.dependant, route.path)
        below = (each for each in _dependants(route.dependant) if each is not route.dependant)
        alone = not any(map(_ends_late, below))
        self._alone[route.endpoint] = self._alone.get(route.endpoint, True) and alone

    def _bind(self, key: Any, dependant: Any, path: str) -> None:
        """Note the parameters of a route: another may have the same function and other ones."""
        found = list(_parameters(dependant))
        names = dict.fromkeys(each.name for each in found)
        for field in self._fields:
            if field not in names:
                msg = (
                    f"field {field!r} of the template {self._template!r} is no path or query "
                    f"parameter of {path!r}; there are: {', '.join(names) or 'none'}"
                )
                raise ValueError(msg)
        bound = self._parameters.setdefault(key, {field: {} for field in self._fields})
        for each in found:
            if each.name in bound:
                bound[each.name][each.where] = each

    def _parameters_of(self, connection: HTTPConnection) -> "list[_Parameter]":
        key = endpoint = connection.scope["endpoint"]
        path_params = connection.path_params
        if endpoint not in self._alone:  # the application has another lifespan
            key = (endpoint, frozenset(path_params))
            if key not in self._parameters:
                path = "".join(f"/{{{name}}}" for name in path_params)
                dependant = get_dependant(path=path, call=endpoint)
                self._bind(key, dependant, connection.url.path)
        return [_present(each, path_params) for each in self._parameters[key].values()]

    def _is_alone(self, connection: HTTPConnection) -> bool:
        """Whether nothing of the request is left to end once its response has been sent.

        Unknown, so no, where the application has another lifespan, or another has replaced one of
        its dependencies.
        """
        replaced = getattr(connection.app, "dependency_overrides", None)
        return not replaced and self._alone.get(connection.scope["endpoint"], False)


class _Permit:
    """A permit in the place of a hold."""

    token = None

    def __init__(self, semaphore: Any, permit: str) -> None:
        self.lock = semaphore  # as of a hold
        self.name = semaphore.name
        self.permit = permit

    @classmethod
    async def acquired(cls, semaphore: Any, wait: Seconds | None) -> "_Permit":
        permit = await semaphore.acquire(wait != 0, wait or None)
        if permit is None:
            msg = f"no permit of {semaphore.name!r} was free in {wait} s"
            raise LockTimeout(msg)
        return cls(semaphore, permit)

    @property
    def lost(self) -> bool:
        return bool(self.lock.lost)

    async def release(self) -> None:
        await self.lock.release(self.permit)


class _Release:
    """The release of a request's hold, once; the response is on its way: an error is logged."""

    def __init__(self, hold: Any) -> None:
        self._hold = hold
        self._begun = False

    async def __call__(self) -> None:
        if self._begun:
            return
        self._begun = True
        try:
            await self._hold.release()
        except HoldfastError as error:
            text = "%r could not be released after a request: %s"
            log_error(about(self._hold, "release_failed"), text, self._hold.name, error)


class _Canceller:
    """Cancels the task of a request when its hold is lost."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._term: Any = None  # while it may be cancelled

    def cancel(self, _: Any) -> None:
        """Called on the loop."""
        if self._term is not None:
            self._term.cancel()

    @contextmanager
    def in_place_of(self, error: Exception) -> Iterator[None]:
        """Raise `error` in the place of the cancellation by ``cancel``."""
        begun = self._term = term(self._client)
        raised: BaseException | None = None
        try:
            yield
        except BaseException as any_error:
            raised = any_error
            raise
        finally:
            self._term = None
            rest = begun.end(raised)
            if rest is not raised:
                raise rest or error from None


def _refusal(
    connection: HTTPConnection, status: int, detail: str, headers: dict[str, str] | None = None
) -> Exception:
    if connection.scope["type"] == "http":
        return HTTPException(status, detail, headers)
    reason = detail.encode()[:LONGEST_REASON].decode(errors="ignore")
    return WebSocketException(WEBSOCKET_TRY_AGAIN, reason)


class _Parameter:
    """A path or query parameter of a route, read as FastAPI reads it for the function."""

    def __init__(self, field: Any, where: str) -> None:
        self.name: str = field.name
        self.alias: str = getattr(field, "validation_alias", None) or field.alias
        self.where = where  # the attribute of the request
        self._field = field

    def value(self, connection: HTTPConnection) -> Any:
        """The value for the route's function; 422, as by FastAPI, if there is none."""
        values, errors = request_params_to_args([self._field], getattr(connection, self.where))
        if errors:
            raise _invalid(connection, errors)
        return values[self.name]


def _invalid(connection: HTTPConnection, errors: Sequence[Any]) -> Exception:
    """For a request with bad parameters, as FastAPI raises it."""
    if connection.scope["type"] == "websocket":
        return WebSocketRequestValidationError(errors)
    return RequestValidationError(errors)


def _bad_name(name: str, message: str) -> dict[str, Any]:
    """The error of a name that the request's parameters have made."""
    return {"type": "value_error", "loc": ("holdfast", "name"), "msg": message, "input": name}


def _present(both: dict[str, _Parameter], path_params: Mapping[str, Any]) -> _Parameter:
    """Of a field of several routes: the path parameter if this one has it."""
    path = both.get(PATH)
    if path is None or (QUERY in both and path.alias not in path_params):
        return both[QUERY]
    return path


def _dependants(dependant: Any) -> Iterator[Any]:
    """All that a route depends on, and then the route."""
    for below in dependant.dependencies:
        yield from _dependants(below)
    yield dependant


def _parameters(dependant: Any) -> Iterator[_Parameter]:
    for each in _dependants(dependant):
        for where in (QUERY, PATH):
            for field in getattr(each, where):
                yield _Parameter(field, where)


def _ends_late(dependant: Any) -> bool:
    """Whether it is a dependency with ``yield``, other than a lock, that outlives the response."""
    called = dependant.call
    if isinstance(called, Locked) or getattr(dependant, "scope", None) == "function":
        return False
    called = unwrap(getattr(called, "func", called))  # of a partial
    kinds = (isgeneratorfunction, isasyncgenfunction)
    return any(is_kind(each) for is_kind in kinds for each in (called, type(called).__call__))


def _route_of(connection: HTTPConnection) -> str:
    """The method of a request and the path of its route, with the names of its parameters."""
    path = getattr(connection.scope.get("route"), "path", connection.scope["type"])
    return f"{connection.scope.get('method', 'WEBSOCKET')} {path}"


async def get_client(connection: HTTPConnection) -> Client:
    """The application's client, as a dependency: ``Annotated[Client, Depends(get_client)]``.

    Raises ``RuntimeError`` where the application has none; `lifespan` opens it.
    """
    return _client_of(connection.app)


def _client_of(app: Any) -> Client:
    client = getattr(app.state, "holdfast", None)
    if not isinstance(client, Client):
        msg = (
            "app.state.holdfast must be a holdfast.asyncio.Client, or one of holdfast.trio or "
            "holdfast.anyio: give the application "
            "lifespan=holdfast.contrib.fastapi.lifespan(url), or set it at start-up"
        )
        raise RuntimeError(msg)
    return client


def lifespan(
    url: str | None = None, **options: Any
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """A lifespan that opens ``app.state.holdfast`` with the application and closes it at the end.

    Mounted FastAPI applications that have no client in their ``state.holdfast`` get the same.

    ``FastAPI(lifespan=lifespan(url))``; within a lifespan of the application:
    ``async with lifespan(url)(app): ...``. Arguments as those of ``holdfast.asyncio.Client``, and
    its errors, at once; at the start ``ValueError`` for a ``Locked`` whose route lacks a parameter.
    Each worker process has a separate client.
    """
    Client(url, **options)  # raises for invalid arguments; no command is sent

    @asynccontextmanager
    async def open_client(app: FastAPI) -> AsyncIterator[None]:
        applications = list(_applications(app))
        for application in applications:
            for route in _routes(application.routes):
                for locked in _locked_of(route.dependant):
                    locked.bind(route)
        outer = getattr(app.state, "holdfast", None)  # of a lifespan around this one
        async with _client_here()(url, **options) as client:
            app.state.holdfast = client
            try:
                with _given_to(applications[1:], client):
                    yield
            finally:
                app.state.holdfast = outer or client

    return open_client


def _client_here() -> type[Client]:
    """The class of a client for the running loop."""
    trio: Any = sys.modules.get("trio")
    if trio is None or not trio.lowlevel.in_trio_run():
        return Client
    from holdfast.trio import Client as TrioClient

    return TrioClient


def _applications(app: FastAPI) -> Iterator[FastAPI]:
    """The application, and those that are mounted in it."""
    yield app
    for route in app.routes:
        mounted = getattr(route, "_base_app", None) if isinstance(route, Mount) else None
        if isinstance(mounted, FastAPI):
            yield from _applications(mounted)


@contextmanager
def _given_to(applications: list[FastAPI], client: Client) -> Iterator[None]:
    without = [each for each in applications if not hasattr(each.state, "holdfast")]
    for each in without:
        each.state.holdfast = client
    try:
        yield
    finally:
        for each in without:
            del each.state.holdfast


def _routes(routes: Any) -> Iterator[Any]:
    """The routes with dependencies, those of included routers too."""
    # The versions before it copy the routes of an included router.
    each_of: Any = getattr(routing, "iter_route_contexts", iter)
    for route in each_of(routes):
        if getattr(route, "dependant", None) is not None:
            yield route


def _locked_of(dependant: Any) -> Iterator[Locked]:
    for each in _dependants(dependant):
        if isinstance(each.call, Locked):
            yield each.call
