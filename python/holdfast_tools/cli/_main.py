"""Runs the command line: signals, errors, the library's silence."""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.shell_completion import shell_complete

from holdfast_tools.interrupts import raise_for
from holdfast_tools.streams import discard_output, prepare_streams

from ._errors import Status, status_of
from ._group import holdfast
from ._shells import add_shells

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["COMPLETION", "main"]

#: The variable by which a shell asks for completions.
COMPLETION = "_HOLDFAST_COMPLETE"


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit status."""
    prepare_streams()
    _be_quiet()
    try:
        status = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return Status.CLOSED_PIPE
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except click.Abort:
        return Status.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - each becomes one line
        status = status_of(error)
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
    return status


def _run(arguments: list[str]) -> int:
    add_shells()
    if os.environ.get(COMPLETION):
        return shell_complete(holdfast, {}, "holdfast", COMPLETION, os.environ[COMPLETION])
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        with suppress(ValueError):  # not the main thread: signals are not for this one
            signal.signal(signal.SIGTERM, _terminate)
    with holdfast.make_context("holdfast", arguments) as context:
        status: Any = holdfast.invoke(context)
    return status if isinstance(status, int) else 0


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise_for(number, SystemExit(Status.TERMINATED))


def _be_quiet() -> None:
    """Silence warnings and logs of the library: errors are printed in one line."""
    logger = logging.getLogger("holdfast")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
