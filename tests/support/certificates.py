"""Certificates for TLS tests, made by the program `openssl`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def make_certificates(directory: Path, host: str = "IP:127.0.0.1") -> Path:
    """Write ca.crt, ca.key, server.crt and server.key (for `host`) into `directory`."""
    if shutil.which("openssl") is None:
        pytest.skip("the program openssl makes the certificates, and is not installed")
    directory.mkdir(parents=True, exist_ok=True)
    _openssl(directory, "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -out ca.crt", "ca")
    _openssl(directory, "req -newkey rsa:2048 -nodes -subj /CN=server -out server.csr", "server")
    (directory / "extensions").write_text(f"subjectAltName={host}\n")
    signing = "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2"
    _openssl(directory, f"{signing} -extfile extensions -out server.crt")
    return directory


def _openssl(directory: Path, command: str, key: str | None = None) -> None:
    words = command.split() + (["-keyout", f"{key}.key"] if key else [])
    subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)
