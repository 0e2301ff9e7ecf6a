"""An extension of griffe, which reads the package for the reference without importing it.

It finds what griffe does not see: the ``#:`` comments of attributes, and the paragraphs that begin
with "Raises", which become the tables of the site.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from griffe import Attribute, Class, Docstring, Extension, Function, ObjectNode

COMMENT = re.compile(r"\s*#: ?(.*)")
#: A paragraph of errors; in it, its first sentence, and what separates two errors.
RAISES = re.compile(r"^Raises (``[A-Z](?:.+\n?)+)", re.MULTILINE)
SENTENCE = re.compile(r"(.+?\.)(?:\s+(?=[A-Z`])|$)", re.DOTALL)
BETWEEN = re.compile(r"[,;]?\s+(?:and\s+|or\s+)?(?=``[A-Z]\w+``)|[,;]\s+(?=``[A-Z]\w+``)")
ERROR = re.compile(r"``([A-Z]\w+)``,?\s*(.*)", re.DOTALL)


class Docstrings(Extension):
    """Gives docstrings to attributes; tools/mkdocs.yml names this class."""

    def on_attribute_instance(
        self, *, node: ast.AST | ObjectNode, attr: Attribute, **_: Any
    ) -> None:
        """Take the comment above the attribute."""
        if attr.docstring is None and attr.lineno and isinstance(attr.filepath, Path):
            text = comment_above(attr.filepath, attr.lineno)
            attr.docstring = Docstring(text, parent=attr) if text else None

    def on_function_instance(self, *, func: Function, **_: Any) -> None:
        """Show its errors as a table."""
        if func.docstring is not None:
            func.docstring.value = with_errors(func.docstring.value)

    def on_class_instance(self, *, cls: Class, **_: Any) -> None:
        """Show the errors of its constructor as a table."""
        if cls.docstring is not None:
            cls.docstring.value = with_errors(cls.docstring.value)


def with_errors(text: str) -> str:
    """Returns a docstring whose paragraph of errors is a section, as griffe reads it."""
    found = RAISES.search(text)
    sentence = SENTENCE.match(found[1]) if found else None
    rows = rows_of(sentence[1]) if sentence else []
    if found is None or sentence is None or not rows:
        return text
    rest = found[1][sentence.end() :].strip()
    before, after = text[: found.start()].rstrip(), text[found.end() :].strip()
    parts = [before, rest, after, "\n".join(["Raises:", *rows])]
    return "\n\n".join(part for part in parts if part)


def rows_of(sentence: str) -> list[str]:
    """Returns the lines of the section; none if a part of the sentence does not begin by an error.

    An error without words has those of the next one: "``A`` or ``B``, if it is invalid".
    """
    errors = [ERROR.match(part) for part in BETWEEN.split(sentence) if part]
    if None in errors:
        return []
    rows: list[str] = []
    words = ""
    for error, said in reversed([(each[1], each[2]) for each in errors if each]):
        words = " ".join(said.split()).rstrip(".;,") or words or "as its class says"
        rows.insert(0, f"    {error}: {words[:1].upper()}{words[1:]}.")
    return rows


def comment_above(path: Path, number: int) -> str:
    """Returns the text of the ``#:`` lines directly above a line, numbered from 1."""
    lines = path.read_text(encoding="utf-8").splitlines()[: number - 1]
    found: list[str] = []
    while lines and (comment := COMMENT.match(lines.pop())):
        found.insert(0, comment[1])
    return "\n".join(found)
