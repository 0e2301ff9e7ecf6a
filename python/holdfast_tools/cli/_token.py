"""``holdfast token``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from holdfast import inspect, servers

from ._asking import agreed
from ._errors import Status, complain
from ._settings import NAME, Settings, written

if TYPE_CHECKING:
    from holdfast import Client

__all__ = ["token"]

#: Up to this number the scripts of the server compare tokens exactly.
GREATEST: Final = 2**53


@click.command(epilog="Example: holdfast token report --at-least 1799000000000000")
@click.argument("name", type=NAME)
@click.option(
    "--at-least",
    "least",
    type=click.IntRange(1, GREATEST),
    metavar="TOKEN",
    help="Set the last token to TOKEN unless it is greater: later owners get greater ones.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def token(settings: Settings, name: bytes, least: int | None, yes: bool) -> int:
    """Show the last fencing token of a name, or raise it.

    A server that has lost its data, and whose clock is behind, gives tokens that a fence has seen
    already: every owner is refused. The refusal names the token that the fence has seen; give it to
    --at-least.

    With --at-least it asks first, and fails if there is no terminal and no --yes. The status is 0,
    1 if no token was given of this name, and 2 if the answer was no.
    """
    with settings.client() as client:
        name = written(client, name, beside="token_counter")
        last = _ask(client, name, b"GET")
        if least is not None and (last or 0) < least:
            if not yes and not _confirmed(name, last, least):
                return Status.USAGE
            # A repetition raises it further, and leaves out tokens: it does no harm.
            last = _ask(client, name, b"INCRBY", b"%d" % (least - (last or 0)))
    if last is None:
        complain(f"no token of '{inspect.shown(name)}' was given")
        return Status.FREE
    print(last)
    return 0


def _ask(client: Client, name: bytes, command: bytes, *arguments: bytes) -> int | None:
    """Send a command about the counter of a name; the counter."""
    full = client.name_prefix + name
    key = servers.key_beside("token_counter", full)
    [reply] = servers.send(client, full, [(command, key, *arguments)])
    if isinstance(reply, Exception):
        raise reply
    return None if reply is None else int(reply)


def _confirmed(name: bytes, last: int | None, least: int) -> bool:
    text = inspect.shown(name)
    known = "no token was given" if last is None else f"the last token is {last}"
    stake = f"'{text}': {known}; no later owner would get one up to {least}"
    return agreed(f"'{text}' keeps its token", [stake], "Set it?")
