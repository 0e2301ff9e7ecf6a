"""The command ``holdfast``: the group of its commands."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from holdfast_tools import version_line
from holdfast_tools.interrupts import raise_interrupts

from ._settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMMANDS", "holdfast"]

#: By name: the module of this package that has the command, which is called as its function is.
COMMANDS: Final[Mapping[str, str]] = {
    "run": "_run:run",
    "ls": "_ls:ls",
    "show": "_show:show",
    "watch": "_watch:watch",
    "unlock": "_unlock:unlock",
    "token": "_token:token",
    "permits": "_permits:permits",
    "doctor": "_doctor:doctor",
    "bench": "_bench:bench",
    "inspect": "_inspect:inspect",
    "demo": "_demo:demo",
    "completion": "_completion:completion",
}


class Commands(click.Group):
    """Imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(f".{module}", __package__), function)
        assert isinstance(command, click.Command)
        return command


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(version_line())
        context.exit()


@click.group(
    cls=Commands,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: holdfast --url redis://127.0.0.1:6379 ls",
)
@click.option(
    "--url",
    metavar="URL",
    envvar="HOLDFAST_URL",
    show_envvar=True,
    help="The servers.  [default: redis://127.0.0.1:6379]",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the versions of holdfast, hiredis and OpenSSL, and exit.",
)
@click.pass_context
def holdfast(context: click.Context, url: str | None) -> None:
    """Distributed locks on Redis and Valkey: hold a lock, and list locks with their owners.

    The locks are those of Python programs that use holdfast, and of Java programs that use
    Redisson.
    """
    if context.invoked_subcommand != "run":  # which handles signals itself
        raise_interrupts()
    context.obj = Settings(url)
