"""The processes of this machine, as /proc shows them; none where it does not (Linux only)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["Processes"]


class _Process(NamedTuple):
    parent: int
    group: int


class Processes:
    """Those of one moment."""

    def __init__(self) -> None:
        self._all = dict(_shown())

    def below(self, root: int) -> list[int]:
        """The descendants of a process."""
        return [pid for pid in self._all if pid != root and root in self._line(pid)]

    def group_of(self, pid: int) -> int:
        """The process group of one of them."""
        return self._all[pid].group

    def beside(self, pid: int) -> list[int]:
        """Those of the group of a process that are neither above nor below it: a pipeline's."""
        line = self._line(pid)
        group = self._all[pid].group if pid in self._all else None
        return [
            other
            for other, process in self._all.items()
            if process.group == group and other not in line and pid not in self._line(other)
        ]

    def _line(self, pid: int) -> set[int]:
        """A process, and all above it."""
        line: set[int] = set()
        while pid in self._all and pid not in line:
            line.add(pid)
            pid = self._all[pid].parent
        return line


def _shown() -> list[tuple[int, _Process]]:
    shown: list[tuple[int, _Process]] = []
    with suppress(OSError):
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            with suppress(OSError):
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                state, parent, group = stat.rpartition(")")[2].split()[:3]
                if state != "Z":  # it has ended
                    shown.append((int(entry.name), _Process(int(parent), int(group))))
    return shown
