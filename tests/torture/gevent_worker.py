"""A worker whose threads are greenlets: everything is patched before anything else is imported."""

from __future__ import annotations

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402
import sys  # noqa: E402

from tests.torture.worker import Order, run  # noqa: E402

if __name__ == "__main__":
    run(Order(**json.loads(sys.argv[1])))
