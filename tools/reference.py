"""An extension of griffe, which reads the package for the reference without importing it.

It finds what griffe does not see: the ``#:`` comments of attributes.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from griffe import Attribute, Docstring, Extension, ObjectNode

COMMENT = re.compile(r"\s*#: ?(.*)")


class Docstrings(Extension):
    """Gives docstrings to attributes; tools/mkdocs.yml names this class."""

    def on_attribute_instance(
        self, *, node: ast.AST | ObjectNode, attr: Attribute, **_: Any
    ) -> None:
        """Take the comment above the attribute."""
        if attr.docstring is None and attr.lineno and isinstance(attr.filepath, Path):
            text = comment_above(attr.filepath, attr.lineno)
            attr.docstring = Docstring(text, parent=attr) if text else None


def comment_above(path: Path, number: int) -> str:
    """Returns the text of the ``#:`` lines directly above a line, numbered from 1."""
    lines = path.read_text(encoding="utf-8").splitlines()[: number - 1]
    found: list[str] = []
    while lines and (comment := COMMENT.match(lines.pop())):
        found.insert(0, comment[1])
    return "\n".join(found)
