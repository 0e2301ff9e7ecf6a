"""What is public can be found: by `import *`, by `dir()`, by `help()`, and in the reference."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import holdfast
from tests.project.test_reference import public_modules
from tools.lint.pages import OF_ASYNCIO, check_reference, not_public, public_names

#: Those that need no further package.
LIBRARY = [name for name in public_modules() if ".contrib." not in name]
MODULES = public_modules()
NEITHER = re.compile(r"__\w+__")


def module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "holdfast":
            raise
        pytest.skip(f"{error.name} is not installed")


def public(found: ModuleType) -> list[str]:
    return [name for name in dir(found) if not name.startswith("_")]


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_offers_is_there(name: str) -> None:
    offered = module(name).__all__
    assert len({*offered}) == len(offered)
    namespace: dict[str, object] = {}
    exec(f"from {name} import *", namespace)
    assert [one for one in offered if one not in namespace] == []


@pytest.mark.parametrize("name", LIBRARY)
def test_dir_shows_what_is_public_and_nothing_else(name: str) -> None:
    found = module(name)
    beside = {"ConnectionError"} if found is holdfast else set()
    offered = {one for one in found.__all__ if not NEITHER.fullmatch(one)}
    assert {*public(found)} == offered | beside
    assert "__name__" in dir(found)


@pytest.mark.parametrize("name", MODULES)
def test_everything_public_has_a_text(name: str) -> None:
    without = []
    for one, value in offered(module(name)):
        without += [one] * (not inspect.getdoc(value))
        if inspect.isclass(value) and not issubclass(value, tuple):
            methods = {each for each in vars(value) if not each.startswith("_")}
            without += [
                f"{one}.{method}"
                for method in sorted(methods)
                if callable(getattr(value, method)) and not inspect.getdoc(getattr(value, method))
            ]
    assert without == []


def offered(found: ModuleType) -> list[tuple[str, object]]:
    """The public classes and functions of a module."""
    named = [(name, getattr(found, name)) for name in found.__all__]
    return [each for each in named if inspect.isclass(each[1]) or inspect.isroutine(each[1])]


@pytest.mark.parametrize("name", MODULES)
def test_no_text_has_marks_that_the_reference_shows(name: str) -> None:
    """The reference is Markdown, in which two colons at the end of a line are two colons."""
    found = module(name)
    texts = [inspect.getdoc(found) or ""]
    for _, value in offered(found):
        texts += [inspect.getdoc(value) or ""]
        if inspect.isclass(value):
            texts += [inspect.getdoc(getattr(value, each)) or "" for each in vars(value)]
    marked = re.compile(r"::$|:\w+:`|^\.\. ", re.MULTILINE)
    assert [line for text in texts for line in text.splitlines() if marked.search(line)] == []


def test_a_page_of_the_reference_shows_no_private_name_and_no_foreign_mark() -> None:
    page = '<h3 id="holdfast.Client" class="doc">…</h3><h4 id="holdfast.Client.__enter__">…</h4>'
    assert [*not_public(page)] == []
    hidden = '<h4 id="holdfast.Client._configure">…</h4><h4 id="holdfast.Client.__del__">…</h4>'
    assert [*not_public(page + hidden)] == [
        "holdfast.Client._configure is not public",
        "holdfast.Client.__del__ is not public",
    ]
    assert [*not_public(f"{page}<p>among its threads::</p><p>::</p>")] == [
        "'among its threads::' is a mark of another language",
        "'::' is a mark of another language",
    ]


def test_a_name_that_no_page_shows_is_found(tmp_path: Path) -> None:
    pytest.importorskip("griffe", reason="griffe comes with the group docs")
    built = "".join(f'<h3 id="{name}">…</h3>' for name in public_names("holdfast.observe")[1:])
    page = tmp_path / "reference" / "building.html"
    page.parent.mkdir()
    page.write_text(built)
    missing = [line for line in check_reference(tmp_path) if "holdfast.observe" in line]
    assert missing == [f"docs/reference: {public_names('holdfast.observe')[0]} is on no page"]


@pytest.mark.parametrize("name", LIBRARY)
def test_the_names_that_the_reference_must_show_are_those_of_the_module(name: str) -> None:
    pytest.importorskip("griffe", reason="griffe comes with the group docs")
    found = module(name)
    named = [one for one in found.__all__ if not NEITHER.fullmatch(one)]
    offered = {one for one in named if not isinstance(getattr(found, one), ModuleType)}
    if name in OF_ASYNCIO:
        asyncio = module("holdfast.asyncio")
        offered = {one for one in offered if getattr(found, one) is not getattr(asyncio, one)}
    assert {*public_names(name)} == {f"{name}.{one}" for one in offered}
