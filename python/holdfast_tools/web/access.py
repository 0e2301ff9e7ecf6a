"""Access to the inspector, and the host names under which it answers.

A web page on another site can make the browser of an operator send requests here. The rules below
keep it out:

- A request must carry the token of this run (in the query, or as ``Authorization: Bearer``) or the
  cookie that the token was exchanged for. The cookie is not sent from other sites.
- ``Host`` must be one of the inspector's own, so that no foreign name can be made to resolve here.
- A ``POST`` must name one of the inspector's own origins, scheme included, and must not come from
  another site as far as the browser says so.
- No other site may frame the page, and the page loads nothing from elsewhere.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Access", "Guard", "host_with_port", "own_origins"]

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
OPEN_PATH = "/healthz"
SAFE_METHODS = frozenset({"GET", "HEAD"})
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True)
class Access:
    """The secrets of one run, and the origins of its pages."""

    port: int
    origins: frozenset[str]
    read_only: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @cached_property
    def _hosts(self) -> frozenset[str]:
        """The ``Host`` values of the origins."""
        return frozenset(origin.partition("://")[2] for origin in self.origins)

    @property
    def cookie_name(self) -> str:
        """The cookie's name; browsers share cookies among the ports of a host."""
        return f"holdfast_{self.port}"

    @property
    def set_cookie(self) -> str:
        """The value of ``Set-Cookie`` that admits a browser until it is closed."""
        return f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"

    def has_token(self, request: Request) -> bool:
        """Whether the query carries the token of this run."""
        given = parse_qs(request.url.query).get("token", [])
        return any(_same(value, self.token) for value in given)

    def admits(self, request: Request) -> bool:
        """Whether the request may see anything but ``/healthz``."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        return (
            self.has_token(request)
            or _same(request.cookies.get(self.cookie_name, ""), self._cookie)
            or (scheme.lower() == "bearer" and _same(bearer.strip(), self.token))
        )

    def knows_host(self, request: Request) -> bool:
        """Whether the request came to one of the inspector's own hosts."""
        given = request.headers.getlist("host")
        return len(given) == 1 and given[0].lower() in self._hosts

    def knows_origin(self, request: Request) -> bool:
        """Whether the page that sent the request is one of the inspector's own."""
        given = request.headers.getlist("origin")
        site = request.headers.get("sec-fetch-site", "same-origin")
        return len(given) == 1 and given[0].lower() in self.origins and site == "same-origin"


class Guard:
    """ASGI middleware that applies the rules of `access` and routes on the raw path.

    The application sees the path as it was sent, so that a name may contain ``%2F``.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request, pass on every other one; each answer gets the headers."""
        scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        request = Request(scope)
        app: ASGIApp = self._refusal(request) or self._app
        exchange = app is self._app and self._access.has_token(request)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                if exchange:
                    headers.append("Set-Cookie", self._access.set_cookie)
            await send(message)

        await app(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> PlainTextResponse | None:
        """The answer to a request that is refused."""
        access = self._access
        if not access.knows_host(request):
            msg = "This host name is not the inspector's: allow it with --allow-host."
            return PlainTextResponse(msg, 421)
        if request.scope["path"] == OPEN_PATH and request.method in SAFE_METHODS:
            return None
        if not access.admits(request):
            msg = "Open the address that holdfast inspect printed; each run has another token."
            return PlainTextResponse(msg, 401, {"WWW-Authenticate": "Bearer"})
        return None if request.method in SAFE_METHODS else self._refusal_to_change(request)

    def _refusal_to_change(self, request: Request) -> PlainTextResponse | None:
        if self._access.read_only:
            return PlainTextResponse("The inspector was started with --read-only.", 403)
        if not self._access.knows_origin(request):
            msg = "Requests that change something are accepted from the inspector's own page only."
            return PlainTextResponse(msg, 403)
        return None


def own_origins(host: str, allowed: Iterable[str], port: int) -> frozenset[str]:
    """The origins of an inspector's pages on `port`: at loopback, `host` and those allowed.

    An allowed host with a port, or with a scheme, is that of a proxy before the inspector: its
    scheme is the one that is named, or that of its port; of another port either. ``ValueError`` for
    what is no host.
    """
    own = {
        f"http://{host_with_port(name, port)}" for name in ("127.0.0.1", "localhost", "::1", host)
    }
    for name in allowed:
        own |= _allowed_origins(name.lower(), port)
    for scheme, suffix in DEFAULT_PORTS.items():
        own |= {
            origin.removesuffix(suffix)
            for origin in own
            if origin.startswith(f"{scheme}://") and origin.endswith(suffix)
        }
    return frozenset(own)


def _allowed_origins(name: str, port: int) -> set[str]:
    scheme, separator, host = name.rpartition("://")
    if not host or "/" in host or (separator and scheme not in DEFAULT_PORTS):
        msg = f"--allow-host {name!r} is no host: write NAME, NAME:PORT or https://NAME"
        raise ValueError(msg)
    if separator:
        return {
            f"{scheme}://{host}"
            if _names_port(host)
            else f"{scheme}://{host}{DEFAULT_PORTS[scheme]}"
        }
    if not _names_port(host):
        return {f"http://{host_with_port(host, port)}"}
    schemes = [one for one, suffix in DEFAULT_PORTS.items() if host.endswith(suffix)]
    return {f"{one}://{host}" for one in schemes or DEFAULT_PORTS}


def host_with_port(host: str, port: int) -> str:
    """`host:port` as a URL has it, lower case, an IPv6 address in brackets."""
    name = host.lower()
    return f"[{name}]:{port}" if ":" in name and not name.startswith("[") else f"{name}:{port}"


def _names_port(host: str) -> bool:
    name, separator, port = host.rpartition(":")
    return bool(separator) and port.isdigit() and (":" not in name or name.endswith("]"))


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode())
