"""The private memory of a guard: while it waits, and at most while it releases."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.server import Server, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_KB_WAITING, MOST_KB = 1024, 2048

_CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    " -subj /CN=server -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem"
)


def private_kb(pid: int) -> int:
    """The private memory of a process; needs root, as a guard lets no other user look into it."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def most_private_kb(pid: int) -> int:
    """The largest that is seen until the process ends."""
    most = 0
    while True:
        try:
            most = max(most, private_kb(pid))
        except (ProcessLookupError, FileNotFoundError):
            return most


@contextmanager
def tls_server() -> Iterator[str]:
    """A server that speaks TLS; its URL."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        folder, port = Path(name), free_port()
        subprocess.run(shlex.split(_CERTIFICATE), cwd=folder, check=True, capture_output=True)
        certificate, key = folder / "certificate.pem", folder / "key.pem"
        with Server(
            tls_port=port,
            tls_auth_clients="no",
            tls_cert_file=certificate,
            tls_key_file=key,
            tls_ca_cert_file=certificate,
        ):
            yield f"rediss://127.0.0.1:{port}/0?tls_ca={certificate}"
