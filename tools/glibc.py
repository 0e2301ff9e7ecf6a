"""Prepares a build for an older glibc than this machine's: python tools/glibc.py 2.28 FOLDER.

Writes FOLDER/bin/cc and c++, which are zig's Clang for that glibc (the package ziglang has to be
installed), and builds with them FOLDER/usr/local, the static libraries of OpenSSL, unless they are
there. Its source comes from the crate openssl-src, which lacks what shared libraries need, by
cargo, pinned by version and digest. Needs cargo, make and perl. FOLDER/environment.json has the
variables for a build with all this.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

CRATE = "openssl-src"
VERSION = "300.5.5+3.5.5"
SHA256 = "3f1787d533e03597a7934fd0a765f0d28e94ecc5fb7789f8053b1e699a56f709"
PURL = f"pkg:cargo/{CRATE}@{VERSION.replace('+', '%2B')}"
MANIFEST = f"""[package]
name = "sources"
version = "0.0.0"
edition = "2021"

[lib]
path = "empty.rs"

[dependencies]
{CRATE} = "={VERSION.partition("+")[0]}"
"""
#: Libraries only, without what TLS over TCP does not need; settings come from the usual folder.
OPTIONS = (
    "--openssldir=/etc/ssl",
    *(f"no-{part}" for part in ("apps", "docs", "legacy", "module", "shared", "tests")),
    *(f"no-{part}" for part in ("cmp", "cms", "dtls", "engine", "gost", "quic", "srp", "ts")),
)


def main(arguments: list[str]) -> int:
    glibc, folder = arguments[0], Path(arguments[1]).resolve()
    compilers = write_compilers(f"x86_64-linux-gnu.{glibc}", folder / "bin")
    local = folder / "usr/local"
    if not (local / "lib/libssl.a").exists():
        build_openssl(fetch_openssl(folder / "sources"), folder)
    variables = compilers | {
        "CMAKE_ARGS": f"-DOPENSSL_USE_STATIC_LIBS=ON -DHOLDFAST_OPENSSL_PURL={PURL}",
        "OPENSSL_ROOT_DIR": str(local),
    }
    (folder / "environment.json").write_text(json.dumps(variables, indent=1), encoding="utf-8")
    return 0


def write_compilers(target: str, folder: Path) -> dict[str, str]:
    """Returns the variables that name zig's compilers for its name of a target."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cc", "c++"):
        write_script(folder / name, [name, "-target", target])
    return {"CC": str(folder / "cc"), "CXX": str(folder / "c++")}


def write_script(script: Path, command: list[str]) -> None:
    """Writes a program that runs a command of zig."""
    # pip hides the packages of this Python from what it builds, by variables.
    zig = [sys.executable, "-I", "-m", "ziglang", *command]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(zig)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)


def fetch_openssl(folder: Path) -> Path:
    """Returns the folder of OpenSSL's source, which cargo has compared with its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(MANIFEST, encoding="utf-8")
    (folder / "empty.rs").touch()
    subprocess.run(["cargo", "vendor", "--quiet", "vendor"], cwd=folder, check=True)
    crate = folder / "vendor" / CRATE
    digest = json.loads((crate / ".cargo-checksum.json").read_text(encoding="utf-8"))["package"]
    if digest != SHA256:
        raise SystemExit(f"{CRATE} {VERSION} has the digest {digest}, which has to be {SHA256}")
    return crate / "openssl"


def build_openssl(source: Path, folder: Path) -> None:
    build = folder / "openssl"
    build.mkdir(exist_ok=True)
    # By its name, as the library contains the compiler's command line.
    environment = os.environ | {"CC": "cc", "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    configure = ["perl", str(source / "Configure"), "linux-x86_64", "--libdir=lib", *OPTIONS]
    install = ["install_dev", f"DESTDIR={folder}"]
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    for command in (configure, ["make", f"-j{jobs}", "build_libs"], ["make", *install]):
        subprocess.run(command, cwd=build, env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
