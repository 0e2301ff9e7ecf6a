"""Runs the checks, each with the time it took; ends with 1 when one found something.

Arguments are the names of checks, or `quick`: all but those that take minutes. Without, all run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from tools import promises, tasks
from tools.lint import (
    cpp,
    descriptors,
    errors,
    exchanges,
    hosting,
    imports,
    layers,
    markdown,
    names,
    pages,
    python,
    texts,
)

CHECKS: dict[str, Callable[[], list[str]]] = {
    "layers": layers.check,
    "imports": imports.check,
    "tasks": tasks.check,
    "promises": promises.check,
    "errors": errors.check,
    "exchanges": exchanges.check,
    "descriptors": descriptors.check,
    "lizard": cpp.check_functions,
    "texts": texts.check,
    "names": names.check,
    "markdown": markdown.check,
    "decisions": pages.check_decisions,
    "changes": pages.check_changes,
    "docs": pages.check_site,
    "ruff": python.check_ruff,
    "ruff-format": python.check_ruff_format,
    "mypy": python.check_mypy,
    "pyright": python.check_pyright,
    "project": python.check_project,
    "clang-format": cpp.check_format,
    "thread-safety": cpp.check_thread_safety,
    "clang-tidy": cpp.check_tidy,
    "workflows": hosting.check_workflows,
    "container": hosting.check_container,
}


#: clang-tidy takes ten minutes, the site half of one.
SLOW = {"clang-tidy", "docs"}
GROUPS = {"all": list(CHECKS), "quick": [name for name in CHECKS if name not in SLOW]}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.lint", description="The lint.")
    parser.add_argument(
        "checks", nargs="*", metavar="check", help=f"of {', '.join([*GROUPS, *CHECKS])}"
    )
    wanted = parser.parse_args().checks or ["all"]
    names = [name for each in wanted for name in GROUPS.get(each, [each])]
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        parser.error(f"no such check: {', '.join(unknown)}")
    failed = [name for name in names if not passes(name)]
    return 1 if failed else 0


def passes(name: str) -> bool:
    started = time.monotonic()
    try:
        problems = CHECKS[name]()
    except RuntimeError as error:
        problems = str(error).splitlines()
    verdict = f"{len(problems)} lines" if problems else "ok"
    print(f"{name:14} {verdict:12} {time.monotonic() - started:6.1f} s", flush=True)
    for problem in problems:
        print(f"    {problem}")
    return not problems


if __name__ == "__main__":
    sys.exit(main())
