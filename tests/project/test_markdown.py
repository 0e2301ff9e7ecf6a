"""What the pages say, checked by rule: tables, claims, options, and the page of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import holdfast
from tools.lint import markdown, names, texts, tree

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"


def found(page: str, text: str) -> list[str]:
    return [what for _, what in markdown.faults(Path(page), text)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TABLE, None),
        ("```\n| a row of a block |\n```\n", None),
        (TABLE + "\n| 3 | 4 |\n", "a row outside its table"),
        (TABLE + "| 3 |\n", "a row of 1 cells in a table of 2"),
        (TABLE + "| `+client\\|id` | 4 |\n", r"\| in a table: write <code>…&#124;…</code>"),
        (TABLE + "| <code>+client&#124;id</code> | 4 |\n", None),
    ],
)
def test_a_broken_table_is_found(text: str, problem: str | None) -> None:
    assert found("docs/a.md", text) == ([] if problem is None else [problem])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("The owner learns of it with the next renewal.", "name tracking"),
        ("Without tracking the owner learns of it with the next renewal.", None),
        ("- A worker that is killed keeps its locks for their lease.", "name the guard"),
        ("- A killed worker keeps its locks for their lease, without a guard.", None),
        ("- A killed worker is replaced.\n- A lock is free after its lease.", None),
    ],
)
def test_a_claim_without_its_limit_is_found(text: str, problem: str | None) -> None:
    problems = found("docs/a.md", text)
    assert len(problems) == (problem is not None)
    assert problem is None or problem in problems[0]


@pytest.mark.parametrize(
    ("caught", "problems"), [("LockError", 1), ("LockTimeout", 1), ("HoldfastError", 0)]
)
def test_a_loop_that_a_restart_of_the_server_would_end_is_found(caught: str, problems: int) -> None:
    loop = f"""while True:
    try:
        with client.lock("tidy"):
            tidy()
    except holdfast.{caught}:
        pass
"""
    assert len(found("docs/a.md", f"Text.\n\n```python\n{loop}```\n")) == problems


def test_an_example_that_makes_a_client_for_one_lock_is_found() -> None:
    text = '```python\nwith holdfast.Client("redis://host").lock("x"):\n    pass\n```\n'
    assert found("docs/a.md", text) == ["an example that makes a client for one lock"]


@pytest.mark.parametrize("link", ["[a](docs/a.md)", '<img src="docs/a.svg">'])
def test_a_link_of_the_package_page_that_leads_nowhere_is_found(link: str) -> None:
    [problem] = found(str(markdown.PACKAGE_PAGE), f"See {link}, [b](https://b.example).\n")
    assert problem.endswith("leads nowhere on a package index")


def test_an_extra_of_another_project_is_found() -> None:
    for other, ours in (
        ("hold-fast[cli]".replace("-", ""), False),
        ("'holdfast-locks[cli]'", True),
    ):
        assert (texts.faults(other) == []) is ours


def test_a_name_of_a_model_that_the_engine_has_not_is_found(tmp_path: Path) -> None:
    for folder in ("cpp", "tests/torture/models"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "cpp/book.h").write_text("class Book { void enter(); };\n")
    page = "| in the model | in the code |\n|---|---|\n| `x` | `enter`, `gone` |\n"
    (tmp_path / "tests/torture/models/README.md").write_text(page)
    (tmp_path / "tests/torture/models/a.pml").write_text(
        "skip /* Book::enter */ /* Book::leave */\n"
    )
    assert names.check(tmp_path) == [
        "tests/torture/models/README.md:3: 'gone' is not in the engine",
        "tests/torture/models/a.pml:1: 'Book::leave' is not in the engine",
    ]


def test_no_page_installs_from_an_index_what_is_not_published() -> None:
    changes = (tree.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"## {holdfast.__version__} (not published)" not in changes:
        return
    index = re.compile(r"pip install[^\n`]* '?holdfast-locks\b")
    after_the_release = Path("docs/releasing.md")
    pages = [path for path in tree.files() if path.suffix == ".md" and path != after_the_release]
    assert [page for page in pages if index.search((tree.ROOT / page).read_text("utf-8"))] == []


def test_every_extra_that_a_page_or_an_error_names_is_there() -> None:
    project = (tree.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = project.partition("[project.optional-dependencies]\n")[2].partition("\n[project.")[0]
    extras = set(re.findall(r"^(\w+) = ", section, re.MULTILINE))
    named = set()
    for path in tree.files():
        if path.suffix in {".md", ".py", ".cpp", ".toml", ".yml"}:
            text = (tree.ROOT / path).read_text(encoding="utf-8", errors="replace")
            for inside in re.findall(r"holdfast-locks\[([\w,-]+)\]", text):
                named |= {name.replace("-", "_") for name in inside.split(",")}
    assert named - extras - {"extra"} == set()
