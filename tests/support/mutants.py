"""A seeded sample of mutants by universalmutator, as breaks: tests/faults/matrix/mutants.txt.

    pip install universalmutator
    python -m tests.support.mutants --seed 1 cpp/redis/client:40 python/holdfast/_locks:30

Each argument is a folder or file and how many of its mutants are wanted. A mutant that does not
compile is none: the matrix (finders.py) says so.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
from pathlib import Path

from tests.support.breaking import ROOT, Break, Edit, path_of, read

SAMPLE = ROOT / "tests" / "faults" / "matrix" / "mutants.txt"
SUFFIXES = {".cpp": "cpp", ".h": "cpp", ".py": "python"}
FILES = 10
"""How many files of a folder are mutated: the tool takes seconds for each."""
NO_CODE = re.compile(
    r"\s*(//|/?\*|#|\"\"\"|from |import |using |namespace |@)|.*(static_assert|__all__)"
)


def all_mutants() -> tuple[Break, ...]:
    """Returns every mutant of the sample."""
    return tuple(read(SAMPLE.read_text("utf-8"))) if SAMPLE.exists() else ()


def mutants_of(path: Path, folder: Path) -> list[tuple[int, str]]:
    """Returns the mutants of one file: which line changes, from 0, and what it becomes."""
    command = ["mutate", str(path), SUFFIXES[path.suffix], "--noCheck", "--mutantDir", str(folder)]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    whole = path.read_text("utf-8").splitlines()
    found = set()
    for mutant in folder.glob(f"{path.stem}.mutant.*{path.suffix}"):
        lines = mutant.read_text("utf-8").splitlines()
        mutant.unlink()
        if len(lines) != len(whole):
            continue
        changed = [at for at, (old, new) in enumerate(zip(whole, lines, strict=True)) if old != new]
        if len(changed) == 1 and not NO_CODE.match(whole[changed[0]]):
            found.add((changed[0], lines[changed[0]]))
    return sorted(found)


def edit_of(path: Path, at: int, line: str) -> Edit:
    """Returns the edit of one line, with as many lines around it as make it unique."""
    text = path.read_text("utf-8")
    lines = text.splitlines()
    for around in range(len(lines)):
        first, last = max(0, at - around), min(len(lines), at + around + 1)
        old = "\n".join(lines[first:last])
        if text.count(old) == 1:
            return Edit(
                unique(path), old, "\n".join([*lines[first:at], line, *lines[at + 1 : last]])
            )
    raise ValueError(f"{path}: line {at + 1} has no unique surroundings")


def unique(path: Path) -> str:
    """As much of a path as no other file has."""
    parts = path.relative_to(ROOT).parts
    for count in range(1, len(parts) + 1):
        try:
            path_of("/".join(parts[-count:]))
        except LookupError:
            continue
        return "/".join(parts[-count:])
    raise ValueError(f"{path} is not of the code that is broken")


def sampled(place: Path, count: int, seed: int) -> list[str]:
    """Returns `count` mutants of a folder or file, as text."""
    choice = random.Random(f"{seed} {place.relative_to(ROOT)}")
    files = [place] if place.is_file() else sorted(place.rglob("*"))
    files = [each for each in files if each.suffix in SUFFIXES]
    every: list[tuple[Path, int, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for path in choice.sample(files, min(FILES, len(files))):
            every += [(path, *mutant) for mutant in mutants_of(path, Path(folder))]
    chosen = choice.sample(every, min(count, len(every)))
    return [text_of(path, at, line) for path, at, line in sorted(chosen)]


def text_of(path: Path, at: int, line: str) -> str:
    """Returns a mutant as a break."""
    edit = edit_of(path, at, line)
    name = re.sub(r"[^a-z\d]+", "-", f"{path.parent.name}-{path.stem}-{at + 1}".lower()).strip("-")
    what = f"{path.read_text('utf-8').splitlines()[at].strip()} -> {line.strip() or 'nothing'}"
    old = "\n".join(f"- {each}" for each in edit.old.splitlines())
    new = "\n".join(f"+ {each}" for each in edit.new.splitlines())
    return f"[{name}] {what}\n@ {edit.file}\n{old}\n{new}\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("places", nargs="+", help="a folder or file, a colon, and how many")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    texts: dict[str, str] = {}
    for each in given.places:
        place, _, count = each.rpartition(":")
        for text in sampled(ROOT / place, int(count), given.seed):
            texts.setdefault(text.partition("]")[0], text)
    SAMPLE.write_text("\n".join(texts.values()), "utf-8")


if __name__ == "__main__":
    main()
