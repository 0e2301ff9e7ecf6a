"""A synchronizer is one word everywhere: where one place is forgotten, this is red."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import pytest

import holdfast
import holdfast.asyncio
import holdfast.servers
from tests.contract.calls import CALLINGS
from tests.contract.kinds import KINDS
from tests.contract.kinds import SYNCHRONIZERS as OTHERS
from tools.lint.tree import ROOT, files

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


def names(form: str, text: str) -> Callable[[str], bool]:
    """The file has that text, where `{}` is the word and `{class}` the class."""

    def check(word: str) -> bool:
        path = ROOT / form.format(word)
        written = text.replace("{class}", class_of(word)).replace("{}", word)
        return path.is_file() and written in path.read_text()

    return check


def of_sides(form: str, text: str) -> Callable[[str], bool]:
    """As ``names()``, of each lock that the word stands for."""

    def check(word: str) -> bool:
        sides = ("read_lock", "write_lock") if word == "read_write_lock" else (word,)
        return all(names(form, text)(side) for side in sides)

    return check


def has_counter_row(word: str) -> bool:
    declared = names("cpp/locks/sync/recipes/kinds.h", "const CounterKind& {}();")
    rows = (
        (ROOT / "cpp/locks/sync/recipes/kinds.h")
        .read_text()
        .partition("kCounterKinds{")[2]
        .partition("}")[0]
    )
    return declared(word) and f"&{word}" in rows.split(", ")


def is_public(package: ModuleType) -> Callable[[str], bool]:
    """The package shows the class, and its client makes it unless programs construct it."""

    def check(word: str) -> bool:
        made = word in MADE_BY_PROGRAMS or (
            callable(getattr(package.Client, word, None)) and class_of(word) in package.__all__
        )
        name = class_of(word)
        return made and name in package.__all__ and isinstance(getattr(package, name), type)

    return check


# The files with the classes for threads, and for tasks.
THREADS = ("lock", "threads", "semaphores", "permit_semaphore")
TASKS = ("task_lock", "tasks", "task_semaphores")


def has_class(files: tuple[str, ...]) -> Callable[[str], bool]:
    """One of the files has the class of the word."""
    forms = [f"python/holdfast/_locks/{file}.py" for file in files]
    return lambda word: any(
        names(form, f"class {{class}}{end}")(word) for form in forms for end in "(:"
    )


# Their members are locks of several clients.
MADE_BY_PROGRAMS = {"red_lock"}
QUORUMS = {"multi_lock", "red_lock"}
LOCKS = {"lock", "fair_lock", "fenced_lock", "spin_lock", "read_write_lock"}
COUNTERS = {"semaphore", "count_down_latch"}
ROWS = {kind.word for kind in KINDS} | {other.name for other in OTHERS}

# What is built on locks and states, and scripts that they share: see holdfast._locks.steps.
BUILT = [kind.word for kind in holdfast.servers.BUILT]
BUILT_ON_LOCKS = {"client", "inspect", "revision", *BUILT}

Places = dict[str, Callable[[str], bool]]
TESTS: Places = {"tests/contract/kinds.py": lambda word: word in ROWS}
EVERY: Places = {
    "lua/{}/": has_scripts,
    "python/holdfast/_locks/threads.py": has_class(THREADS),
    "python/holdfast/_locks/tasks.py": has_class(TASKS),
    "python/holdfast/_clients/threads.py": is_public(holdfast),
    "python/holdfast/_clients/tasks.py": is_public(holdfast.asyncio),
    "docs/synchronizers/{}.md": is_file("docs/synchronizers/{}.md"),
}
KIND: Places = {
    "python/holdfast/_locks/kinds.py": names("python/holdfast/_locks/kinds.py", '"{}",')
}
OF_LOCKS: Places = KIND | {
    "cpp/locks/sync/recipes/kinds.h": of_sides(
        "cpp/locks/sync/recipes/kinds.h", '{"{}", &{}_recipe'
    ),
    "cpp/locks/sync/recipes/locks.cpp": of_sides(
        "cpp/locks/sync/recipes/locks.cpp", " {}_recipe() {"
    ),
}
OF_COUNTERS: Places = KIND | {
    "cpp/locks/sync/recipes/kinds.h": has_counter_row,
    "cpp/locks/sync/recipes/counters.cpp": names(
        "cpp/locks/sync/recipes/counters.cpp", 'CounterKind kind{"{}",'
    ),
}
OF_QUORUMS: Places = {
    "cpp/locks/sync/quorum/quorum_round.h": names(
        "cpp/locks/sync/quorum/quorum_round.h", " {}_rule("
    ),
    "cpp/bindings/register_synchronizers.cpp": names(
        "cpp/bindings/register_synchronizers.cpp", '"{}"'
    ),
    "python/holdfast/_core.pyi": names("python/holdfast/_core.pyi", "def {}("),
}
OF_PERMITS: Places = KIND | {
    "cpp/locks/sync/recipes/{}.cpp": is_file("cpp/locks/sync/recipes/{}.cpp"),
    "cpp/locks/sync/recipes/{}.h": is_file("cpp/locks/sync/recipes/{}.h"),
    "cpp/locks/engine/{}.h": names("cpp/locks/engine/{}.h", "class {class} "),
    "cpp/locks/engine/{}.cpp": names("cpp/locks/engine/{}.cpp", "{class}::{class}("),
    "cpp/bindings/register_synchronizers.cpp": names(
        "cpp/bindings/register_synchronizers.cpp", 'module, "{class}")'
    ),
    "python/holdfast/_core.pyi": names("python/holdfast/_core.pyi", "class {class}:"),
}


def has_page(word: str) -> bool:
    pages = (f"synchronizers/{word}.md", f"guides/{word}-election.md")
    return any((ROOT / "docs" / page).is_file() for page in pages)


def has_reference(word: str) -> bool:
    """A page of each flavour has the directive of the class."""
    pages = {path.name: path.read_text() for path in (ROOT / "docs/reference").glob("*.md")}
    listed = [name for name, text in pages.items() if f".{class_of(word)}\n" in text]
    return {name.startswith("asyncio") for name in listed} == {True, False}


def has_keys(word: str) -> bool:
    """A row of ``BUILT``, of whose keys and channel each is known."""
    rows = [kind for kind in holdfast.servers.BUILT if kind.word == word]
    words = {key for kind in rows for key in (kind.channel, *kind.commands)} - {"", "name"}
    return bool(rows) and all(holdfast.servers.key_beside(key, b"name") for key in words)


def has_link(page: str) -> Callable[[str], bool]:
    """The page has a link with the word."""

    def check(word: str) -> bool:
        return re.search(rf"(?i)\[[^\]]*{word}s?\]\(", (ROOT / page).read_text()) is not None

    return check


class Place(NamedTuple):
    """A place that what is built on locks touches, and what to write there."""

    name: str
    has: Callable[[str], bool]
    add: str


#: What a new kind built on steps touches. The doctor, the decorators, the client for tasks, and
#: the tests that run over ``servers.BUILT`` are made of its row.
OF_BUILT = (
    Place(
        "python/holdfast/_locks/kinds.py",
        has_keys,
        "its row in BUILT, and in _KEYS a key that only it has",
    ),
    Place("lua/{}/", has_scripts, "its steps, each conditional on a hold or permit of its caller"),
    Place(
        "python/holdfast/_locks/{}.py",
        has_class(("{}",)),
        "its calls, as generators of exchanges, and its class for threads",
    ),
    Place(
        "python/holdfast/_locks/task_{}.py",
        has_class(("task_{}",)),
        "its class for tasks, which drives the same generators",
    ),
    Place(
        "python/holdfast/_clients/threads.py",
        lambda word: callable(getattr(holdfast.Client, word, None)),
        "the method that makes it, and a Late() for its module; then run python -m tools.tasks",
    ),
    Place(
        "python/holdfast/_clients/tasks.py",
        lambda word: callable(getattr(holdfast.asyncio.Client, word, None)),
        "run python -m tools.tasks",
    ),
    Place(
        "python/holdfast/__init__.py",
        is_public(holdfast),
        "its class: in _LATE, in __all__, and imported for type checkers",
    ),
    Place("python/holdfast/asyncio/__init__.py", is_public(holdfast.asyncio), "the same"),
    Place(
        "python/holdfast/inspect/_built.py",
        names("python/holdfast/inspect/_built.py", 'held.use = "{}"'),
        "by what a key is seen to be one",
    ),
    Place(
        "tests/contract/calls.py",
        lambda word: word in {row.kind for row in CALLINGS},
        "its row in CALLINGS, by which its calls meet every fault",
    ),
    Place(
        "tests/contract/test_foreign_data.py",
        names("tests/contract/test_foreign_data.py", "def {}("),
        "its calls beside fields of another program",
    ),
    Place(
        "tests/deployments/security/test_rights.py",
        names("tests/deployments/security/test_rights.py", 'Kind("{}", '),
        "its row in BUILT: a use of it with no rights but the documented ones",
    ),
    Place(
        "benchmarks/instructions/subject.py",
        names("benchmarks/instructions/subject.py", ").{}("),
        "a subject whose instructions are counted, and its bound",
    ),
    Place("docs/synchronizers/{}.md", has_page, "its page"),
    Place("docs/reference/", has_reference, "its class on a page of each flavour"),
    Place("docs/choosing.md", has_link("docs/choosing.md"), "when to choose it"),
    Place("docs/rights.md", has_link("docs/rights.md"), "the row of its rights"),
    Place("docs/replicas.md", names("docs/replicas.md", "{}"), "what a failover means to it"),
    Place("docs/wire-protocol.md", names("docs/wire-protocol.md", "`{}/"), "its keys and steps"),
    Place("README.md", names("README.md", "| {} |"), "a row"),
    Place("python/README.md", names("python/README.md", "{}"), "the same"),
)


def missing_of_built(word: str) -> list[str]:
    """What is to be added for a kind that is built on locks, and where."""
    return [f"{each.name.format(word)}: {each.add}" for each in OF_BUILT if not each.has(word)]


def places_of(word: str) -> Places:
    """The files that the synchronizer touches, its tests left out."""
    for group, special in ((LOCKS, OF_LOCKS), (COUNTERS, OF_COUNTERS), (QUORUMS, OF_QUORUMS)):
        if word in group:
            return EVERY | special
    return EVERY | OF_PERMITS


@pytest.mark.parametrize("word", SYNCHRONIZERS)
def test_every_place_knows_the_synchronizer(word: str) -> None:
    places = places_of(word) | TESTS
    assert [place.format(word) for place, has in places.items() if not has(word)] == []


@pytest.mark.parametrize("word", BUILT)
def test_every_place_knows_what_is_built_on_locks(word: str) -> None:
    assert missing_of_built(word) == []


def test_every_place_names_what_a_new_kind_lacks() -> None:
    """No place has a kind with this word."""
    lacks = missing_of_built("echo")
    assert lacks == [f"{each.name.format('echo')}: {each.add}" for each in OF_BUILT]
    assert len(lacks) >= 19


def test_a_kind_of_lock_or_counter_touches_at_most_nine_files() -> None:
    kinds = LOCKS | COUNTERS
    assert {word: len(places_of(word)) for word in kinds} == dict.fromkeys(kinds, 9)


def test_no_other_file_of_the_code_lists_the_kinds_of_lock() -> None:
    known = {place.format("lock") for place in places_of("lock")}
    words = [(word, class_of(word)) for word in LOCKS - {"lock"}]
    code = [path for path in files() if path.parts[0] in {"cmake", "cpp", "lua", "python"}]
    texts = {path.as_posix(): (ROOT / path).read_text() for path in code}
    lists = {
        name for name, text in texts.items() if all(any(s in text for s in each) for each in words)
    }
    assert lists - known == set()
    assert {"cpp/locks/sync/recipes/kinds.h", "python/holdfast/_clients/tasks.py"} <= lists


@pytest.mark.parametrize("folder", ["lua", "docs/synchronizers"])
def test_no_place_has_an_unknown_word(folder: str) -> None:
    found = {path.stem for path in (ROOT / folder).iterdir() if path.suffix in {"", ".md"}}
    strange = found - set(SYNCHRONIZERS) - BUILT_ON_LOCKS - {"README", "index"}
    unknown = [word for word in sorted(strange) if not word.startswith("_")]
    assert unknown == [], "add a row to KINDS or BUILT of python/holdfast/_locks/kinds.py"


def test_the_contract_tests_have_no_unknown_word() -> None:
    assert set(SYNCHRONIZERS) >= ROWS
