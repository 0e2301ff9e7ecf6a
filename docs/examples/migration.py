"""Migrates a database before an application starts on several machines: python migration.py FILE.

The first machine migrates. The others wait, find the new version, and start.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

import holdfast

STEPS = ("CREATE TABLE orders (id INTEGER)", "ALTER TABLE orders ADD COLUMN paid INTEGER")


def main(path: str) -> None:
    with holdfast.Client() as client, closing(sqlite3.connect(path)) as database:
        with client.lock("migration", wait=600), database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            for number in range(version, len(STEPS)):
                database.execute(STEPS[number])
                database.execute(f"PRAGMA user_version = {number + 1}")
                print(f"step {number + 1}", flush=True)
        print("starts")


if __name__ == "__main__":
    main(sys.argv[1])
