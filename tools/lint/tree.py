"""Which files the project consists of."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {"build", "dist", "target", "__pycache__", "node_modules"}
CODE = {".c", ".cpp", ".h", ".py", ".pyi", ".lua", ".java", ".go", ".cmake", ".sh"}


def files(root: Path = ROOT) -> list[Path]:
    """Returns the files below `root` that are, or could be, committed: relative, sorted.

    Asks git; where there is none (an unpacked archive), takes all that is neither hidden nor built.
    """
    command = ["git", "-C", str(root), "ls-files", "-z", "-c", "-o", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        names = [Path(name.decode()) for name in listed.stdout.split(b"\0") if name]
    else:
        names = [path.relative_to(root) for path in root.rglob("*")]
        names = [name for name in names if not is_hidden_or_built(name)]
    return sorted({name for name in names if (root / name).is_file()})


def is_hidden_or_built(name: Path) -> bool:
    folders = name.parts[:-1]
    return any(part in NOT_OURS or part.startswith(".") for part in folders)


def code(root: Path = ROOT) -> list[Path]:
    """Returns the files of `files` that hold source code."""
    return [path for path in files(root) if is_code(path)]


def is_code(path: Path) -> bool:
    return path.suffix in CODE or path.name == "CMakeLists.txt"


def cpp(root: Path = ROOT) -> list[Path]:
    """Returns our C and C++ files."""
    return [path for path in code(root) if path.suffix in {".c", ".cpp", ".h"}]
