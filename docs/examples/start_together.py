"""Starts worker processes that begin at the same moment: python start_together.py WORKERS.

Each worker gets ready, counts one latch down, and waits at it for the others; here the workers are
processes of one machine, but they could be on several.
"""

from __future__ import annotations

import multiprocessing
import sys
import uuid

import holdfast


def work(number: int, name: str) -> None:
    with holdfast.Client() as client:
        latch = client.count_down_latch(name)
        latch.count_down()
        if not latch.wait(timeout=30):
            raise TimeoutError(f"{latch.count()} of the workers did not get ready in 30 s")
        print(f"worker {number} begins")


def main(count: int) -> int:
    name = f"ready:{uuid.uuid4()}"
    with holdfast.Client() as client:
        client.count_down_latch(name).try_set_count(count)
    processes = multiprocessing.get_context("spawn")
    workers = [processes.Process(target=work, args=(number, name)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return max((worker.exitcode or 0 for worker in workers), default=0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
