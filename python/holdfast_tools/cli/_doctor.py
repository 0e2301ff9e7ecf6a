"""``holdfast doctor``."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Final

import click
from rich.text import Text

from holdfast_tools import doctor as checks

from ._settings import NAME, Settings, as_json, json_option
from ._text import console, on_terminal, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["doctor"]

BAD: Final = 1
STYLES: Final = {"good": "green", "warning": "yellow", "bad": "bold red", "unknown": "dim"}
WIDTH: Final = 9


@click.command(epilog="Example: holdfast doctor --kind lock --kind fair_lock")
@click.option(
    "--name",
    type=NAME,
    help="The name of the test lock, which nothing else uses: where keys of it are there, they are "
    "not touched, and nothing is tried.  [default: a random one]",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(checks.KINDS),
    multiple=True,
    help="A kind whose rights are needed; may be repeated.  [default: all]",
)
@json_option
@click.pass_obj
def doctor(settings: Settings, name: bytes | None, kinds: tuple[str, ...], wants_json: bool) -> int:
    """Check whether the servers are fit for locks.

    Looks at version, round trip, eviction policy, persistence, min-replicas-to-write, replicas and
    their lag, cluster coverage, and the clock against this machine's; tries scripts, messages, and
    each command that locks need; starts a guard; checks when the TLS certificate expires. Each
    finding is good, a warning, bad, or unknown if this user may not query it, and says what it
    means and what to do.

    The status is 1 if a finding is bad.
    """
    tried = name or b"holdfast-doctor:%s:%d" % (uuid.uuid4().hex[:8].encode(), os.getpid())
    with settings.client() as client, settings.client() as other:
        findings: list[checks.Finding] = []
        chosen = kinds or checks.KINDS
        for finding in checks.examine(client, other, tried, chosen, is_new=name is None):
            findings.append(finding)
            if not wants_json:
                _write([finding])
    if wants_json:
        print(as_json({"findings": [finding.to_json() for finding in findings]}))
    return BAD if any(finding.level == "bad" for finding in findings) else 0


def _write(findings: Iterable[checks.Finding]) -> None:
    if not on_terminal():
        write_lines((one.level, one.check, one.found, one.means, one.do) for one in findings)
        return
    terminal = console()
    for one in findings:
        line = Text(one.level.ljust(WIDTH), STYLES[one.level])
        line.append(f"{one.check}: {one.found}", "default not dim")
        terminal.print(line)
        if one.level != "good":
            terminal.print(Text(f"{' ' * WIDTH}{one.means}; {one.do}"))
