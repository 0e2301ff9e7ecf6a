"""A synchronizer is one word everywhere: where one place is forgotten, this is red."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast
import holdfast.asyncio
from tests.contract.kinds import KINDS
from tests.contract.kinds import SYNCHRONIZERS as OTHERS
from tools.lint.tree import ROOT

SYNCHRONIZERS = (
    "lock",
    "fair_lock",
    "fenced_lock",
    "spin_lock",
    "read_write_lock",
    "multi_lock",
    "red_lock",
    "semaphore",
    "permit_semaphore",
    "count_down_latch",
)
# Made of other locks, or the same as another on the server: without a separate step there.
WITHOUT_SCRIPTS = {"multi_lock", "red_lock", "spin_lock"}


def is_file(form: str) -> Callable[[str], bool]:
    return lambda word: (ROOT / form.format(word)).is_file()


def has_scripts(word: str) -> bool:
    return word in WITHOUT_SCRIPTS or any((ROOT / "lua" / word).glob("*.lua"))


def class_of(word: str) -> str:
    """`fair_lock`: `FairLock`."""
    return "".join(part.title() for part in word.split("_"))


def is_bound(word: str) -> bool:
    """The binding makes its engine object: a kind of lock by its word, others by a class."""
    sources = "".join(path.read_text() for path in (ROOT / "cpp/bindings").glob("register_*.cpp"))
    sides = ("read_lock", "write_lock") if word == "read_write_lock" else (word,)
    by_word = all(f'{{"{side}", &sync::' in sources for side in sides)
    return by_word or f'"{class_of(word)}"' in sources or f'module.def("{word}"' in sources


def is_public(word: str) -> bool:
    """Both packages show the class, and both clients make it unless programs construct it."""
    return all(
        class_of(word) in package.__all__
        and getattr(package, class_of(word)).__module__ == package.__name__
        and (word in MADE_BY_PROGRAMS or callable(getattr(package.Client, word, None)))
        for package in (holdfast, holdfast.asyncio)
    )


# Their members are locks of several clients.
MADE_BY_PROGRAMS = {"red_lock"}
ROWS = {kind.word for kind in KINDS} | {other.name for other in OTHERS}

PLACES: dict[str, Callable[[str], bool]] = {
    "lua/{}/": has_scripts,
    "cpp/sync/{}.h": is_file("cpp/sync/{}.h"),
    "cpp/sync/{}.cpp": is_file("cpp/sync/{}.cpp"),
    "cpp/bindings": is_bound,
    "python/holdfast/_{}.py": is_file("python/holdfast/_{}.py"),
    "python/holdfast/asyncio/_{}.py": is_file("python/holdfast/asyncio/_{}.py"),
    "the clients and the public names": is_public,
    "docs/synchronizers/{}.md": is_file("docs/synchronizers/{}.md"),
    "tests/contract/kinds.py": lambda word: word in ROWS,
}


def begun() -> list[str]:
    """The synchronizers that at least one place knows."""
    known = {
        word
        for word in SYNCHRONIZERS
        for place, has in PLACES.items()
        if has(word) and not (word in WITHOUT_SCRIPTS and place == "lua/{}/")
    }
    return [word for word in SYNCHRONIZERS if word in known]


def test_the_lock_is_there() -> None:
    assert "lock" in begun()


@pytest.mark.parametrize("word", begun())
def test_every_place_knows_the_synchronizer(word: str) -> None:
    assert [place.format(word) for place, has in PLACES.items() if not has(word)] == []


@pytest.mark.parametrize("folder", ["lua", "docs/synchronizers"])
def test_no_place_has_an_unknown_word(folder: str) -> None:
    found = {path.stem for path in (ROOT / folder).iterdir() if path.suffix in {"", ".md"}}
    strange = found - set(SYNCHRONIZERS) - {"README", "index"}
    assert [word for word in sorted(strange) if not word.startswith("_")] == []


def test_the_contract_tests_have_no_unknown_word() -> None:
    assert set(SYNCHRONIZERS) >= ROWS
