"""Classes that name their package, and annotations that ``typing.get_type_hints`` can evaluate.

The modules import the names that only annotations need for type checkers alone, so that they may
refer to each other. This module adds these names once all modules are imported.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any

from . import _core
from ._arguments import LeaseTime, Name, Seconds

__all__ = ["adopt", "complete"]


class _Late:
    """The module of the figures: dataclasses are slow to import."""

    def __getattr__(self, name: str) -> Any:
        from . import _stats

        return getattr(_stats, name)


def adopt(package: str, names: Sequence[object]) -> None:
    """Set the package as the module of its classes among ``names``."""
    for each in names:
        if isinstance(each, type) and each.__module__.startswith(f"{package}._"):
            each.__module__ = package


def complete(package: str, **names: Any) -> None:
    """Add the names that the modules of a package lack, and its classes by ``names``."""
    common: dict[str, Any] = {
        "Callable": Callable,
        "Coroutine": Coroutine,
        "Sequence": Sequence,
        "TracebackType": TracebackType,
        "_stats": _Late(),
        "LeaseTime": LeaseTime,
        "Name": Name,
        "Seconds": Seconds,
        "CoreLock": _core.Lock,
        # Of Python 3.11 on; before that, something that can be written in their place.
        "Self": getattr(typing, "Self", Any),
        "Unpack": getattr(typing, "Unpack", list),
    }
    prefix = f"{package}._"
    modules = [each for name, each in sys.modules.items() if name.startswith(prefix)]
    for module in modules:
        if module is _core:
            continue
        for name, value in {**common, **names}.items():
            vars(module).setdefault(name, value)
