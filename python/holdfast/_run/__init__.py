"""``holdfast run``: a command that runs while a lock is held."""

from __future__ import annotations

from .job import KINDS, Job
from .running import run

__all__ = ["KINDS", "Job", "run"]
