"""``python -m benchmarks``: every contender side by side in one run; see README.md."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.builders import BUILDERS
from benchmarks.cases.case import FULL, QUICK, Case, Plan
from benchmarks.cases.catalogue import CASES
from benchmarks.contender import Absent, Contender
from benchmarks.report import FIGURES, describe_run, save, tables, write_readme
from benchmarks.results import Results
from benchmarks.server import Server
from benchmarks.worker import WorkerFailed

ROOT = Path(__file__).resolve().parent.parent


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def build(wanted: Sequence[str], cache: Path) -> list[Contender]:
    """The wanted contenders that can be built here; a line tells of each that cannot."""
    cache.mkdir(parents=True, exist_ok=True)
    contenders: list[Contender] = []
    for builder in BUILDERS:
        if not set(builder.names) & set(wanted):
            continue
        try:
            contenders += builder.build(cache)
        except Absent as missing:
            say(f"left out: {', '.join(builder.names)}: {missing}")
    return [contender for contender in contenders if contender.name in wanted]


def is_wanted(case: Case, options: argparse.Namespace) -> bool:
    if options.only:
        return case.name in options.only
    return case.quick or not options.quick


def measure(case: Case, contenders: Sequence[Contender], server: Server, plan: Plan) -> Results:
    """One benchmark: in each repetition all contenders take their turn."""
    results = Results()
    for _ in range(plan.repetitions):
        for contender in contenders:
            if case.name not in contender.cases:
                continue
            server.clear()
            try:
                results.add(case.name, contender.name, case.measure(server, contender, plan))
            except WorkerFailed as failure:
                say(f"  {contender.name}: {failure}")
                results.add_failure(case.name, contender.name, str(failure))
    return results


def run(options: argparse.Namespace) -> int:
    plan = QUICK if options.quick else FULL
    plan = replace(plan, repetitions=options.repetitions or plan.repetitions)
    cases = [case for case in CASES if is_wanted(case, options)]
    contenders = build(options.contenders, options.cache)
    results = Results()
    with Server(options.server) as server:
        for case in cases:
            say(f"{case.name}: {case.title}")
            results.update(measure(case, contenders, server, plan))
        version = server.info("server")["redis_version"]
    about = describe_run(f"{Path(options.server).name} {version}", contenders, plan)
    text = tables(cases, results, about)
    print(text)
    save(options.json, results, about)
    say(f"all figures: {options.json}")
    if options.write:
        write_readme(text)
        save(FIGURES, results, about)
    return 1 if results.failures else 0


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    names = [name for builder in BUILDERS for name in builder.names]
    folder = ROOT / "build" / "benchmarks"
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--quick", action="store_true", help="short windows, one repetition; under 3 minutes")
    add("--only", nargs="+", metavar="NAME", choices=[case.name for case in CASES])
    add("--contenders", nargs="+", metavar="NAME", choices=names, default=names)
    add("--repetitions", type=int, metavar="N", help="of each benchmark (default: 3; quick: 1)")
    add("--server", default="redis-server", help="the server's program (default: %(default)s)")
    add("--cache", type=Path, default=folder, help="where contenders are built")
    add("--json", type=Path, default=folder / "results.json", help="where all figures go")
    add("--write", action="store_true", help="put the tables and figures into benchmarks/")
    options = parser.parse_args(arguments)
    if shutil.which(options.server) is None:
        parser.error(f"{options.server} is not on PATH; Debian's package is redis-server")
    return options


if __name__ == "__main__":
    sys.exit(run(parse()))
