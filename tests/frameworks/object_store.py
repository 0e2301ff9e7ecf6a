"""python -m tests.frameworks.object_store PORT: S3 on 127.0.0.1, by moto.

moto looks at the condition of a write and writes in two steps. Here it answers one request after
the other, so that nothing comes between the two, as with a store for production.
"""

from __future__ import annotations

import sys

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple


def main(port: int) -> None:
    application = DomainDispatcherApplication(create_backend_app)
    run_simple("127.0.0.1", port, application, threaded=False)


if __name__ == "__main__":
    main(int(sys.argv[1]))
