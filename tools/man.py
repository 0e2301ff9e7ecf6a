"""The man page, made from the texts of the command line: ``python -m tools.man``.

It writes ``docs/man/holdfast.1``; a test is red when that file is not up to date.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from holdfast import __version__
from holdfast_tools.cli import holdfast
from tools.lint import tree

PAGE = tree.ROOT / "docs" / "man" / "holdfast.1"

#: Of a choice that are listed.
MOST_VALUES = 5

STATUSES = (
    ("0", "Done; for show and unlock: it was held; for doctor: no finding is bad."),
    ("1", "show, unlock: it is free. token: none was given. doctor: a finding is bad."),
    ("2", "Usage; not a lock; unlock or token refused, or the answer was no."),
    ("69", "No server, or it refused."),
    ("74", "The output could not be written; run: the lock was lost while COMMAND ran."),
    ("75", "run: the lock is busy."),
    ("130, 143", "Ended by Ctrl\N{HYPHEN-MINUS}C, or by SIGTERM."),
)
ENVIRONMENT = (
    ("HOLDFAST_URL", "The servers, where there is no --url."),
    ("NO_COLOR", "If it is set, nothing is coloured."),
)


def main() -> None:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The whole page, as roff."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root = click.Context(holdfast, info_name="holdfast")
    yield f'.TH HOLDFAST 1 "" "holdfast {__version__}" "User Commands"'
    yield from (".SH NAME", escaped("holdfast - distributed locks on Redis and Valkey"))
    yield from (".SH SYNOPSIS", f".B {escaped('holdfast [--url URL] COMMAND')}")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(holdfast)
    yield ".SH OPTIONS"
    yield from _options(holdfast, root)
    yield ".SH COMMANDS"
    for name in holdfast.list_commands(root):
        command = holdfast.get_command(root, name)
        assert command is not None
        yield from _command(command, click.Context(command, root, name))
    yield ".SH EXIT STATUS"
    yield from _entries(STATUSES)
    yield ".SH ENVIRONMENT"
    yield from _entries(ENVIRONMENT)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f".SS {escaped(f'holdfast {context.info_name} {pieces}')}"
    yield from _paragraphs(command)
    yield from _options(command, context)


def _paragraphs(command: click.Command) -> Iterator[str]:
    """The help, and the example behind it."""
    text = inspect.cleandoc(command.help or "")
    for number, paragraph in enumerate(text.split("\n\n")):
        yield from [".PP"] * (number > 0)
        yield escaped(" ".join(paragraph.split()))
    if command.epilog:
        word, _, example = command.epilog.partition(": ")
        yield from (".PP", f"{word}:", ".PP", ".RS", f".B {escaped(example)}", ".RE")


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for option in command.params:
        if isinstance(option, click.Option):
            metavar = "" if option.is_flag else f" {_metavar(option, context)}"
            default = f"  [default: {option.default}]" if option.show_default else ""
            values = " --help lists the values." if _has_many_values(option) else ""
            words = ", ".join(option.opts) + metavar
            yield from _entries([(words, f"{option.help}{values}{default}")])


def _has_many_values(option: click.Option) -> bool:
    return isinstance(option.type, click.Choice) and len(option.type.choices) > MOST_VALUES


def _metavar(option: click.Option, context: click.Context) -> str:
    if _has_many_values(option):
        return option.opts[0].lstrip("-").upper()
    return option.make_metavar(context)


def _entries(entries: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Iterator[str]:
    for word, text in entries:
        yield from (".TP", f".B {escaped(word)}", escaped(" ".join(text.split())))


def escaped(text: str) -> str:
    """Text that roff shows as it is."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe[:1] in {".", "'"} else safe


if __name__ == "__main__":
    main()
