"""The one way to the server: only ``_locks/steps.py`` makes an exchange of a step or command.

So each has the time of its caller, and what it takes is given back. What makes an exchange, or a
part of one, are the functions of the engine's stub that return one of ``PARTS``.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tools.lint import tree

STUB = Path("python/holdfast/_core.pyi")
MAKER = Path("python/holdfast/_locks/steps.py")
PARTS = {"CallersTime", "Exchange", "Keeping"}


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each other place."""
    makers = making(ast.parse((root / STUB).read_text(encoding="utf-8")))
    problems = []
    for path in tree.files(root):
        if path.parts[0] == "python" and path.suffix == ".py" and path != MAKER:
            module = ast.parse((root / path).read_text(encoding="utf-8"))
            problems += [
                f"{path}:{line}: {name} is for {MAKER.name} alone: make a step or command there"
                for line, name in named(module)
                if name in makers
            ]
    return problems


def making(stub: ast.Module) -> set[str]:
    """The functions of the engine that make a part of an exchange."""
    returned = {
        node.name: ast.walk(node.returns)
        for node in stub.body
        if isinstance(node, ast.FunctionDef) and node.returns
    }
    return {
        name
        for name, parts in returned.items()
        if PARTS & {node.id for node in parts if isinstance(node, ast.Name)}
    }


def named(module: ast.Module) -> list[tuple[int, str]]:
    """What a module names of the engine, with its lines."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] == "_core":
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.ImportFrom) and node.module == "holdfast._core":
            found += [(node.lineno, alias.name) for alias in node.names]
    return found
