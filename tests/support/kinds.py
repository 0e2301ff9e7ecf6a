"""pytest plugin: `pytest --kind slots` runs the tests of one kind, `--kind slots,once` of two.

A test is of the kinds that its parameters are rows of, in any table of kinds, or name; and of the
kind that its file is about: `test_<word>.py`, or `test_<word>_<more>.py`. The words are those of
the tables in `holdfast.servers`, and of the locks that are made of others.
"""

from __future__ import annotations

import pytest

from holdfast.servers import BUILT, KINDS
from tests.support.matrix import params_of

WORDS = frozenset({*(kind.word for kind in (*KINDS, *BUILT)), "red_lock", "multi_lock"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kind", default="", help=f"kinds, by comma: {', '.join(sorted(WORDS))}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = {*filter(None, config.getoption("--kind").split(","))}
    if unknown := wanted - WORDS:
        raise pytest.UsageError(f"unknown kinds: {', '.join(sorted(unknown))}")
    if wanted:
        kept = [item for item in items if kinds_of(item) & wanted]
        config.hook.pytest_deselected(items=[*set(items).difference(kept)])
        items[:] = kept


def kinds_of(item: pytest.Item) -> set[str]:
    """The words of the kinds that a test is of."""
    named = {kind_of_file(item.path.stem)}
    for value in params_of(item).values():
        for word in (value, *(getattr(value, each, "") for each in ("word", "kind", "name"))):
            named |= {word} if isinstance(word, str) else set()
    return named & WORDS


def kind_of_file(stem: str) -> str:
    """The longest word that a file's name has behind `test_`."""
    parts = stem.split("_")[1:]
    starts = ("_".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((word for word in starts if word in WORDS), "")
