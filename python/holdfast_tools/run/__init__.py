"""``holdfast run``: a command that runs while a lock is held."""

from __future__ import annotations

from .front import run
from .job import KINDS, Job

__all__ = ["KINDS", "Job", "run"]
