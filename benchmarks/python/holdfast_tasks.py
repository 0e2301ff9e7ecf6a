"""holdfast, called from asyncio tasks."""

from __future__ import annotations

import holdfast.asyncio
from benchmarks.python import tasks
from benchmarks.python.protocol import Config


def open_locks(words: Config) -> tasks.Locks:
    return holdfast.asyncio.Client(f"redis://127.0.0.1:{words.port}/0").lock


if __name__ == "__main__":
    tasks.main(open_locks)
