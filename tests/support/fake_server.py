"""fakeredis's TCP server as a program: prints its port on one line, serves until it is killed.

A separate process, so that a test that holds the GIL or stops its own process does not stop
the server, and so that the server can be paused by a signal like a real one.
"""

from __future__ import annotations

import argparse
import logging

from fakeredis import TcpFakeServer


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=0)
    options = arguments.parse_args()
    logging.disable(logging.CRITICAL)
    server = TcpFakeServer(("127.0.0.1", options.port), server_type="redis", server_version=(7, 0))
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
