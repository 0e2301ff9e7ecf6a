"""Whether the server says when a hold is removed or cut short: ``Client(tracking=...)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast._errors import ServerError

from ._finding import Finding, good, warning

if TYPE_CHECKING:
    from holdfast.inspect._deployment import Server

__all__ = ["tracking"]

CHECK: Final = "tracking"
WITHOUT: Final = "a hold that another client removes is found lost by its next renewal only"


def tracking(server: Server) -> Finding:
    [reply] = server.ask([(b"CLIENT", b"TRACKING", b"OFF")])
    if not isinstance(reply, ServerError):
        means = "a hold that another client removes is found lost within a millisecond"
        return good(CHECK, "CLIENT TRACKING is allowed", means)
    if reply.code == "NOPERM":
        do = f"ACL SETUSER {server.user} +client|tracking (before Redis 7: +client)"
        return warning(CHECK, "CLIENT TRACKING is refused: NOPERM", WITHOUT, do)
    do = "upgrade the server to Redis 6 or newer, or connect to it without the proxy"
    return warning(CHECK, "the server does not know CLIENT TRACKING", WITHOUT, do)
