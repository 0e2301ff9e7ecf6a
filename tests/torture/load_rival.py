"""The other process of the load run: it contends with the load, and answers by lines of JSON.

    python -m tests.torture.load_rival URL NUMBERS

It reads `errors`, `stop` or `commands`, one a line, answers each, and ends with its input.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

from holdfast import Client
from tests.torture.load_owners import END_BOUND, Numbers, Owners


def run(url: str, numbers: Path) -> None:
    with Client(url) as client:
        owners = Owners(client, Numbers(numbers))
        owners.start_rivals()
        for line in sys.stdin:
            print(json.dumps(_answer(line.strip(), client, owners)), flush=True)


def _answer(question: str, client: Client, owners: Owners) -> Any:
    if question == "stop":
        owners.join(END_BOUND)
        return {"acquisitions": owners.acquisitions, "held": owners.held()}
    return client.stats().commands if question == "commands" else owners.errors


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends this process
    run(sys.argv[1], Path(sys.argv[2]))
