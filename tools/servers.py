"""Builds further servers for the tests from Debian's source packages: python -m tools.servers.

    HOLDFAST_TEST_SERVERS=$(python -m tools.servers) nox -s matrix
    python -m tools.servers redis8.6 valkey9 --into FOLDER

Prints the value of HOLDFAST_TEST_SERVERS; what it does, and which server cannot be had and why,
goes to stderr. A server is built once for
each version of its package, in a minute or two, and kept in FOLDER (~/.cache/holdfast/servers).

The sources come from where the machine gets its Debian packages: an entry of its apt configuration,
with the suites replaced, is written to FOLDER/apt, and the system's configuration and lists stay as
they are. They are those of the server's authors, without Debian's patches, which a mirror may not
have. Needs apt, a C compiler, make and pkg-config; no rights of root.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cmp_to_key
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_FOLDER = Path.home() / ".cache" / "holdfast" / "servers"
SUITES = ("sid", "experimental", "trixie")
APT = Path("/etc/apt")
MAKE = ("make", "-j2", "MALLOC=libc", "BUILD_WITH_MODULES=no", "BUILD_TLS=no", "USE_SYSTEMD=no")


@dataclass(frozen=True)
class Server:
    """A kind of server as the tests call it, and the newest version of what package it is."""

    kind: str
    package: str
    version: str
    libraries: tuple[str, ...] = ()
    """Packages whose sources Debian has taken out of the server's, where they are below deps/."""

    @property
    def program(self) -> str:
        return f"{self.package}-server"

    def matches(self, version: str) -> bool:
        return upstream(version).startswith(f"{self.version}.")


SERVERS = (
    Server("redis8.6", "redis", "8.6"),
    Server("redis8.0", "redis", "8.0"),
    Server("valkey9", "valkey", "9"),
    Server("valkey8", "valkey", "8"),
    Server("redict7", "redict", "7", ("hiredict",)),
)


class ServersError(Exception):
    """Why a server cannot be built, and what to do."""


def upstream(version: str) -> str:
    """The version of a package without Debian's parts: `8.6.3` of `5:8.6.3-1`."""
    found = re.match(r"(?:\d+:)?([0-9.]+)", version)
    return found[1] if found else version


def source_entry(configuration: str, codename: str) -> str:
    """The first entry for the machine's own release, as one for sources of `SUITES`."""
    for stanza in re.split(r"\n\s*\n", configuration):
        fields = dict(re.findall(r"(?m)^([A-Za-z-]+):[ \t]*(.*)$", stanza))
        if codename in fields.get("Suites", "").split():
            fields |= {"Types": "deb-src", "Suites": " ".join(SUITES), "Components": "main"}
            return "".join(f"{name}: {value}\n" for name, value in fields.items())
    line = re.search(
        rf"(?m)^deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+{codename}\s", configuration
    )
    if line is None:
        msg = f"{APT} has no entry for the release {codename}: add one, as of a usual installation"
        raise ServersError(msg)
    signed = re.search(r"signed-by=(\S+)", line["options"] or "")
    key = f"Signed-By: {signed[1]}\n" if signed else ""
    suites = " ".join(SUITES)
    return f"Types: deb-src\nURIs: {line['uri']}\nSuites: {suites}\nComponents: main\n{key}"


def configuration() -> str:
    """What the machine's apt is configured with."""
    files = [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]
    used = [path for path in files if path.suffix in {".list", ".sources"} and path.is_file()]
    return "\n\n".join(path.read_text() for path in used)


