"""What `help()` says of the methods that make locks: each keyword, and if a lease is renewed."""

from __future__ import annotations

import inspect
import re

import pytest

import holdfast
from holdfast._locks.decorators import Naming

MAKERS = [
    name
    for name, method in vars(holdfast.Client).items()
    if not name.startswith("_") and len(inspect.signature(method).parameters) > 1
]


def text_of(name: str) -> str:
    return " ".join((inspect.getdoc(getattr(holdfast.Client, name)) or "").split())


@pytest.mark.parametrize("name", MAKERS)
def test_the_text_of_a_constructor_names_each_keyword(name: str) -> None:
    keywords = [
        each.name
        for each in inspect.signature(getattr(holdfast.Client, name)).parameters.values()
        if each.kind is each.KEYWORD_ONLY
    ]
    assert [word for word in keywords if f"``{word}``" not in text_of(name)] == []


@pytest.mark.parametrize("name", [name for name in MAKERS if "``lease``" in text_of(name)])
def test_each_text_of_a_lease_says_whether_it_is_renewed(name: str) -> None:
    explained = re.search(r"``lease``[^:]*:.*?(?=``\w+``[^:]*:|$)", text_of(name))
    assert explained is not None
    assert "renewed" in explained[0] or "as of ``lock``" in explained[0]


def test_help_shows_the_keywords_of_locked() -> None:
    shown = [*inspect.signature(holdfast.Client.locked).parameters]
    assert shown[2:] == [*inspect.signature(Naming).parameters][2:]
