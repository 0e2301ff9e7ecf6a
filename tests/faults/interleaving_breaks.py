"""Ways to leak or double a lock that only a certain order of threads shows, put back on purpose.

    python -m tests.faults.interleaving_breaks all          # or faults of docs/faults.md
    python -m tests.faults.interleaving_breaks --count 2000 --folder build/dev pending-release

Each break is made in the working copy, test_interleavings is built, and has to find it within so
many scenarios; printed is how many it took. Run nothing else in the working copy meanwhile.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.support.breaking import ROOT, Break, broken, matches

# A release without a caller is abandoned besides when it is revoked, which hides the look's being
# too early; before the ledger there was no such second guard.
NOT_ABANDONED = Break(
    ("pending-release",),
    "a revoked release is not abandoned",
    "cpp/locks/lease/holds.cpp",
    (("  if (entry.command->persistent) entry.command->abandon();\n", ""),),
    "tasks",
)

# `test` is who waits for the operations: threads or tasks.
BREAKS = (
    Break(
        ("pending-release",),
        "a release at rest is sent behind its owner's next attempt when its timer fires",
        "cpp/locks/lease/holds.cpp",
        (
            ("  entry.command->revoke();\n", ""),
            ("  if (entry.command->persistent) entry.command->abandon();\n", ""),
        ),
        "tasks",
    ),
    Break(
        ("pending-release",),
        "a late release looks whether it is overtaken before it takes the connection's lock",
        "cpp/redis/client/connection.cpp",
        (
            (
                "RequestPtr request, Parker* waiter) {\n",
                "RequestPtr request, Parker* waiter) {\n"
                "  if (request->revoked()) return Status::revoked();\n",
            ),
            (
                "  return unanswered.barred() ? Status::revoked() : Status();\n",
                "  (void)unanswered;\n  return {};\n",
            ),
        ),
        "threads",
    ),
    Break(
        ("grant-at-close",),
        "what is granted while the client is closed is taken",
        "cpp/locks/lease/attempts.cpp",
        (("  if (book_.closing) return false;", "  if (book_.closed) return false;"),),
        "threads",
    ),
    Break(
        ("interrupted-release",),
        "a release at rest is forgotten with its caller",
        "cpp/locks/sync/operation/release.cpp",
        (
            (
                "  finish({Verdict::kCancelled});\n  go_on();\n",
                "  finish({Verdict::kCancelled});\n",
            ),
        ),
        "tasks",
    ),
    Break(
        ("interrupted-release",),
        "an attempt that was refused when it was sent again is thought never to be granted",
        "cpp/locks/sync/operation/contended.cpp",
        (("sent.times > 1));", "sent.times < 0));"),),
        "threads",
    ),
    Break(
        ("passing-refusal",),
        "a second thread gets the turn of a stream that one thread writes to",
        "cpp/redis/client/send_buffer.h",
        (("    if (taken_) return std::nullopt;\n", ""),),
        "batching_threads",
    ),
    Break(
        ("many-waiters",),
        "a waiter whose attempt is under way waits for a message instead of its reply",
        "cpp/locks/sync/operation/contended.cpp",
        (("  if (machine_.listens() && waiting", "  if (waiting"),),
        "threads",
    ),
    Break(
        ("many-waiters",),
        "messages may lie while a waiter sleeps where it waited for its reply",
        "cpp/locks/sync/operation/operation.cpp",
        (("  if (!caller_.by_this_thread()) to->expect();\n", ""),),
        "deferring_threads",
    ),
    Break(
        ("many-waiters",),
        "after the last wait the loop does not look for other waiters",
        "cpp/redis/client/subscriber.cpp",
        (("  perform(election_.leave(after(", "  (void)(election_.leave(after("),),
        "deferring_threads",
    ),
    Break(
        ("many-waiters",),
        "a thread goes on waiting for a message while its attempt is sent by another one",
        "cpp/locks/sync/operation/operation.cpp",
        (
            (
                "  control().listens.store(false);\n  wake(caller_.thread);\n",
                "  control().listens.store(false);\n",
            ),
        ),
        "threads",
    ),
)

# What has to be broken with it, in another file.
ALSO = {
    "a late release looks whether it is overtaken before it takes the connection's lock": (
        NOT_ABANDONED,
    ),
}


def scenarios_until_found(which: Break, folder: Path, count: int) -> int | None:
    """Builds with the break; returns how many scenarios it took, or None: not found."""
    with ExitStack() as parts:
        for part in (which, *ALSO.get(which.what, ())):
            parts.enter_context(broken(part))
        build = ["cmake", "--build", str(folder), "--target", "test_interleavings"]
        subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        command = [str(folder / "test_interleavings"), f"--gtest_filter=*NoneLeaks*/{which.test}"]
        environment = {**os.environ, "HOLDFAST_SIM_SEED": "1", "HOLDFAST_SIM_COUNT": str(count)}
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
    seed = re.search(r"HOLDFAST_SIM_SEED=(\d+)", run.stdout + run.stderr)
    return int(seed[1]) if run.returncode and seed else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "faults", nargs="+", help="faults of docs/faults.md or parts of them, or: all"
    )
    parser.add_argument("--count", type=int, default=100_000, help="scenarios at most, for each")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "dev")
    arguments = parser.parse_args()
    missed = 0
    for each in BREAKS:
        if not matches(each, arguments.faults):
            continue
        needed = scenarios_until_found(each, arguments.folder, arguments.count)
        missed += needed is None
        verdict = "NOT FOUND" if needed is None else f"found by scenario {needed}"
        print(f"{', '.join(each.faults)}: {each.what}: {verdict} of {each.test}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
