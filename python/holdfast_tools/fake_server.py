"""fakeredis' server as a program: it prints its port and serves until it is killed.

``python -m holdfast_tools.fake_server [PORT]``; without a port, or 0: a free one.
"""

from __future__ import annotations

import logging
import sys


def main(port: str = "0", *_: str) -> None:
    """Serve until the process is killed."""
    from fakeredis import TcpFakeServer

    logging.disable(logging.CRITICAL)  # it logs each connection that is reset
    server = TcpFakeServer(("127.0.0.1", int(port)), server_type="redis", server_version=(7, 0))
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
