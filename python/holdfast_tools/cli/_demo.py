"""``holdfast demo`` in the list of commands."""

from __future__ import annotations

import click

from holdfast_tools import demo as demonstration

__all__ = ["demo"]


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    options_metavar="",
    epilog="Example: holdfast demo",
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def demo(context: click.Context, options: tuple[str, ...]) -> int:
    """Show the lock at work, on a server started for the demo."""
    outer = context.find_root()
    source = outer.get_parameter_source("url")
    given = source is click.core.ParameterSource.COMMANDLINE
    url = ("--url", outer.params["url"]) if given and "--url" not in options else ()
    return demonstration.main([*url, *options])
