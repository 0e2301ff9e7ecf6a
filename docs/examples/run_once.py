"""Runs a command unless another machine runs it already: python run_once.py COMMAND [ARGUMENT...].

For a job that cron starts on every machine. Exits with the command's code, or with 0 when another
machine has the lock. Should the lock be lost while the command runs, the command is ended.
"""

from __future__ import annotations

import subprocess
import sys

import holdfast


def main(command: list[str]) -> int:
    with holdfast.Client() as client:
        lock = client.lock(f"run-once:{command[0]}")
        if not lock.acquire(blocking=False):
            print(f"{command[0]} runs on another machine")
            return 0
        try:
            return run(command, lock)
        finally:
            if not lock.lost:
                lock.release()


def run(command: list[str], lock: holdfast.Lock) -> int:
    """Run the command for as long as the lock is held."""
    with subprocess.Popen(command) as process:
        while not lock.lost:
            try:
                return process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                continue
        process.terminate()
    print(f"the lock was lost: {command[0]} was ended", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
