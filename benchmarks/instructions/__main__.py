"""``python -m benchmarks.instructions``: what the client costs in user mode.

That is: a pair, a renewal, and ``import holdfast`` with the memory that it takes, in KB; of a pair
of a thread and of a task also the functions of ``cpp/`` that each pair calls, and in how many pairs
of a header and a source they lie.  And what it asks of the kernel: the system calls, and the sleeps
of its threads (voluntary switches), of a hundred pairs or renewals.

Unlike times, instructions hardly depend on the machine's speed and on what else it does, so they
have a bound: what takes 5 % more than the figure in ``figures.json`` fails.  A late reply, or a
wake-up more, can only add to them, so the least of three counts.  Each figure is the difference
between a long and a short run of one process, divided by what the long one did more, so that the
start of the process is not in it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.instructions import callgrind, kernel, starting
from benchmarks.server import Server

FIGURES = Path(__file__).resolve().parent / "figures.json"
TRIES = 3

#: Whose functions are counted, and how often a pair calls one that counts.
WALKED = ("pair", "asyncio pair")
OFTEN = 0.9

#: The amounts of the short and of the long run whose system calls and sleeps are counted.
ASKED = {
    "pair": (200, 1200),
    "purpose pair": (200, 1200),
    "contended pair": (20, 80),
    "asyncio pair": (100, 600),
    "renewal": (1, 5),
}
OF_KERNEL = tuple(
    f"{what} {of}"
    for what in ASKED
    for of in kernel.COUNTED
    if (what, of) != ("renewal", "switches")  # of the loop, by the moments at which they fall due
)

#: How much more than the committed figure passes.  What one renewal costs depends on how many fall
#: due together, which the machine's load changes.
BOUNDS = {
    "pair": 1.05,
    "label pair": 1.05,
    "purpose pair": 1.05,
    "deferred pair": 1.05,
    "read pair": 1.05,
    "nested pair": 1.05,
    "fair pair": 1.05,
    "fenced pair": 1.05,
    "semaphore pair": 1.05,
    "permit pair": 1.05,
    "multi pair": 1.05,
    "asyncio pair": 1.05,
    "asyncio purpose pair": 1.05,
    "asyncio read pair": 1.05,
    "asyncio fenced pair": 1.05,
    "trio pair": 1.05,
    "trio floor": 1.05,
    "slots pair": 1.05,
    "kept result": 1.05,
    "election": 1.05,
    "barrier": 1.25,  # how often a party looks depends on which of them comes first
    "renewal": 1.25,
    "import": 1.05,
    "import KB": 1.1,
    **{f"{what} {of}": 1.0 for what in WALKED for of in ("functions", "file pairs")},
    **dict.fromkeys(OF_KERNEL, 1.05),
    "contended pair calls": 1.25,
    "contended pair switches": 1.25,
    "renewal calls": 2.0,
}

#: How many times what the least program of the same commands takes something may take.
FLOORS = {"trio pair": ("trio floor", 1.3)}

#: The amounts of the short and of the long run.
AMOUNTS = {
    "pair": (200, 1200),
    "label pair": (200, 1200),
    "purpose pair": (200, 1200),
    "deferred pair": (200, 1200),
    "read pair": (200, 1200),
    "nested pair": (200, 1200),
    "fair pair": (200, 1200),
    "fenced pair": (200, 1200),
    "semaphore pair": (200, 1200),
    "permit pair": (200, 1200),
    "multi pair": (200, 1200),
    "asyncio pair": (100, 600),
    "asyncio purpose pair": (100, 600),
    "asyncio read pair": (100, 600),
    "asyncio fenced pair": (100, 600),
    "trio pair": (100, 600),
    "trio floor": (100, 600),
    "slots pair": (100, 600),
    "kept result": (100, 600),
    "election": (100, 600),
    "barrier": (50, 250),
    "renewal": (1, 5),
}

#: What is measured: these, what starting.py does, and what kernel.py does.
NAMES = (*AMOUNTS, "import", "import KB", *OF_KERNEL)


def say(text: str) -> None:
    print(text, flush=True)


def conditions() -> dict[str, str]:
    """On what the figures depend beside the code: others cannot be compared."""
    given = shlex.split(sysconfig.get_config_var("CONFIG_ARGS") or "")
    options = [word for word in given if word.startswith(("--enable", "--with"))]
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "built by": " ".join([platform.python_compiler(), *options]),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
    }


def measure(what: str, port: int, keep: Path | None) -> dict[str, int]:
    """Instructions for one of ``what``; KB of memory for an import's; and what WALKED says."""
    if what == "import":
        return {what: starting.instructions(keep / "import.callgrind" if keep else None)}
    if what == "import KB":
        return {what: starting.kilobytes()}
    if what in OF_KERNEL:
        subject, _, of = what.rpartition(" ")
        return {what: kernel.per_hundred(subject, of, port, ASKED[subject])}
    runs = []
    for amount in AMOUNTS[what]:
        name = f"{what.replace(' ', '-')}-{amount}.callgrind"
        runs.append(callgrind.count(what, port, amount, keep / name if keep else None))
    short, long = runs
    more = long.done - short.done
    found = {what: round((long.instructions - short.instructions) / more)}
    return found | walked(what, short, long) if what in WALKED else found


