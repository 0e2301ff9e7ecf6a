"""``holdfast inspect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from holdfast_tools.installing import install_line

if TYPE_CHECKING:
    from ._settings import Settings

__all__ = ["inspect"]

PACKAGES = frozenset({"sse_starlette", "starlette", "uvicorn"})


@click.command(epilog="Example: holdfast inspect --read-only --open")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8420,
    show_default=True,
    help="The port to listen on; 0 for any free one.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="A host name under which browsers reach the page; may be repeated.",
)
@click.option("--read-only", is_flag=True, help="Refuse to release locks by force.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the user's browser.")
@click.pass_obj
def inspect(settings: Settings, /, **options: Any) -> None:
    """Show the locks as a live web page, until Ctrl-C.

    Prints the address of the page, with a token of this run: open it in a browser. The server is
    read once per second while a page is open, and not at all otherwise.
    """
    try:
        from holdfast_tools.web import CannotListenError, Options, serve
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        msg = f"inspect needs packages that are not installed: {install_line('web')}"
        raise click.ClickException(msg) from error
    with settings.client() as client:
        try:
            serve(client, Options(**options))
        except CannotListenError as error:
            raise click.UsageError(str(error)) from error
