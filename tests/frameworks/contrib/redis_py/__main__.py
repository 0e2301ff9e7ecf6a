"""python -m tests.frameworks.contrib.redis_py: redis-py's tests of its locks against ours.

The newest two releases, each with its own tests, from the source distributions that pip fetches.
pip installs each of them into this environment: run it in one made for it, as by
`nox -s python-redis-py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.support.servers import Server
from tools.lint.tree import ROOT

TESTS = ("tests/test_lock.py", "tests/test_asyncio/test_lock.py")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def main() -> int:
    """0 where all pass."""
    with tempfile.TemporaryDirectory() as folder:
        newest = fetch("redis", Path(folder, "newest"))
        before = fetch(f"redis<{version_of(newest)}", Path(folder, "before"))
        codes = [run(source) for source in (before, newest)]
    return max(codes)


def fetch(requirement: str, folder: Path) -> Path:
    """The unpacked source distribution of the newest release that fits."""
    command = ["download", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), requirement]
    subprocess.run([*PIP, *command], check=True)
    [archive] = folder.iterdir()
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def version_of(source: Path) -> str:
    """Of an unpacked source distribution."""
    return source.name.rpartition("-")[2]


def run(source: Path) -> int:
    """The tests of one release, with that release."""
    version = version_of(source)
    subprocess.run([*PIP, "install", f"redis=={version}"], check=True)
    server = Server("redis")  # on a TCP port: their fixtures know no unix socket
    server.start()
    print(f"redis-py {version}", flush=True)
    options = [
        "-p",
        "tests_of_holdfast.stand_in",
        "-p",
        "no:xdist",
        "-q",
        "-rs",
        "--asyncio-mode=auto",
    ]
    with tempfile.TemporaryDirectory() as folder:
        # Their package of tests has the same name as this one.
        Path(folder, "tests_of_holdfast").symlink_to(ROOT / "tests/frameworks/contrib/redis_py")
        environment = {**os.environ, "PYTHONPATH": folder}
        command = [sys.executable, "-m", "pytest", *options, f"--redis-url={server.url}", *TESTS]
        code = subprocess.run(command, cwd=source, env=environment, check=False).returncode
    server.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
