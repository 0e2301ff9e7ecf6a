"""The reference of the site leaves no public module out, and finds the texts of native methods."""

from __future__ import annotations

import inspect
import re
import types

import pytest

import holdfast
import holdfast.asyncio
from tools.lint.tree import ROOT

PACKAGE = ROOT / "python" / "holdfast"


def public_modules() -> list[str]:
    folders = {"holdfast": PACKAGE, "holdfast.contrib": PACKAGE / "contrib"}
    modules = {
        f"{package}.{path.stem}"
        for package, folder in folders.items()
        for path in folder.iterdir()
        if path.stem[0] != "_" and path.name not in {"cli", "contrib", "py.typed"}
    }
    return ["holdfast", *sorted(modules)]


def test_every_public_module_is_in_the_reference() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    shown = set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))
    assert [name for name in public_modules() if name not in shown] == []


@pytest.mark.parametrize(
    "module",
    [holdfast, holdfast.asyncio],
    ids=["threads", "asyncio"],
)
def test_each_public_name_is_on_one_page_of_its_kind(module: types.ModuleType) -> None:
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages]
    [first] = [text for text in texts if f"::: {module.__name__}\n" in text]
    shown = re.findall(r"^        - (\w+)$", first, re.MULTILINE)
    of_one = re.compile(rf"^::: {re.escape(module.__name__)}\.([A-Z]\w+)$", re.MULTILINE)
    shown += [name for text in texts for name in of_one.findall(text)]
    modules = {name for name in module.__all__ if inspect.ismodule(getattr(module, name))}
    expected = {*module.__all__} - modules - {"__version__"}
    if hasattr(module, "ConnectionError"):  # not in __all__: it would hide the built-in
        expected.add("ConnectionError")
    assert sorted(shown) == sorted(expected)
    assert "- Client" in first


@pytest.mark.parametrize("name", ["Lock", "Hold", "Semaphore", "PermitSemaphore"])
def test_the_reference_has_the_signatures_and_texts_of_native_methods(name: str) -> None:
    griffe = pytest.importorskip("griffe", reason="griffe comes with the group docs")
    shown = griffe.load("holdfast", search_paths=[str(PACKAGE.parent)], resolve_aliases=True)[name]
    kind = getattr(holdfast, name)
    for method in {"acquire", "acquire_many", "release"} & set(vars(kind)):
        assert shown[method].docstring.value == inspect.getdoc(getattr(kind, method))
        terms = [term.name for term in shown[method].parameters]
        assert terms == list(inspect.signature(getattr(kind, method)).parameters)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Do it.\n\nRaises ``TypeError`` for another type, and ``ConnectionError`` for a\n"
            "client that was closed. It may be\ncalled again.\n\nMore.",
            "Do it.\n\nIt may be\ncalled again.\n\nMore.\n\nRaises:\n"
            "    TypeError: For another type.\n"
            "    ConnectionError: For a client that was closed.",
        ),
        (
            "Raises ``TypeError``, ``ValueError`` or ``OverflowError``, naming the argument.",
            "Raises:\n    TypeError: Naming the argument.\n    ValueError: Naming the argument.\n"
            "    OverflowError: Naming the argument.",
        ),
        ("Raises it again.", "Raises it again."),
        ("Nothing.", "Nothing."),
    ],
    ids=["sentences", "shared", "no error", "none"],
)
def test_the_errors_of_a_text_become_a_table(text: str, shown: str) -> None:
    pytest.importorskip("griffe", reason="griffe comes with the group docs")
    from tools.reference import with_errors

    assert with_errors(text) == shown
