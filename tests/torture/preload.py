"""Imported by the server of `forkserver`: clients that have been used before it forks."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from holdfast import HoldfastError
from tests.support.actors import Flavour
from tests.torture.pool import PRELOAD
from tests.torture.worker import Order, make_clients

CLIENTS = make_clients(Flavour("sync"), Order(**json.loads(os.environ[PRELOAD])))
"""Of a worker's threads."""

for client in CLIENTS:
    # Used, also where a fault is on that lasts until this worker is ready.
    with suppress(HoldfastError):
        client.ping()
