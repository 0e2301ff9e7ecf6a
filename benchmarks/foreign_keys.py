"""``python -m benchmarks.foreign_keys``: how long listing locks among other keys holds up a server.

A million keys that are no locks, strings and hashes by turns, and one lock. The server's own slow
log times each command of ``holdfast.inspect.locks``; one that takes longer than 10 ms fails.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, cast

import holdfast
from benchmarks.server import Connection, Server
from holdfast import inspect

LONGEST_MS = 10.0
CHUNK = 50_000
FILL = """
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  if i % 2 == 0 then redis.call('set', 'text:' .. i, 'x')
  else redis.call('hset', 'hash:' .. i, 'field', 'x') end
end
"""


def fill(connection: Connection, keys: int) -> None:
    for first in range(1, keys + 1, CHUNK):
        connection.call("EVAL", FILL, 0, first, min(first + CHUNK - 1, keys))


def timed(connection: Connection, url: str) -> tuple[float, dict[str, list[float]]]:
    """Seconds for a listing, and the milliseconds of its commands by name."""
    with holdfast.Client(url) as client, client.lock("one"):
        connection.call("CONFIG", "SET", "slowlog-max-len", 10_000_000)
        connection.call("CONFIG", "SET", "slowlog-log-slower-than", 0)
        connection.call("SLOWLOG", "RESET")
        begun = time.monotonic()
        names = [found.name for found in inspect.locks(client)]
        seconds = time.monotonic() - begun
        connection.call("CONFIG", "SET", "slowlog-log-slower-than", -1)
    if names != ["one"]:
        msg = f"found {names}, not the one lock"
        raise RuntimeError(msg)
    took: dict[str, list[float]] = {}
    # Each entry: its number, when, microseconds, the command's words, and who sent it.
    entries = cast("list[list[Any]]", connection.call("SLOWLOG", "GET", -1))
    for _, _, microseconds, words, *_ in entries:
        took.setdefault(words[0].upper(), []).append(microseconds / 1000)
    return seconds, took


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign_keys", description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000, help="how many are no locks")
    keys = parser.parse_args().keys
    with Server() as server:
        connection = Connection(server.port)
        fill(connection, keys)
        seconds, took = timed(connection, f"redis://127.0.0.1:{server.port}/0")
        connection.close()
    print(f"one lock found among {keys} other keys in {seconds:.1f} s")
    for name, each in sorted(took.items()):
        print(f"{name:10} {len(each):9} commands, the longest {max(each):.2f} ms")
    longest = max(max(each) for each in took.values())
    print(f"the longest of all: {longest:.2f} ms, at most {LONGEST_MS:g} ms are allowed")
    return 0 if longest <= LONGEST_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
