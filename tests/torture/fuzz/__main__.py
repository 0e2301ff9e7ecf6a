"""Builds the fuzzers and runs them: python -m tests.torture.fuzz [seconds for each [target ...]].

A target begins with the inputs in ``tests/wire/data/fuzz/<target>``; what it adds stays in
``build/fuzz``. An input that ends a target is kept there, too, and named in the output.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "fuzz"
LONGEST_INPUT = 4096


def targets() -> list[str]:
    sources = (ROOT / "tests/torture/fuzz").glob("*_fuzzer.cpp")
    return sorted(source.stem.removesuffix("_fuzzer") for source in sources)


def build() -> None:
    for command in (["cmake", "--preset", "fuzz"], ["cmake", "--build", "--preset", "fuzz"]):
        subprocess.run(command, cwd=ROOT, check=True)


def run(target: str, seconds: int) -> tuple[str, int, str]:
    """The target, its exit status, and the end of what it said."""
    found = BUILD / "corpus" / target
    found.mkdir(parents=True, exist_ok=True)
    command = [
        BUILD / f"{target}_fuzzer",
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST_INPUT}",
        f"-artifact_prefix={BUILD}/{target}-",
        "-print_final_stats=1",
        found,
        ROOT / "tests/wire/data" / "fuzz" / target,
    ]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    text = done.stderr.decode(errors="backslashreplace")
    return target, done.returncode, text


def main(arguments: list[str]) -> int:
    seconds = int(arguments[0]) if arguments else 20
    chosen = arguments[1:] or targets()
    build()
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda target: run(target, seconds), chosen))
    for target, status, text in results:
        executed = [line.split()[-1] for line in text.splitlines() if "executed_units" in line]
        print(f"{target}: {'ok' if status == 0 else 'FAILED'}, {' '.join(executed) or '?'} inputs")
        if status != 0:
            print(text[-4000:])
    failed = sum(status != 0 for _, status, _ in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
