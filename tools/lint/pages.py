"""Rules for pages that follow a form: decisions and change notes; and for the site."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tools.lint import tree
from tools.lint.cpp import command

DECISIONS = Path("docs/decisions")
NOTES = Path("changelog.d")
SITE = Path("build/site")
HEAD = re.compile(
    r"# (?P<number>\d+)\. (?P<title>.+)\n\n"
    r"Status: (?P<status>accepted|superseded by \[\d+\]\([\w-]+\.md\))\n"
    r"Date: (?P<date>\d{4}-\d\d-\d\d)\n\n"
)
# Links that a reader follows do not match, nor does the page's own address.
LOADED = re.compile(
    r"""(?:<(?:script|img|iframe|source|embed)\b[^>]*?\bsrc=|<link\b(?![^>]*\brel="?canonical)"""
    r"""[^>]*?\bhref=|\burl\(|@import\s+)["']?((?:https?:)?//[^"'\s>)]+)"""
)
#: A module of the library in a page, and a name of it in the page as built.
#: Their names but for the client are those of holdfast.asyncio, and on its pages.
OF_ASYNCIO = ("holdfast.anyio", "holdfast.trio")
MODULE = re.compile(r"^::: (holdfast(?:\.[a-z_]+)*)$", re.MULTILINE)
ANCHOR = re.compile(r'<h\d id="(holdfast\.[^"]+)"')
#: Of the special methods those are shown that the language calls for a user.
HIDDEN = re.compile(r"\._(?!_(?:a?enter|a?exit|call)__$)")
FOREIGN = re.compile(r"<p>([^<]*::)</p>")
NOTE_NAME = re.compile(r"\+[a-z0-9_]+\.(?:added|changed|fixed|removed|security)\.md")


def check_decisions(root: Path = tree.ROOT) -> list[str]:
    """Returns a line for each decision that is not as the index wants it."""
    problems = []
    index = (root / DECISIONS / "index.md").read_text(encoding="utf-8").splitlines()
    pages = sorted((root / DECISIONS).glob("[0-9]*.md"))
    for page in pages:
        place = f"{DECISIONS}/{page.name}"
        number = int(page.name[:4])
        head = HEAD.match(page.read_text(encoding="utf-8"))
        if head is None or int(head["number"]) != number:
            problems.append(f"{place}:1: must begin with '# {number}. …', 'Status: …', 'Date: …'")
        elif (row := index_row(page, head)) not in index:
            problems.append(f"{DECISIONS}/index.md: needs the row {row}")
    return problems


def index_row(page: Path, head: re.Match[str]) -> str:
    cells = (head["number"], f"[{head['title']}]({page.name})", head["status"], head["date"])
    return f"| {' | '.join(cells)} |"


def check_changes(root: Path = tree.ROOT) -> list[str]:
    """Returns a line for each change note that towncrier would leave out or take for two."""
    problems = []
    for note in sorted((root / NOTES).iterdir()):
        if note.name == "README.md":
            continue
        if NOTE_NAME.fullmatch(note.name) is None:
            problems.append(f"{NOTES}/{note.name}: must be named +<words>.<kind>.md, see README.md")
        elif not re.fullmatch(r"(?:\S.*\n)+", note.read_text(encoding="utf-8")):
            problems.append(f"{NOTES}/{note.name}: must be one paragraph")
    return problems


def check_site() -> list[str]:
    """Builds the site; returns warnings, broken links included, and what other hosts would load."""
    # Not with --quiet: what it does not print does not fail a strict build.
    run = command([sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "tools/mkdocs.yml"])
    if run.returncode == 0:
        site = tree.ROOT / SITE
        return loaded_from_others(site) + broken_cells(site) + check_reference(site)
    return [line for line in run.stdout.splitlines() if not line.startswith("INFO")]


def loaded_from_others(site: Path) -> list[str]:
    """Returns a line for each part of a page or a style sheet that another host has to send."""
    problems = []
    for page in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        found = LOADED.findall(page.read_text(encoding="utf-8"))
        problems += [f"{SITE / page.relative_to(site)}: loads {part}" for part in found]
    return problems


def broken_cells(site: Path) -> list[str]:
    """Returns a line for each page that shows a backslash before a pipe, or a row as text."""
    problems = []
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        cells = re.findall(r"<td\b[^>]*>(.*?)</td>", text, re.DOTALL)
        if any("\\|" in cell for cell in cells) or "<p>|" in text:
            problems.append(f"{SITE / page.relative_to(site)}: a table that is not shown as one")
    return problems


def check_reference(site: Path, root: Path = tree.ROOT) -> list[str]:
    """Returns a line for each public name that the reference lacks, and each it must not show."""
    problems = []
    modules: set[str] = set()
    shown: set[str] = set()
    for page in sorted(site.rglob("*.html")):
        source = root / "docs" / page.relative_to(site).with_suffix(".md")
        written = source.read_text(encoding="utf-8") if source.is_file() else ""
        text = page.read_text(encoding="utf-8")
        modules.update(MODULE.findall(written))
        shown.update(ANCHOR.findall(text))
        problems += [f"{SITE / page.relative_to(site)}: {fault}" for fault in not_public(text)]
    named = [name for module in sorted(modules) for name in public_names(module, root)]
    problems += [f"docs/reference: {name} is on no page" for name in named if name not in shown]
    return problems


def public_names(module: str, root: Path = tree.ROOT) -> list[str]:
    """Returns the full names of what a module of the package offers, except for modules."""
    found = package(root)[module]
    offered = [name for name in found.exports if not name.startswith("__")]
    if module in OF_ASYNCIO:
        offered = ["Client"]
    return [f"{module}.{name}" for name in offered if not found[name].is_module]


@cache
def package(root: Path) -> Any:
    """Returns the modules of python/ as griffe reads them, by their names."""
    import griffe  # comes with the group docs

    loader = griffe.GriffeLoader(search_paths=[str(root / "python")], allow_inspection=False)
    for name in ("holdfast", "holdfast_tools"):
        loader.load(name)
    loader.resolve_aliases()
    return loader.modules_collection


def not_public(text: str) -> Iterator[str]:
    """Yields what a built page of the reference must not show."""
    yield from (f"{name} is not public" for name in ANCHOR.findall(text) if HIDDEN.search(name))
    yield from (f"{mark!r} is a mark of another language" for mark in FOREIGN.findall(text))
