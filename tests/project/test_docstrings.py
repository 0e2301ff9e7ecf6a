"""The docstring of everything public says itself what it does, and the unit of each time."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from types import ModuleType

import pytest

from tests.project.test_public_names import MODULES, module

#: The parameters that are times, of whatever function.
TIMES = frozenset(
    {
        "at_least",
        "backoff",
        "command_timeout",
        "connect_timeout",
        "interval",
        "keep",
        "lease",
        "max_age",
        "queue_timeout",
        "timeout",
        "wait",
        "within",
    }
)
UNIT = re.compile(r"\bseconds?\b|\bms\b")
ELSEWHERE = re.compile(r"\b[Aa]s\s+``holdfast\.|\b(?:twin\s+of|same\s+as)\s+``holdfast\.")
SENTENCE = re.compile(r"[.;](?=\s|$)")


def described(found: ModuleType) -> Iterator[tuple[str, object]]:
    """The public classes and functions of a module, and the public members of its classes.

    Members are those of the library's own classes, inherited ones too. Methods that only pass on
    to a base class of another package have that package's text.
    """
    for name in found.__all__:
        value = getattr(found, name)
        if inspect.isclass(value):
            yield name, value
            if issubclass(value, (tuple, Enum, BaseException)):
                continue
            for owner in value.__mro__:
                if owner.__module__.startswith("holdfast"):
                    yield from (
                        (f"{name}.{member}", inspect.getattr_static(value, member))
                        for member in vars(owner)
                        if not member.startswith("_") and is_described(vars(owner)[member])
                    )
        elif inspect.isroutine(value):
            yield name, value


def is_described(member: object) -> bool:
    return isinstance(member, (property, classmethod, staticmethod)) or inspect.isroutine(member)


def times_of(value: object) -> set[str]:
    """The parameters of a function that are times; a ``wait`` that is true or false is none.

    A class that a client makes, a common base and a record are made by the library only.
    """
    if inspect.isclass(value) and (
        "Made by ``" in (inspect.getdoc(value) or "")
        or value.__name__.startswith("Base")
        or is_dataclass(value)
    ):
        return set()
    called = getattr(value, "__func__", value)
    if not callable(called):
        return set()
    try:
        parameters = inspect.signature(called).parameters
    except ValueError:  # a built-in type
        return set()
    return {
        name
        for name, parameter in parameters.items()
        if name in TIMES and not isinstance(parameter.default, bool)
    }


def texts(name: str) -> list[tuple[str, object, str]]:
    found = dict(described(module(name)))
    return [(one, value, text_of(value)) for one, value in found.items()]


def text_of(value: object) -> str:
    """The docstring; of a class together with that of its constructor."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and inspect.isfunction(constructor := value.__init__):
        text += "\n\n" + (inspect.getdoc(constructor) or "")
    return text.strip()


def only_points_elsewhere(text: str) -> bool:
    return bool(ELSEWHERE.search(text)) and len(SENTENCE.findall(text)) < 2


@pytest.mark.parametrize("name", MODULES)
def test_each_public_text_says_what_it_is_and_its_units(name: str) -> None:
    found = texts(name)
    assert [one for one, _, text in found if not text] == []
    without_unit = [
        f"{one}({', '.join(sorted(times))})"
        for one, value, text in found
        if (times := times_of(value)) and not UNIT.search(text)
    ]
    assert without_unit == []
    assert [one for one, _, text in found if only_points_elsewhere(text)] == []


def test_what_has_no_unit_or_only_points_elsewhere_is_found() -> None:
    def wait(timeout: float) -> None: ...

    def release(wait: bool = True) -> None: ...

    assert times_of(wait) == {"timeout"}
    assert times_of(release) == set()
    assert UNIT.search("``timeout``: seconds to wait.")
    assert not UNIT.search("Wait until the timeout.")
    text = "Wait until the latch is open, as ``holdfast.CountDownLatch.wait``."
    assert only_points_elsewhere(text)
    assert not only_points_elsewhere(f"{text} ``timeout``: seconds.")
