"""What is made of the classes for threads: a change of one half alone is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools import tasks
from tools.lint import tree

pytestmark = pytest.mark.skipif(
    shutil.which("ruff") is None, reason="ruff is not installed: it is of the group lint"
)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("slots", "run(self._read_taken())", "run(self._read_holders())"),
        ("task_slots", "self._read_taken())", "self._read_holders())"),
    ],
)
def test_a_change_of_one_half_alone_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str
) -> None:
    shutil.copytree(tree.ROOT / tasks.PACKAGE, tmp_path / tasks.PACKAGE)
    shutil.copy(tree.ROOT / "pyproject.toml", tmp_path)
    monkeypatch.setattr(tasks, "ROOT", tmp_path)
    assert tasks.check() == []
    file = tmp_path / tasks.FOLDER / f"{name}.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    [found] = tasks.check()
    assert found.startswith("python/holdfast/_locks/task_slots.py: ")


def test_what_is_written_by_hand_in_both_halves_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line more than are there is found."""
    monkeypatch.setattr(tasks, "MOST_TWICE", sum(tasks.written_twice().values()) - 1)
    [found] = tasks.check()
    assert found.startswith("lines by hand in both halves: ")
