"""Whether the server says when a hold is removed or cut short: ``Client(tracking=...)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast import ServerError

from ._finding import Finding, bad, good, warning

if TYPE_CHECKING:
    from holdfast.servers import Needs, Server

__all__ = ["tracking"]

CHECK: Final = "tracking"
WITHOUT: Final = "a hold that another client removes is found lost by its next renewal only"


def tracking(server: Server, needs: Needs) -> Finding:
    if needs.tracking == "off":
        return good(CHECK, "not asked for: tracking=off", WITHOUT)
    required = needs.tracking == "require"
    problem = bad if required else warning
    without = "every acquire is refused: tracking=require" if required else WITHOUT
    [reply] = server.ask([(b"CLIENT", b"TRACKING", b"OFF")])
    if not isinstance(reply, ServerError):
        means = "a hold that another client removes is found lost within a millisecond"
        return good(CHECK, "CLIENT TRACKING is allowed", means)
    if reply.code == "NOPERM":
        do = f"ACL SETUSER {server.user} +client|tracking (before Redis 7: +client)"
        return problem(CHECK, "CLIENT TRACKING is refused: NOPERM", without, do)
    do = "upgrade the server to Redis 6 or newer, or connect to it without the proxy"
    return problem(CHECK, "the server does not know CLIENT TRACKING", without, do)
