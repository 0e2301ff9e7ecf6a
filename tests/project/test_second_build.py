"""An extra that is added later in a clone compiles nothing: pip builds from what is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.lint import tree

STEP = re.compile(r"^ *\[\d+/\d+\] Building (.+)$", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_second_build_of_pip_compiles_nothing(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    for path in tree.files():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree.ROOT / path, clone / path)
    variables = {**os.environ, "CXXFLAGS": "-O0", "CFLAGS": "-O0"}
    for folder in ("SKBUILD_BUILD_DIR", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_C_COMPILER_LAUNCHER"):
        variables.pop(folder, None)

    def compiled() -> list[str]:
        command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "-w", str(tmp_path)]
        done = subprocess.run(
            [*command, str(clone)], env=variables, capture_output=True, text=True, check=True
        )
        return STEP.findall(done.stdout)

    assert compiled() != []
    assert compiled() == []
