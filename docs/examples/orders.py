"""Pays an order once, although a paused worker comes back: python orders.py FILE ORDER WORKER.

The order's fenced lock lets one worker in at a time. A worker that was stopped for longer than its
lease does not know that another one had the order since: the database refuses its token.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

import holdfast
from holdfast.contrib.fencing import SqlFence, fenced

TABLE = "CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, paid_by TEXT)"


def pay(client: holdfast.Client, database: sqlite3.Connection, order: str, worker: str) -> str:
    """Returns the worker that has paid the order: this one, or an earlier one."""
    lock = client.fenced_lock(f"order:{order}", wait=5, label=f"paid by {worker}")
    with fenced(lock, SqlFence(), database):
        database.execute("INSERT OR IGNORE INTO orders VALUES (?, NULL)", (order,))
        update = "UPDATE orders SET paid_by = ? WHERE id = ? AND paid_by IS NULL"
        database.execute(update, (worker, order))
        found = database.execute("SELECT paid_by FROM orders WHERE id = ?", (order,)).fetchone()
        return str(found[0])


def main(path: str, order: str, worker: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(TABLE)
        SqlFence().create(database)
        with holdfast.Client(label=worker) as client:
            try:
                print("paid by", pay(client, database, order, worker))
            except (holdfast.StaleTokenError, holdfast.LockLostError) as error:
                sys.exit(f"nothing was written: {error}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
