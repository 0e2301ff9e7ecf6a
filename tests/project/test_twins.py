"""What is made of the classes for threads: a change of one half alone is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools import twins
from tools.lint import tree

pytestmark = pytest.mark.skipif(
    shutil.which("ruff") is None, reason="ruff is not installed: it is of the group lint"
)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("slots", "run(self._read_taken())", "run(self._read_holders())"),
        ("task_slots", "drive(self._read_taken())", "drive(self._read_holders())"),
    ],
)
def test_a_change_of_one_half_alone_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str
) -> None:
    shutil.copytree(tree.ROOT / twins.FOLDER, tmp_path / twins.FOLDER)
    monkeypatch.setattr(twins, "ROOT", tmp_path)
    assert twins.check() == []
    file = tmp_path / twins.FOLDER / f"{name}.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    [found] = twins.check()
    assert found.startswith("python/holdfast/_locks/task_slots.py: ")
