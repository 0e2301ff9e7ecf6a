"""The command ``holdfast``. Only ``holdfast demo`` works without the extra ``[cli]``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from . import version_line

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["demo"]:
        from .demo import main as run

        return run(arguments[1:])
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        return _without_extra(*arguments)
    return run(arguments)


def _without_extra(command: str = "--help", *_: str) -> int:
    if command == "--version":
        print(version_line())
        return 0
    text = "needs packages that are not installed: pip install 'holdfast-locks[cli]'"
    print(f"holdfast: {command!r} {text}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
