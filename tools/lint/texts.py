"""The text rules: nothing that belongs to one machine, one index, one day; plain English; size."""

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
    "the name of another project: the distribution is holdfast-locks": re.compile(
        r"(?<![\w.-])holdfast\[[a-z]"
    ),
    "a number in the tracker": re.compile(r"(?i)\bissues?\s+#?\d|\(#\d+\)|\bgh-\d"),
}

# Words that leave the subject unnamed, and archaisms, in names of tests and functions too: see
# "Plain English" in CONTRIBUTING.md.
RIDDLE = re.compile(
    r"(?i)who[e]ver|no[b]ody|no[u]ght"
    r"|(?<![a-z])(?:who[m]|of[ _](?:its|their|his)[ _]o[w]n|so[ _]m[a]ny"
    r"|(?:is|are|was|were|be|being)[ _](?:not[ _])?t[o]ld|had fr[o]m|of[ _]o[u]rs)(?![a-z])"
    r"|(?-i:Of(?:Its|Their|His)O[w]n|(?:Is|Are|Was|Were)T[o]ld)(?![a-z])"
)

# Words of the engine that were replaced, and by what: see the glossary in CONTRIBUTING.md. As words
# and as parts of identifiers.
REPLACED = {
    "t[e]lls?|t[o]ld|t[e]lling": "notify, report, publish",
    "o[w]e[sd]?|o[w]ing": "in flight",
    "pa[t]ience|pa[t]iently": "timeout, connect deadline",
    "err[a]nds?": "awaitable kind",
    "dis[o]wn(?:s|ed)?": "detach",
    "carr[i]ers?": "command",
    "he[i]rs?": "next waiter",
    "negl[e]ct(?:s|ed)?|overs[i]ght": "stalled, supervision",
    "ret[i]re[sd]?": "decommission, stop renewing",
    "esc[o]rts?": "ASKING prefix",
    "ob[e]y(?:s|ed)?": "apply",
    "l[e]nds?|l[e]nt": "lease",
    "r[e]sts|r[e]sting|r[e]sted": "back off",
    "qu[e]stions?": "request, query",
    "h[e]ar[sd]?": "receive",
    "n[e]ws": "changes",
    "anyb[o]dy|someb[o]dy": "the subject's noun",
}
OLD_WORD = re.compile(
    "|".join(
        f"(?P<w{number}>(?<![a-z])(?:{words})(?![a-z]))" for number, words in enumerate(REPLACED)
    ),
    re.IGNORECASE,
)

#: Of a file with code.
MOST_LINES = 600

CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")

# Where they may not come back.
OF_THE_ENGINE = ("cpp", "lua", "tests/cpp")

# What is written in plain English so far, and stays so: folders and files.
PLAIN = (
    "CONTRIBUTING.md",
    "README.md",
    ".github/SECURITY.md",
    "benchmarks",
    "changelog.d",
    "cmake",
    "cpp",
    "docs",
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
        lines = text.splitlines()
        if len(lines) > MOST_LINES and tree.is_code(path):
            problems.append(f"{path}: {len(lines)} lines, at most {MOST_LINES}")
        rules = [faults, *[riddles] * is_plain(path), *[old_words] * is_engine(path)]
        for number, line in enumerate(lines, start=1):
            found = [what for rule in rules for what in rule(line)]
            problems += [f"{path}:{number}: {what}: {line.strip()}" for what in found]
    return problems


def faults(line: str) -> list[str]:
    return [what for what, pattern in RULES.items() if pattern.search(line)]


def riddles(line: str) -> list[str]:
    return [f"not plain English, {word!r}" for word in RIDDLE.findall(line)]


def old_words(line: str) -> list[str]:
    found = []
    for match in OLD_WORD.finditer(CAMEL_CASE.sub("_", line)):
        instead = list(REPLACED.values())[int((match.lastgroup or "w0")[1:])]
        found.append(f"{match[0]!r} was replaced by: {instead}")
    return found


def is_engine(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in OF_THE_ENGINE)


def is_plain(path: Path) -> bool:
    """Whether a path is in a folder, or is a file, that is written in plain English by us."""
    return path.parent.name != "licenses" and any(path.is_relative_to(place) for place in PLAIN)
