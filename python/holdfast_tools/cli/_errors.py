"""Exit statuses, and errors as one line."""

from __future__ import annotations

import enum
import errno
import sys

import click

from holdfast import ConnectionError, LockError, ServerError
from holdfast.inspect import shown

__all__ = [
    "Status",
    "complain",
    "status_of",
    "status_of_run",
]


class Status(enum.IntEnum):
    """The exit statuses of the program, besides those of commands."""

    FREE = 1
    USAGE = 2
    NO_SERVER = 69
    INTERNAL = 70
    CANNOT_WRITE = 74
    INTERRUPTED = 130
    CLOSED_PIPE = 141
    TERMINATED = 143


LIMITS = {
    errno.EMFILE: "the process may open no more files: raise `ulimit -n`",
    errno.ENFILE: "the machine may open no more files: raise the sysctl fs.file-max",
    errno.ENOMEM: "the system has no memory left",
}
NO_PROCESS = "no more processes are allowed: raise `ulimit -u`, or pids.max of the container"


def complain(message: object) -> None:
    """One line on stderr."""
    line = shown(" ".join(str(message).split()))
    try:
        print(f"holdfast: {line}", file=sys.stderr, flush=True)
    except (OSError, AttributeError):
        return  # there is no stderr


def status_of(error: Exception) -> int:
    """The status for an error, after its line has been written."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "holdfast"
        complain(f"{error.format_message().rstrip('.')}; see '{where} --help'")
        return Status.USAGE
    if isinstance(error, click.ClickException):
        complain(error.format_message())
        return error.exit_code
    return _status_of_failure(error)


def status_of_run(error: Exception) -> int:
    """The same, for ``holdfast run``: it has no output, so what fails is a call of the system."""
    if isinstance(error, OSError) and not isinstance(error, ConnectionError):
        hint = NO_PROCESS if error.errno == errno.EAGAIN else LIMITS.get(error.errno or 0)
        complain(f"{error.strerror or error}" + (f" ({hint})" if hint else ""))
        return Status.NO_SERVER
    return status_of(error)


def _status_of_failure(error: Exception) -> int:
    if isinstance(error, (ConnectionError, ServerError)):
        complain(error)
        return Status.NO_SERVER
    if isinstance(error, (LockError, ValueError, TypeError, OverflowError)):
        complain(error)
        return Status.USAGE
    if isinstance(error, OSError) and error.errno in LIMITS:
        return status_of_run(error)
    if isinstance(error, OSError):
        complain(f"cannot write the output: {error.strerror or error}")
        return Status.CANNOT_WRITE
    complain(f"internal error: {type(error).__name__}: {error}")
    return Status.INTERNAL
