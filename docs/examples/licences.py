"""Runs a command with one of three licences: python licences.py COMMAND [ARGUMENT...].

The command finds its licence in the variable LICENCE. A machine that dies gives its licence back
when the lease ends, or at once with a guard.
"""

from __future__ import annotations

import os
import subprocess
import sys

import holdfast

LICENCES = ["AAA-1", "BBB-2", "CCC-3"]


def main(command: list[str]) -> int:
    with holdfast.Client() as client:
        try:
            with client.slots("licences", LICENCES, wait=10) as slot:
                return subprocess.call(command, env={**os.environ, "LICENCE": str(slot.value)})
        except holdfast.LockTimeout:
            print("all licences are in use", file=sys.stderr)
            return 75


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
