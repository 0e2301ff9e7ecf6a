"""Runs the command line as users do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.servers import Server
from tests.tools.inspect.conftest import client, other

__all__ = ["COMMAND", "Run", "client", "environment", "other", "run"]

BOUND = 60.0

Run = Callable[..., subprocess.CompletedProcess[str]]

COMMAND = [sys.executable, "-m", "holdfast"]


def environment(**changes: str) -> dict[str, str]:
    """The environment without what would change the output."""
    dropped = {"HOLDFAST_URL", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONUNBUFFERED"}
    return {name: value for name, value in os.environ.items() if name not in dropped} | changes


@pytest.fixture
def run(server: Server) -> Run:
    """Run ``holdfast --url <the server's> …`` to its end; ``input`` goes to its stdin."""

    def start(*arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, "--url", server.url, *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=False,
            env=environment(),
            stdin=subprocess.DEVNULL,
            **options,
        )

    return start
