"""The program whose start is counted: ``start WHAT PORT AMOUNT`` imports holdfast if AMOUNT is 1.

It writes to stdout how often it did, and the most memory that the process ever had, in KB.
"""

import sys


def main() -> None:
    amount = int(sys.argv[3])
    if amount:
        import holdfast  # noqa: F401
    print(amount)
    with open("/proc/self/status", encoding="ascii") as lines:  # noqa: PTH123 - imports no more
        print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


if __name__ == "__main__":
    main()
