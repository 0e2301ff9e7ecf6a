"""Computes a value once for all processes that need it: python cache_stampede.py CUSTOMER.

When a cached value ends, the first caller computes it and the others wait for it, instead of all
computing it at the same time. The server keeps it for a minute.
"""

from __future__ import annotations

import sys
import time

import holdfast

KEPT = 60.0
"""Seconds for which the value is used."""


def main(customer: str) -> None:
    with holdfast.Client() as client:

        @client.once_each("report:{customer}", keep=KEPT)
        def report(customer: str) -> str:
            print("computes", flush=True)
            time.sleep(0.2)  # the expensive query
            return f"the report of {customer}"

        print(report(customer))


if __name__ == "__main__":
    main(sys.argv[1])
