"""A name with several addresses, as a DNS server may have: for child processes.

    names.lead_to("127.0.0.2", "127.0.0.3")     # from the next resolution on
    child = start_child(program, environment=names.environment, URL=f"redis://{names.NAME}:6379")

`names` is the fixture of this module; it compiles name_shim.c, and skips where there is no
compiler. All addresses of 127.0.0.0/8 are this machine's.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("name_shim.c")


class Names:
    """The addresses of one name, for the processes that are started with `environment`."""

    NAME = "several.test"

    def __init__(self, shim: Path, file: Path) -> None:
        self._file = file
        self.environment = {"LD_PRELOAD": str(shim), "HOLDFAST_TEST_NAMES": str(file)}

    def lead_to(self, *addresses: str) -> None:
        """Let the name have these, in this order."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text("".join(f"{address}\n" for address in addresses))
        fresh.replace(self._file)


@pytest.fixture(scope="session")
def name_shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled shim."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler for the name shim")
    library = tmp_path_factory.mktemp("names") / "shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", str(_SOURCE)]
    subprocess.run([*command, "-o", str(library), "-ldl"], check=True)
    return library


@pytest.fixture
def names(name_shim: Path, tmp_path: Path) -> Names:
    """A name without addresses yet."""
    return Names(name_shim, tmp_path / "addresses")