def walked(what: str, short: callgrind.Count, long: callgrind.Count) -> dict[str, int]:
    """The functions that each of ``what`` calls, and the file pairs in which they lie."""
    if not long.calls:
        say(f"{what}: functions not counted, as the module has no debug information (README)")
        return {}
    enough = OFTEN * (long.done - short.done)
    found = [each for each in long.calls if long.calls[each] - short.calls[each] >= enough]
    return {f"{what} functions": len(found), f"{what} file pairs": len({file for _, file in found})}


def least(
    what: str, keep: Path | None, enough: Mapping[str, float] | None = None
) -> dict[str, int]:
    """The least of some measurements; one that is not above ``enough`` is the last."""
    with Server() as server:
        best = measure(what, server.port, keep)
        for _ in range(TRIES - 1):
            if enough is not None and all(best[name] <= enough[name] for name in best):
                break
            again = measure(what, server.port, keep)
            best = {name: min(best[name], again[name]) for name in best}
    return best


def least_of_each(
    options: argparse.Namespace, enough: Mapping[str, float] | None = None
) -> Iterator[dict[str, int]]:
    """``least`` of each name: instructions on all CPUs at once, then alone what the kernel does.

    How often a thread sleeps depends on what else runs; how many instructions it takes hardly does.
    """
    one = partial(least, keep=options.keep, enough=enough)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(one, [what for what in options.only if what not in OF_KERNEL])
    yield from map(one, [what for what in options.only if what in OF_KERNEL])


def judge(options: argparse.Namespace) -> bool:
    """Say how the figures compare with the committed ones; true: none is above its bound."""
    known = json.loads(FIGURES.read_text(encoding="utf-8"))
    comparable = known["conditions"] == conditions()
    if not comparable:
        say(f"not compared: the figures are of {known['conditions']}, this is {conditions()}")
    committed: dict[str, int] = known["figures"]
    bounds = {name: figure * BOUNDS[name] for name, figure in committed.items()}
    if not comparable:
        bounds = dict.fromkeys(bounds, math.inf)
    passes, all_found = True, dict[str, int]()
    for found in least_of_each(options, bounds):
        for name, figure in found.items():
            above = figure > bounds[name]
            passes = passes and not above
            change = f"{figure / committed[name] - 1:+.1%} of {committed[name]}"
            say(f"{name:24} {figure:8}  {change}{'  ABOVE THE BOUND' if above else ''}")
        all_found |= found
    for name, (floor, most) in FLOORS.items():
        if name in all_found and floor in all_found:
            times = all_found[name] / all_found[floor]
            passes = passes and times <= most
            say(f"{name:24} {times:8.2f}  of {floor}{'' if times <= most else ': ABOVE THE BOUND'}")
    return passes


def write(options: argparse.Namespace) -> None:
    found = json.loads(FIGURES.read_text(encoding="utf-8"))
    found["conditions"] = conditions()
    # A thread sleeps less often where the reply comes first: its figure is the number of waits.
    options.only = [what for what in options.only if not what.endswith(" switches")]
    for each in least_of_each(options):
        found["figures"] |= each
    FIGURES.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    say(FIGURES.read_text(encoding="utf-8"))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", choices=NAMES, default=NAMES)
    add("--keep", type=Path, metavar="FOLDER", help="where callgrind's profiles are kept")
    add("--write", action="store_true", help="make these the figures, instead of a comparison")
    options = parser.parse_args()
    if shutil.which(callgrind.PROGRAM) is None:
        parser.error("valgrind is not on PATH; Debian's package is valgrind")
    if any(what.endswith(" calls") for what in options.only) and not kernel.traces():
        say("system calls are not counted: strace is not on PATH, or may not trace")
        options.only = [what for what in options.only if not what.endswith(" calls")]
    return options


def main() -> int:
    options = parse()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    if options.write:
        write(options)
        return 0
    if judge(options):
        return 0
    say("find the cause by --keep and callgrind_annotate, or commit the new figures of --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
