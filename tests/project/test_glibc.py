"""What a build for an older glibc is made with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools import glibc


def test_the_compilers_are_zigs_for_the_wanted_glibc(tmp_path: Path) -> None:
    found = glibc.write_compilers("x86_64-linux-gnu.2.28", tmp_path)
    zig = {"CC": "cc", "CXX": "c++"}
    assert set(found) == set(zig)
    for variable, name in zig.items():
        script = Path(found[variable])
        assert f"-I -m ziglang {name} -target x86_64-linux-gnu.2.28 " in script.read_text()
        assert script.stat().st_mode & 0o111


def deliver(folder: Path, digest: str) -> None:
    crate = folder / "vendor" / glibc.CRATE
    crate.mkdir(parents=True)
    (crate / ".cargo-checksum.json").write_text(json.dumps({"package": digest}))


def test_only_the_pinned_source_of_openssl_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {"right": glibc.SHA256, "wrong": "0" * 64}

    def vendor(_command: list[str], *, cwd: Path, check: bool) -> None:
        assert check
        deliver(cwd, digests[cwd.name])

    monkeypatch.setattr(subprocess, "run", vendor)
    source = glibc.fetch_openssl(tmp_path / "right")
    assert source == tmp_path / "right" / "vendor" / "openssl-src" / "openssl"
    assert '"=300.' in (tmp_path / "right" / "Cargo.toml").read_text()
    with pytest.raises(SystemExit, match="has to be " + glibc.SHA256):
        glibc.fetch_openssl(tmp_path / "wrong")
