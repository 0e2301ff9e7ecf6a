"""Where there is no C++ compiler, one line names the package to install."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tools.lint.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CMAKE = shutil.which("cmake")
LINES = {
    "apt-get": "apt-get install g++ libssl-dev",
    "dnf": "dnf install gcc-c++ openssl-devel",
    "apk": "apk add g++ openssl-dev",
    "": "install one",
}


@pytest.mark.skipif(CMAKE is None, reason="cmake is not installed")
@pytest.mark.parametrize("manager", LINES, ids=[*[*LINES][:3], "none"])
def test_without_a_compiler_one_line_names_the_package_to_install(
    manager: str, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if manager:
        program = programs / manager
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    command = [str(CMAKE), "-S", str(ROOT), "-B", str(tmp_path / "build")]
    only_path = "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF"
    done = subprocess.run(
        [*command, only_path],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert [line.strip() for line in done.stderr.splitlines() if "C++" in line] == [
        "no C++17 compiler was found, and holdfast is compiled here: "
        f"{LINES[manager]}; then run pip again"
    ]
