"""holdfast, called from threads."""

from __future__ import annotations

import holdfast
from benchmarks.python import blocking
from benchmarks.python.protocol import Config


def open_locks(words: Config) -> blocking.Locks:
    url = f"redis://127.0.0.1:{words.port}/0"
    if words.mode == "watchdog":
        return holdfast.Client(url, lease=words.lease).lock
    client = holdfast.Client(url)
    return lambda name: client.lock(name, lease=words.lease or None)


if __name__ == "__main__":
    blocking.main(open_locks)
