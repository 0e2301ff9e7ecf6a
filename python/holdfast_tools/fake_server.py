"""fakeredis' server as a program: it prints its port and serves until it is killed."""

from __future__ import annotations

import logging
import sys


def main() -> None:
    """Serve until the process is killed."""
    from fakeredis import TcpFakeServer

    logging.disable(logging.CRITICAL)  # it logs each connection that is reset
    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis", server_version=(7, 0))
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
