"""Adds to an account in a database that refuses late writers: python fenced_account.py FILE AMOUNT.

A process can be stopped for longer than its lease and go on afterwards. The token of its grant is
then smaller than the one that the database has seen since, and its write changes no row.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

import holdfast

TABLE = "CREATE TABLE IF NOT EXISTS account (id TEXT PRIMARY KEY, balance INTEGER, fence INTEGER)"
FIRST = "INSERT OR IGNORE INTO account VALUES ('it', 0, 0)"
WRITE = "UPDATE account SET balance = ?, fence = ? WHERE id = 'it' AND fence <= ?"


def add(database: sqlite3.Connection, amount: int, token: int | None) -> int:
    """Read, compute, write: returns the new balance."""
    (balance,) = database.execute("SELECT balance FROM account WHERE id = 'it'").fetchone()
    with database:
        written = database.execute(WRITE, (balance + amount, token, token)).rowcount
    if not written:
        raise RuntimeError(f"token {token} is older than the last one that wrote")
    return int(balance + amount)


def main(path: str, amount: int) -> None:
    with closing(sqlite3.connect(path)) as database, holdfast.Client() as client:
        lock = client.fenced_lock("account:it")
        with lock:
            with database:
                database.execute(TABLE)
                database.execute(FIRST)
            print(add(database, amount, lock.token))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
