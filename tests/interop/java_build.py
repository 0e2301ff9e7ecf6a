"""Builds the Java peer, once for each Redisson release and each state of its sources."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent / "peer"
RELEASES = ("3.17.6", "4.7.0")


class BuildError(Exception):
    """Java or Maven is missing, or Maven failed; the message holds its output."""


def build(release: str, root: Path) -> str:
    """Return the class path of the peer for one Redisson release, building it under `root`.

    Maven runs only when the sources changed since the last build there. Several processes may call
    it at once: one builds, the others wait for it.
    """
    directory = root / release
    directory.mkdir(parents=True, exist_ok=True)
    with (root / f"{release}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = directory / "sources.sha256"
        digest = _digest()
        if not stamp.exists() or stamp.read_text() != digest:
            shutil.rmtree(directory)
            directory.mkdir()
            _run_maven(release, directory)
            stamp.write_text(digest)
    return f"{directory / 'classes'}:{directory / 'jars'}/*"


def _digest() -> str:
    """Hash the project file and the Java sources, names and contents."""
    digest = hashlib.sha256()
    for path in sorted([SOURCES / "pom.xml", *SOURCES.rglob("*.java")]):
        digest.update(path.relative_to(SOURCES).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def _run_maven(release: str, directory: Path) -> None:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise BuildError(
                f"no {tool!r} on PATH: the Java peer needs a JDK (17 or newer) and Maven"
            )
    command = ["mvn", "-q", "-B", "-f", str(SOURCES / "pom.xml"), "-P", f"redisson-{release}"]
    command += [f"-Dpeer.build={directory}", "process-classes"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
