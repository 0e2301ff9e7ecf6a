"""The command ``holdfast``. Only ``holdfast demo`` works without the extra ``[cli]``."""

from __future__ import annotations

import sys

from . import version_line
from .interrupts import die_of_interrupts, raise_interrupts


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    die_of_interrupts()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["demo"]:
        from . import demo

        raise_interrupts()
        return demo.main(arguments[1:])
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        return _without_extra(*arguments)
    return run(arguments)


def _without_extra(command: str = "--help", *_: str) -> int:
    from .installing import install_line  # not above: SIGINT is not handled yet there

    install = install_line("cli")
    if command in {"-h", "--help", "--version"}:
        usage = f"usage: holdfast demo [-h]\n\nAll other commands need packages: {install}"
        print(version_line() if command == "--version" else usage)
        return 0
    print(
        f"holdfast: {command!r} needs packages that are not installed: {install}", file=sys.stderr
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
