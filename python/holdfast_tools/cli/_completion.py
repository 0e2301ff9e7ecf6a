"""``holdfast completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ._main import COMPLETION

__all__ = ["completion"]

SHELLS = ("bash", "zsh", "fish")


@click.command(epilog='Example: eval "$(holdfast completion bash)"')
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands, options and the names of held locks.

    Evaluate it when the shell starts, in ~/.bashrc or ~/.zshrc; for fish, save it as
    ~/.config/fish/completions/holdfast.fish.
    """
    maker = get_completion_class(shell)
    assert maker is not None
    group = context.find_root().command
    print(maker(group, {}, "holdfast", COMPLETION).source())
