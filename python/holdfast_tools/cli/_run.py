"""``holdfast run``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import click

from holdfast.integration import shown
from holdfast_tools.run import KINDS, Job
from holdfast_tools.run import run as run_job

from ._errors import complain, status_of_run
from ._settings import NAME, SecondsType, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run"]

#: Characters.
LONGEST_PURPOSE: Final = 200

STATUS = click.IntRange(0, 255)


class RunCommand(click.Command):
    """A command whose NAME stands before the first ``--``, or before another one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        after = len(args) - args.index("--") - 1 if "--" in args else 0
        rest = super().parse_args(ctx, args)
        command: Sequence[str] = ctx.params.get("command") or ()
        if command and after == len(command) + 1 and command[0] != "--":
            msg = "NAME is missing before --: holdfast run NAME -- COMMAND"
            raise click.UsageError(msg, ctx)
        return rest


@click.command(
    cls=RunCommand,
    epilog="Example: holdfast run nightly-report --wait 0 -- ./report.sh",
)
@click.argument("name", type=NAME)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND [ARG]...")
@click.option("--wait", type=float, metavar="S", help="Seconds to wait; 0: do not.  [no limit]")
@click.option("--lease", type=float, metavar="S", help="The lease that is renewed.  [30]")
@click.option("--at-least", type=float, metavar="S", help="Keep the lock for at least so long.")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="lock",
    show_default=True,
    help="What is held while COMMAND runs.",
)
@click.option(
    "--permits",
    type=click.IntRange(1),
    metavar="N",
    help="Of a semaphore: how many at a time.  [its number, else 1]",
)
@click.option("--resize", is_flag=True, help="Set --permits in place of another number.")
@click.option(
    "--busy-status", type=STATUS, default=75, show_default=True, help="If the lock stays busy."
)
@click.option(
    "--lost-status", type=STATUS, default=74, show_default=True, help="If the lock was lost."
)
@click.option(
    "--grace",
    type=SecondsType(0),
    default=10.0,
    metavar="S",
    show_default=True,
    help="From SIGTERM to SIGKILL if the lock was lost.",
)
@click.option(
    "--no-descendants",
    is_flag=True,
    help="Release when COMMAND ends, whatever it has left running.",
)
@click.option("--label", metavar="TEXT", help="What this program is, for 'holdfast ls'.")
@click.option("--no-purpose", is_flag=True, help="Do not say COMMAND's line as what it is for.")
@click.option("--verbose", is_flag=True, help="Say on stderr what happens.")
@click.pass_obj
def run(
    settings: Settings, /, name: bytes, command: Sequence[str], verbose: bool, **options: Any
) -> int:
    """Run COMMAND while holding a lock, as flock(1) does.

    The lock is renewed while COMMAND or a process that it has started runs, and released at the end
    of the last one; a daemon that closes the file descriptor HOLDFAST_FD does not count. COMMAND
    has the name in HOLDFAST_LOCK, and of a fenced lock the token in HOLDFAST_TOKEN. If the lock is
    lost, or run is killed, all of them get SIGTERM, and SIGKILL after --grace.

    'holdfast ls' and 'show' say that the lock is held for COMMAND, by the first 200 characters of
    its line, to each user that may read the server: with --no-purpose they do not.

    The status is COMMAND's, or 128 plus the signal that ended it or the wait; 2 for wrong options
    or another number of permits, 69 if the server is out of reach or refuses, or the system starts
    no process, 70 after an internal error, 74 if the lock was lost, 75 if it stays busy, 126 if
    COMMAND cannot be executed, 127 if it is not found.
    """
    words = [os.fsencode(word) for word in command]
    if words[:1] == [b"--"]:  # the first one stood before the name
        del words[0]
    if not words:
        msg = "COMMAND is missing: holdfast run NAME -- COMMAND"
        raise click.UsageError(msg)
    _check(options)
    line = shown(b" ".join(words))[:LONGEST_PURPOSE]
    return run_job(
        Job(
            url=settings.url,
            name=name,
            command=tuple(words),
            purpose=None if options.pop("no_purpose") else line,
            descendants=not options.pop("no_descendants"),
            tell=complain if verbose else lambda _: None,
            complain=complain,
            explain=status_of_run,
            **options,
        )
    )


def _check(options: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
    kind = options["kind"]
    if options["permits"] is not None and kind != "semaphore":
        msg = "--permits needs --kind semaphore"
        raise click.UsageError(msg)
    if options["resize"] and options["permits"] is None:
        msg = "--resize needs --permits"
        raise click.UsageError(msg)
    if options["at_least"] is not None and kind not in {"lock", "fenced"}:
        msg = f"--at-least needs --kind lock or fenced, not {kind}"
        raise click.UsageError(msg)
