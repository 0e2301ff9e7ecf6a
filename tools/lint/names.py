"""What pages about the code name is there: files by path, and names of the code."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

from tools.lint import tree

#: Not read: what was decided and changed before, and pages that name parts of other projects.
OTHERS = (
    "CHANGELOG.md",
    "benchmarks",
    "changelog.d",
    "docs/decisions",
    "docs/guides",
    "docs/releasing.md",
    "docs/synchronizers",
    "docs/wire-protocol.md",
    "tests/interop",
)
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.{},*<>-]+(?:/[\w.{},*<>-]+)*/?|/")
ENDINGS = (".cpp", ".h", ".lua", ".md", ".pml", ".py", ".pyi", ".toml")
#: What a path may leave out.
SUFFIXES = ("", ".h", ".cpp", ".py", ".lua")
#: A class, `Class::method`, `function()`, `name.method()`, or the start of one before `...`.
NAME = re.compile(r"(?:[A-Z][a-z]\w*|[a-z_]\w*(?=\()|[a-z]\w*_$)(?:(?:::|\.)\w+)*(?:\(\))?")
WORD = re.compile(r"\w+")
MODELS = Path("tests/torture/models")
#: The part of a model that a comment names, of the engine.
METHOD = re.compile(r"\b[A-Z]\w*[a-z]\w*::\w+")


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns a line for each path or name in backticks that is nowhere."""
    files = tree.files(root)
    paths = known_paths(files)
    words = known_words(root, files)
    problems = []
    for page in files:
        if page.suffix != ".md" or any(page.is_relative_to(other) for other in OTHERS):
            continue
        lines = (root / page).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            gone = [each for each in QUOTED.findall(line) if not is_there(each, paths, words)]
            problems += [f"{page}:{number}: {each!r} is not in the tree" for each in gone]
    return problems + check_models(root, files)


def check_models(root: Path, files: list[Path]) -> list[str]:
    """Returns a line for each name of the engine in the models that the engine does not have."""
    engine = [path for path in files if path.parts[0] in {"cpp", "lua"}]
    paths, words = known_paths(files), known_words(root, engine)
    named = [
        (place, each)
        for model in files
        if model.parent == MODELS
        for place, each in named_in(root, model)
    ]
    return [
        f"{place}: {each!r} is not in the engine"
        for place, each in named
        if not is_of_the_engine(each, paths, words)
    ]


def named_in(root: Path, model: Path) -> list[tuple[str, str]]:
    """Returns the names of the engine in a model, or in the page about them, with their places."""
    find = METHOD.findall if model.suffix == ".pml" else of_the_code
    lines = (root / model).read_text(encoding="utf-8").splitlines()
    return [(f"{model}:{n}", each) for n, line in enumerate(lines, start=1) for each in find(line)]


def is_of_the_engine(quoted: str, paths: set[str], words: set[str]) -> bool:
    return quoted in words if WORD.fullmatch(quoted) else is_there(quoted, paths, words)


def of_the_code(line: str) -> list[str]:
    """Returns what the last cell of a table's row quotes."""
    return QUOTED.findall(line.rstrip(" |").rpartition("|")[2]) if line.startswith("|") else []


def known_paths(files: list[Path]) -> set[str]:
    """Returns every path of a file or folder, from each of its folders on."""
    parts = {each.parts for file in files for each in (file, *file.parents[:-1])}
    return {"/".join(part[start:]) for part in parts for start in range(len(part))}


def known_words(root: Path, files: list[Path]) -> set[str]:
    """Returns the words of the code and of the models."""
    code = [path for path in files if path.suffix in tree.CODE | {".pml"}]
    return {
        word
        for path in code
        for word in WORD.findall((root / path).read_text(encoding="utf-8", errors="replace"))
    }


def is_there(quoted: str, paths: set[str], words: set[str]) -> bool:
    if ("/" in quoted or quoted.endswith(ENDINGS)) and PATH.fullmatch(quoted):
        return "<" in quoted or all(is_path(each, paths) for each in expanded(quoted))
    if NAME.fullmatch(quoted.removesuffix("...")):
        return is_name(quoted, words)
    return True


def is_name(quoted: str, words: set[str]) -> bool:
    *whole, last = WORD.findall(quoted)
    shortened = quoted.endswith("...") and any(word.startswith(last) for word in words)
    return all(word in words for word in whole) and (last in words or shortened)


def expanded(path: str) -> list[str]:
    """Returns both for `lock.{h,cpp}`."""
    braces = re.search(r"\{([\w,]+)\}", path)
    if braces is None:
        return [path]
    return [path.replace(braces[0], each) for each in braces[1].split(",")]


def is_path(path: str, paths: set[str]) -> bool:
    """Whether a file or folder has this path, from one of its folders on."""
    path = path.rstrip("/")
    if "*" in path:
        return bool(fnmatch.filter(paths, path))
    return path.startswith("build") or any(path + suffix in paths for suffix in SUFFIXES)
