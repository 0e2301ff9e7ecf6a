"""Checks wheels before they are published: python tools/wheels.py FOLDER.

With --installed it checks the installed package instead: that it uses the OpenSSL of its wheel.
Needs no package but the standard library, as it also runs where cibuildwheel repairs a wheel, and
nm of binutils.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from zipfile import ZipFile

LARGEST = 3_800_000  # bytes
ENTRY = {"PyInit__core"}
#: What every wheel has to contain.
PARTS = (
    "holdfast/_core*.so",
    "holdfast/py.typed",
    "holdfast_pytest/py.typed",
    "holdfast_tools/py.typed",
    "holdfast_tools/web/static/index.html",
    "*.data/data/share/man/man1/holdfast.1",
    "*.dist-info/licenses/LICENSE",
    "*.dist-info/licenses/hiredis/COPYING",
    "*.dist-info/licenses/openssl/LICENSE",
    "*.dist-info/licenses/pybind11/LICENSE",
    "*.dist-info/sboms/holdfast.cdx.json",
)
#: What OpenSSL's code contains.
OPENSSL = b"CRYPTOGAMS"
#: What the bills of materials have to name, and the names of its packages.
MATERIALS = {
    "hiredis": {"hiredis"},
    "pybind11": {"pybind11"},
    "openssl": {"openssl", "openssl-libs", "libssl1.1", "libssl3", "libssl3t64"},
}


def main(arguments: list[str]) -> int:
    if arguments == ["--installed"]:
        problems = foreign_libraries()
    else:
        wheels = sorted(Path(arguments[0]).glob("*.whl"))
        problems = [f"{arguments[0]}: no wheel"] * (not wheels)
        problems += [f"{wheel.name}: {fault}" for wheel in wheels for fault in faults(wheel)]
    print("\n".join(problems) or "ok")
    return 1 if problems else 0


def faults(wheel: Path) -> list[str]:
    """Returns what is wrong with a repaired wheel."""
    found = []
    size = wheel.stat().st_size
    if size > LARGEST:
        found.append(f"{size} bytes, at most {LARGEST}")
    if "manylinux" not in wheel.name and "musllinux" not in wheel.name:
        found.append("not repaired: it runs only on machines like this one")
    with ZipFile(wheel) as archive:
        found += lacking(archive.namelist()) + unlisted(archive)
        found += wrong_code(archive)
    return found


def wrong_code(archive: ZipFile) -> list[str]:
    """Returns what is wrong with the module and the libraries of a wheel."""
    found = []
    modules = [name for name in archive.namelist() if fnmatch(name, PARTS[0])]
    libraries = [name for name in archive.namelist() if fnmatch(name, "holdfast_locks.libs/*")]
    if not any(OPENSSL in archive.read(name) for name in libraries):
        found.append("no OpenSSL inside")
    for name in modules:
        visible = exported(archive.read(name)) - ENTRY
        found += [f"{name} exports {symbol}" for symbol in sorted(visible)]
    return found


def lacking(names: list[str]) -> list[str]:
    """Returns what is not in a wheel that has files of these names."""
    return [f"lacks {part}" for part in PARTS if not any(fnmatch(name, part) for name in names)]


def unlisted(archive: ZipFile) -> list[str]:
    """Returns what the bills of materials of a wheel do not name."""
    bills = [name for name in archive.namelist() if fnmatch(name, "*.dist-info/sboms/*.cdx.json")]
    parts = [part for bill in bills for part in json.loads(archive.read(bill))["components"]]
    names = {part["name"] for part in parts}
    lists = MATERIALS.items()
    return [f"no bill of materials has {part}" for part, known in lists if not known & names]


def exported(module: bytes) -> set[str]:
    """Returns the names that a shared library defines for others."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(module)
        file.flush()
        command = ["nm", "--dynamic", "--defined-only", "--format=posix", file.name]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line.split()[0] for line in run.stdout.splitlines()}


def foreign_libraries() -> list[str]:
    """Returns the OpenSSL libraries of this process that are not of the wheel."""
    import holdfast._core

    folder = str(Path(holdfast.__file__).parents[1] / "holdfast_locks.libs")
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    loaded = {line.split()[-1] for line in maps.splitlines() if "/libssl" in line}
    foreign = [f"loaded: {path}" for path in sorted(loaded) if not path.startswith(folder)]
    return foreign if loaded else ["no OpenSSL of the wheel"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
