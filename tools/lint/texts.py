"""The text rules: nothing that belongs to one machine, one index or one day; plain English."""

from __future__ import annotations

import re
from pathlib import Path

from tools.lint import tree

# Written so that no pattern finds itself.
RULES = {
    "a path of one machine": re.compile(r"(?<![\w.*}-])/(?:root|home|work|Users)/[\w.]"),
    "the host of a package index": re.compile(
        r"\b(?:registry|repo1?|proxy|index|files|mirrors?|deb|ports)(?:\.[\w-]+)+\.(?:org|com|io)\b"
        r"|\bpypi\.\w+"
    ),
    "an unfinished place": re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X)\b"),
    "a number in the tracker": re.compile(r"(?i)\bissues?\s+#?\d|\(#\d+\)|\bgh-\d"),
}

# Words that leave the subject unnamed, and archaisms, in names of tests and functions too: see
# "Plain English" in CONTRIBUTING.md.
RIDDLE = re.compile(
    r"(?i)who[e]ver|no[b]ody|no[u]ght"
    r"|(?<![a-z])(?:who[m]|of[ _](?:its|their|his)[ _]o[w]n|so[ _]m[a]ny"
    r"|(?:is|are|was|were)[ _]t[o]ld|had fr[o]m|of[ _]o[u]rs)(?![a-z])"
    r"|(?-i:Of(?:Its|Their|His)O[w]n|(?:Is|Are|Was|Were)T[o]ld)(?![a-z])"
)

# What is written in plain English so far, and stays so: folders and files.
PLAIN = (
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "benchmarks",
    "changelog.d",
    "cmake",
    "cpp",
    "docs",
    "examples",
    "lua",
    "noxfile.py",
    "python",
    "tests",
    "tools",
)


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each place in a text file that breaks a rule."""
    problems = []
    for path in tree.files(root):
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found = faults(line) + riddles(line) * is_plain(path)
            problems += [f"{path}:{number}: {what}: {line.strip()}" for what in found]
    return problems


def faults(line: str) -> list[str]:
    return [what for what, pattern in RULES.items() if pattern.search(line)]


def riddles(line: str) -> list[str]:
    return [f"not plain English, {word!r}" for word in RIDDLE.findall(line)]


def is_plain(path: Path) -> bool:
    """Whether a path is in a folder, or is a file, that is written in plain English."""
    return any(path.is_relative_to(place) for place in PLAIN)
