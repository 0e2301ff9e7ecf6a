"""Commands that only some options need: each is missed by those alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast import ServerError

from ._finding import Finding, bad, good, warning

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.servers import Command, Needs, Server

__all__ = ["closing", "confirmations", "connection_names"]

#: A connection that no server has had.
NO_CONNECTION: Final = b"9223372036854775807"


class OptionalCommands(NamedTuple):
    """What is checked: commands that change nothing, and what they are for."""

    check: str
    commands: dict[str, Command]  # by the right
    with_it: str
    without: str
    #: How a refusal is reported, and what is reported where the options do not need them.
    problem: Callable[[str, str, str, str], Finding]
    not_needed: str


WAIT: Final = OptionalCommands(
    "WAIT",
    {"wait": (b"WAIT", b"0", b"1")},
    "replicas can confirm grants (replicas_to_wait)",
    "every acquire is refused: replicas_to_wait",
    bad,
    "not needed: replicas_to_wait is 0",
)
CLIENT: Final = OptionalCommands(
    "CLIENT",
    {
        "client|info": (b"CLIENT", b"INFO"),
        "client|kill": (b"CLIENT", b"KILL", b"ID", NO_CONNECTION),
    },
    "the guard closes a dead program's connection before it releases",
    "the guard releases once more after 50 ms instead of closing a dead program's connection",
    warning,
    "not needed: there is no guard",
)
NAMES: Final = OptionalCommands(
    "connection names",
    {"client|setname": (b"CLIENT", b"SETNAME", b"holdfast:doctor")},
    "where an operator's user may run CLIENT LIST, `ls`, `show` and the inspector's page show the "
    "host and process id of an owner",
    "`ls`, `show` and the inspector's page show the id of an owner, not its host and process id",
    warning,
    "not asked for: client_name is empty",
)


def confirmations(server: Server, needs: Needs) -> Finding:
    return _finding(server, WAIT, needed=needs.replicas_to_wait > 0)


def closing(server: Server, needs: Needs) -> Finding:
    return _finding(server, CLIENT, needed=needs.guarded)


def connection_names(server: Server, needs: Needs) -> Finding:
    return _finding(server, NAMES, needed=needs.named)


def _finding(server: Server, optional: OptionalCommands, *, needed: bool) -> Finding:
    if not needed:
        return good(optional.check, optional.not_needed, "locks work without it")
    replies: list[Any] = server.ask(list(optional.commands.values()))
    refused = {
        right: reply
        for right, reply in zip(optional.commands, replies, strict=True)
        if isinstance(reply, ServerError)
    }
    if not refused:
        return good(optional.check, f"{_titles(optional.commands)} is allowed", optional.with_it)
    missing = [right for right, reply in refused.items() if reply.code == "NOPERM"]
    if not missing:
        found = f"the server does not know {_titles(refused)}"
        do = "connect to it without the proxy"
        return optional.problem(optional.check, found, optional.without, do)
    before = " (before Redis 7: +client)" if "|" in missing[0] else ""
    do = f"ACL SETUSER {server.user} {' '.join(f'+{right}' for right in missing)}{before}"
    found = f"{_titles(missing)} is refused: NOPERM"
    return optional.problem(optional.check, found, optional.without, do)


def _titles(rights: Any) -> str:
    return " and ".join(right.replace("|", " ").upper() for right in rights)