def codename() -> str:
    found = re.search(r"(?m)^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text())
    if found is None:
        raise ServersError("/etc/os-release has no VERSION_CODENAME: this needs a Debian system")
    return found[1]


def run(*command: str, cwd: Path | None = None, log: Path | None = None) -> str:
    """The output of a command; an error has its end."""
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if log is not None:
        log.write_text(done.stdout)
    if done.returncode != 0:
        end = "\n".join(done.stdout.splitlines()[-15:])
        msg = f"{' '.join(command)} ended with {done.returncode}:\n{end}"
        raise ServersError(msg)
    return done.stdout


class Sources:
    """Debian's source packages, by a separate apt configuration below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for part in ("parts", "lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        entry = source_entry(configuration(), codename())
        (folder / "parts" / "debian.sources").write_text(entry)
        self._apt("apt-get", "update")

    def versions(self, package: str) -> list[str]:
        """Those that there are, the newest first."""
        shown = self._apt("apt-cache", "showsrc", package)
        found = set(re.findall(rf"(?m)^Package: {package}\n(?:.+\n)*?Version: (\S+)$", shown))
        return sorted(found, key=cmp_to_key(_newer_first))

    def fetch(self, package: str, version: str, into: Path) -> Path:
        """The folder with the unpacked source, whose digest is that of apt's signed lists."""
        into.mkdir(parents=True)
        wanted = ("--tar-only", "--only-source", f"{package}={version}")
        self._apt("apt-get", "source", *wanted, cwd=into)
        [archive] = into.glob("*.orig.tar.*")
        shutil.unpack_archive(archive, into)
        [source] = [path for path in into.iterdir() if path.is_dir()]
        return source

    def _apt(self, tool: str, *arguments: str, cwd: Path | None = None) -> str:
        options = {
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": self._folder / "parts",
            "Dir::State::lists": self._folder / "lists",
            "Dir::Cache": self._folder / "cache",
        }
        given = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
        return run(tool, "-q", *given, *arguments, cwd=cwd)


def _newer_first(one: str, other: str) -> int:
    newer = subprocess.run(["dpkg", "--compare-versions", one, "gt", other], check=False)
    return -1 if newer.returncode == 0 else 1


def build(server: Server, version: str, sources: Sources, folder: Path) -> Path:
    """The program of that version, compiled unless it is there."""
    home = folder / f"{server.package}-{re.sub(r'[^0-9a-z.+-]', '_', version)}"
    program = home / server.program
    if program.is_file():
        return program
    print(f"building {server.program} {version}", file=sys.stderr)
    work = home.with_name(f"{home.name}.building")
    shutil.rmtree(work, ignore_errors=True)
    source = sources.fetch(server.package, version, work / "source")
    for library in server.libraries:
        newest = sources.versions(library)[0]
        shutil.move(sources.fetch(library, newest, work / library), source / "deps" / library)
    run(*MAKE, server.program, cwd=source / "src", log=work / "build.log")
    home.mkdir(exist_ok=True)
    shutil.copy2(source / "src" / server.program, program)
    shutil.rmtree(work)
    return program


def wanted(kinds: Sequence[str]) -> list[Server]:
    known = {server.kind: server for server in SERVERS}
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        raise ServersError(f"no server is called {unknown[0]!r}: there are {', '.join(known)}")
    return [known[kind] for kind in kinds or known]


def programs(servers: Sequence[Server], folder: Path) -> dict[str, Path]:
    """The program of each kind that can be had, built where it is not there."""
    sources = Sources(folder / "apt")
    found: dict[str, Path] = {}
    for server in servers:
        try:
            found[server.kind] = program(server, sources, folder)
        except ServersError as error:
            print(f"no {server.kind}: {error}", file=sys.stderr)
    return found


def program(server: Server, sources: Sources, folder: Path) -> Path:
    """The program of the newest version that matches."""
    versions = [each for each in sources.versions(server.package) if server.matches(each)]
    if not versions:
        raise ServersError(f"{', '.join(SUITES)} have no {server.package} {server.version}")
    return build(server, versions[0], sources, folder)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.servers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kinds", nargs="*", help=", ".join(each.kind for each in SERVERS))
    parser.add_argument("--into", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER")
    options = parser.parse_args(arguments)
    try:
        found = programs(wanted(options.kinds), options.into.absolute())
    except (ServersError, OSError) as error:
        print(f"python -m tools.servers: {error}", file=sys.stderr)
        return 1
    print(",".join(f"{kind}={os.fspath(program)}" for kind, program in found.items()))
    return 0 if len(found) == len(wanted(options.kinds)) else 1


if __name__ == "__main__":
    sys.exit(main())
