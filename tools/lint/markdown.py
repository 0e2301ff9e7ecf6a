"""Rules for the pages: tables, the links of the package's page, and claims that need a limit."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tools.lint import tree

PACKAGE_PAGE = Path("python/README.md")
SEPARATOR = re.compile(r"\|(?: *:?-+:? *\|)+")
SAMPLE = re.compile(r"^( *)```(?:python|py)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
CELL_END = re.compile(r"(?<!\\)\|")
LINK = re.compile(r"\]\((?!https?://|#)([^)]+)\)|\b(?:src|href|srcset)=\"(?!https?://|#)([^\"]+)\"")
ITEM = re.compile(r"(?=^\s*(?:[-*]|\d+\.|\|) ?)", re.MULTILINE)

# What may be said with a limit only, and what the same paragraph, item or row then says.
CLAIMS = {
    "a loss that the server reports is known before the next renewal: name tracking": (
        re.compile(r"(?i)\bnext renewal\b"),
        re.compile(r"(?i)track|says what changed|when-a-loss-is-known|cannot happen|at the latest"),
    ),
    "a guard frees what a killed program held before its lease ends: name the guard": (
        re.compile(
            r"(?is)(?=.*\b(?:kill(?:ed|s)|die[sd]|crash(?:ed)?|death)\b)"
            r"(?=.*\b(?:free|lose[sd]?|keeps?|expires?|returned|no leader|over)\b)"
            r"(?=.*(?:\blease|\b30 s\b)).*"
        ),
        re.compile(r"(?i)\bguard|at the latest|at most"),
    ),
}
# Where the pages are about what was, or about the engine.
WITHOUT_CLAIMS = ("docs/decisions", "docs/architecture.md", "docs/wire-protocol.md", "changelog.d")
CLIENT_PER_LOCK = re.compile(r"\bClient\([^()]*\)\s*\.(?:\w*lock\w*|\w*semaphore|\w*latch)\(")


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each place in a page that breaks a rule."""
    problems = []
    for path in tree.files(root):
        if path.suffix == ".md":
            text = (root / path).read_text(encoding="utf-8")
            problems += [f"{path}:{number}: {what}" for number, what in faults(path, text)]
        elif path.suffix == ".py" and is_shown(path):
            text = (root / path).read_text(encoding="utf-8")
            found = [*clients_per_lock(text)]
            found += fragile_loops(text) if path.parts[0] == "docs" else []
            problems += [f"{path}:{number}: {what}" for number, what in found]
    return problems


def is_shown(path: Path) -> bool:
    """Whether users copy from this Python file."""
    return path.parts[0] in {"python", "docs"}


def faults(path: Path, text: str) -> Iterator[tuple[int, str]]:
    prose = without_fences(text)
    yield from broken_tables(prose)
    yield from clients_per_lock(text)
    for sample in SAMPLE.finditer(text):
        first = line_of(text, sample)
        yield from ((first + number, what) for number, what in fragile_loops(sample[2]))
    if path.parts[0] == "docs" and not any(map(path.is_relative_to, WITHOUT_CLAIMS)):
        yield from claims(prose)
    if path == PACKAGE_PAGE:
        for match in LINK.finditer(prose):
            yield line_of(prose, match), f"{match[0]} leads nowhere on a package index"


def without_fences(text: str) -> str:
    """Returns the text with the lines of its code blocks empty."""
    lines, inside = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        lines.append("" if fence or inside else line)
        inside ^= fence
    return "\n".join(lines)


def broken_tables(prose: str) -> Iterator[tuple[int, str]]:
    """Finds rows that no table shows, and pipes that the site and GitHub show differently."""
    cells = 0  # of the table that goes on in this line
    lines = prose.split("\n")
    for number, line in enumerate(lines, start=1):
        row = line.strip()
        if not row.startswith("|"):
            cells = 0
            continue
        if "\\|" in row:
            yield number, r"\| in a table: write <code>…&#124;…</code>"
        if not cells and number < len(lines) and SEPARATOR.fullmatch(lines[number].strip()):
            cells = count(row)
        if not cells:
            yield number, "a row outside its table"
        elif count(row) != cells:
            yield number, f"a row of {count(row)} cells in a table of {cells}"


def count(row: str) -> int:
    return len(CELL_END.findall(row)) - 1


def claims(prose: str) -> Iterator[tuple[int, str]]:
    start = 1
    for paragraph in re.split(r"\n\n", prose):
        number = start
        for part in ITEM.split(paragraph):
            for what, (claim, limit) in CLAIMS.items():
                if claim.search(part) and not limit.search(part):
                    yield number, what
            number += part.count("\n")
        start += paragraph.count("\n") + 2


def clients_per_lock(text: str) -> Iterator[tuple[int, str]]:
    for match in CLIENT_PER_LOCK.finditer(text):
        yield line_of(text, match), "an example that makes a client for one lock"


def fragile_loops(program: str) -> Iterator[tuple[int, str]]:
    """Finds the `while` loops that acquire, and that an error of the server would end."""
    try:
        module = ast.parse(textwrap.dedent(program))
    except SyntaxError:  # an excerpt
        return
    for loop in (node for node in ast.walk(module) if isinstance(node, ast.While)):
        parts = list(ast.walk(loop))
        caught = {
            ast.unparse(part.type).rpartition(".")[2]
            for part in parts
            if isinstance(part, ast.ExceptHandler) and part.type is not None
        }
        if any(map(acquires, parts)) and not caught & {"HoldfastError", "Exception"}:
            yield loop.lineno, "a loop that acquires does not catch holdfast.HoldfastError"


def acquires(node: ast.AST) -> bool:
    if isinstance(node, (ast.With, ast.AsyncWith)):
        entered = " ".join(ast.unparse(item.context_expr) for item in node.items)
        return re.search(r"(?i)lock|semaphore|hold\(", entered) is not None
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".acquire", ".hold"))


def line_of(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1
