"""The lint's own rules: each one sees what it is there for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.lint import sizes, texts

# In two halves, so that the lint does not find them here.
FORBIDDEN = [
    ("a path of one machine", "cd /ro", "ot/checkout"),
    ("a path of one machine", "open('/ho", "me/me/file')"),
    ("the host of a package index", "https://files.python", "hosted.org/packages"),
    ("the host of a package index", "https://repo1.maven", ".apache.org/maven2"),
    ("an unfinished place", "// TO", "DO: later"),
    ("a number in the tracker", "see iss", "ue 12"),
    ("a number in the tracker", "fixed (#", "12)"),
]
HARMLESS = [
    "#include <sys/socket.h>",
    "redis://127.0.0.1:6379/0",
    "color: #123456",
    "https://docs.python.org/3/library/threading.html",
    "self.registry.add(proxy.go)",
    "lib/work/file",
]


@pytest.mark.parametrize(("what", "first", "second"), FORBIDDEN)
def test_a_forbidden_text_is_named_with_its_place(
    tmp_path: Path, what: str, first: str, second: str
) -> None:
    (tmp_path / "notes.md").write_text(f"# Notes\n{first}{second}\n")
    [problem] = texts.check(tmp_path)
    assert problem.startswith(f"notes.md:2: {what}: ")


@pytest.mark.parametrize("line", HARMLESS)
def test_a_harmless_text_passes(tmp_path: Path, line: str) -> None:
    (tmp_path / "notes.md").write_text(line)
    assert texts.check(tmp_path) == []


def test_our_texts_pass() -> None:
    assert texts.check() == []


@pytest.mark.parametrize(("lines", "problems"), [(400, 0), (401, 1)])
def test_a_file_has_at_most_400_lines(tmp_path: Path, lines: int, problems: int) -> None:
    (tmp_path / "long.cpp").write_text("\n" * lines)
    assert len(sizes.long_files(tmp_path)) == problems
