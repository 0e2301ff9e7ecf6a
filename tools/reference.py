"""An extension of griffe, which reads the package for the reference without importing it.

It finds what griffe does not see: the ``#:`` comments of attributes, and the texts of the methods
that are written in C++.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from griffe import Attribute, Docstring, Extension, Function, ObjectNode

from tools.lint.tree import ROOT

COMMENT = re.compile(r"\s*#: ?(.*)")
#: A row of a PyMethodDef table: the signature for ``inspect``, then the docstring.
ROW = re.compile(r'"(?P<name>\w+)\(\$self[^"]*\)\\n--\\n\\n"\s*(?P<text>(?:"(?:[^"\\]|\\.)*"\s*)+)')


class Docstrings(Extension):
    """Gives docstrings to attributes and native methods; tools/mkdocs.yml names this class."""

    def on_attribute_instance(
        self, *, node: ast.AST | ObjectNode, attr: Attribute, **_: Any
    ) -> None:
        """Take the comment above the attribute."""
        if attr.docstring is None and attr.lineno and isinstance(attr.filepath, Path):
            text = comment_above(attr.filepath, attr.lineno)
            attr.docstring = Docstring(text, parent=attr) if text else None

    def on_function_instance(self, *, node: ast.AST | ObjectNode, func: Function, **_: Any) -> None:
        """Take the text of a native method from the source file of its class."""
        if func.docstring is None and func.parent and func.module.name == "_core":
            text = native_docstrings(func.parent.name).get(func.name)
            func.docstring = Docstring(text, parent=func) if text else None


def comment_above(path: Path, number: int) -> str:
    """Returns the text of the ``#:`` lines directly above a line, numbered from 1."""
    lines = path.read_text(encoding="utf-8").splitlines()[: number - 1]
    found: list[str] = []
    while lines and (comment := COMMENT.match(lines.pop())):
        found.insert(0, comment[1])
    return "\n".join(found)


def native_docstrings(name: str) -> dict[str, str]:
    """Returns the docstrings of a native class by method; none where it has no file of its name."""
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    path = ROOT / "cpp" / "bindings" / f"{word}.cpp"
    if not path.is_file():
        return {}
    rows = ROW.finditer(path.read_text(encoding="utf-8"))
    return {row["name"]: ast.literal_eval(f"({row['text']})") for row in rows}
