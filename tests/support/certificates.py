"""Certificates for TLS tests, made by the program `openssl`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1"


def make_certificates(
    directory: Path, host: str = "IP:127.0.0.1", *, days: int = 2, signed_by: Path | None = None
) -> Path:
    """Write ca.crt, ca.key, server.crt and server.key (for `host`) into `directory`.

    `days`: how long the server's certificate is valid, negative for one that has expired.
    `signed_by`: the directory of another authority, which then signs; ca.crt is a copy of it.
    """
    if shutil.which("openssl") is None:
        pytest.skip("the program openssl makes the certificates, and is not installed")
    directory.mkdir(parents=True, exist_ok=True)
    if signed_by is None:
        making = f"req -x509 {_NEW_KEY} -nodes -days 2 -subj /CN=ca -out ca.crt"
        _openssl(directory, making, "ca")
    else:
        for name in ("ca.crt", "ca.key"):
            shutil.copy(signed_by / name, directory)
    _openssl(directory, f"req {_NEW_KEY} -nodes -subj /CN=server -out server.csr", "server")
    (directory / "extensions").write_text(f"subjectAltName={host}\n")
    signing = f"x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days {days}"
    _openssl(directory, f"{signing} -extfile extensions -out server.crt")
    return directory


def make_self_signed(directory: Path) -> Path:
    """The same files, of a server that vouches for itself; ca.crt is another authority's."""
    make_certificates(directory)
    making = f"req -x509 {_NEW_KEY} -nodes -days 2 -subj /CN=server -out server.crt"
    _openssl(directory, f"{making} -addext subjectAltName=IP:127.0.0.1", "server")
    return directory


def hash_directory(certificate: Path, directory: Path) -> Path:
    """A directory in which `certificate` is found by its hash."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(certificate, directory)
    subprocess.run(["openssl", "rehash", str(directory)], check=True, capture_output=True)
    return directory


def _openssl(directory: Path, command: str, key: str | None = None) -> None:
    words = command.split() + (["-keyout", f"{key}.key"] if key else [])
    subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)
