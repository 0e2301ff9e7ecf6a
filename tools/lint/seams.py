"""What the packages beside the library may import of it: its public interface.

The library is ``holdfast`` without ``holdfast.contrib``. Outside of it no file imports a name that
begins with ``_`` from another package, or uses a private attribute of another package's class. The
library does not import what is built on it, except for ``EXCEPTIONS``. They are one distribution,
so that one wheel has the engine and all that was tested with it. The package ``holdfast`` itself is
built on its modules: of it they import ``_core`` only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.lint import tree

#: What is private in one of these is for its files alone.
OUTSIDE = ("holdfast.contrib", "holdfast_pytest", "holdfast_tools")
#: ``python -m holdfast`` is a name of the library for a part of the tools.
EXCEPTIONS = {"python/holdfast/__main__.py": "holdfast_tools.__main__"}


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each import, or attribute, that breaks the rule."""
    files: dict[str, list[Path]] = {}
    for path in tree.files(root):
        if path.parts[0] == "python" and path.suffix == ".py":
            files.setdefault(package_of(module_of(path)), []).append(path)
    return [line for package, paths in files.items() for line in faults(root, package, paths)]


def faults(root: Path, package: str, paths: list[Path]) -> Iterator[str]:
    """Says what is wrong in the files of one package."""
    parsed = {path: ast.parse((root / path).read_text(encoding="utf-8")) for path in paths}
    own = {name for module in parsed.values() for name in defined(module)}
    for path, module in parsed.items():
        for line, name in imports(module, module_of(path), path.name == "__init__.py"):
            reason = import_fault(package, name, EXCEPTIONS.get(path.as_posix(), ""))
            if reason:
                yield f"{path}:{line}: {reason}"
        if package == "holdfast" and module_of(path) != "holdfast":
            for line, name in imports(module, module_of(path), path.name == "__init__.py"):
                if is_of_package_itself(root, name):
                    yield f"{path}:{line}: {name} belongs to the package, which is built on it"
        if package != "holdfast":
            for line, name in private_attributes(module, own):
                yield f"{path}:{line}: {name} is a private attribute of another package"


def module_of(path: Path) -> str:
    """The name of the module in a file below python/."""
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str:
    """The package whose private names a module may use."""
    return next((one for one in OUTSIDE if f"{module}.".startswith(f"{one}.")), "holdfast")


def import_fault(package: str, name: str, allowed: str) -> str | None:
    """Says what is wrong with an import of a name; None when nothing is."""
    if name.partition(".")[0] not in {"holdfast", "holdfast_pytest", "holdfast_tools"}:
        return None
    target = package_of(name)
    if target == package:
        return None
    if package == "holdfast":
        if allowed and f"{name}.".startswith(f"{allowed}."):
            return None
        return f"the library may not import {name}, which is built on it"
    private = [part for part in name.split(".") if part[0] == "_" and part[:2] != "__"]
    return f"{name} is private: {package} may import public names only" if private else None


def is_of_package_itself(root: Path, name: str) -> bool:
    """Whether a name is ``holdfast``, or one in it that is no module."""
    package, _, inner = name.partition(".")
    if package != "holdfast" or "." in inner or inner == "_core":
        return False
    folder = root / "python" / "holdfast"
    return not inner or not ((folder / inner).is_dir() or (folder / f"{inner}.py").is_file())


def imports(module: ast.Module, here: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """The names that a module imports, in full, with their lines; for type checkers alone too."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here.split(".")
            above = above[: len(above) - node.level + is_package] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def defined(module: ast.Module) -> Iterator[str]:
    """The private names that a module gives to attributes, functions and variables."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


def private_attributes(module: ast.Module, own: set[str]) -> Iterator[tuple[int, str]]:
    """The private attributes that a module reads and that no file of its package defines."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Attribute) or node.attr in own or node.attr[0] != "_":
            continue
        if node.attr[:2] != "__" and ast.unparse(node.value) not in {"os", "sys"}:
            yield node.lineno, ast.unparse(node)
