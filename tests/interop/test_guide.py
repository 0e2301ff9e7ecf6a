"""The Java program of the guide, beside a lock of Python."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import holdfast
from tests.support.servers import Server

PAGE = Path(__file__).parents[2] / "docs/guides/redisson.md"
ADDRESS = "redis://127.0.0.1:6379"
RUNS = 60
"""Seconds that the program may take on a busy machine."""


def run(class_path: str, server: Server, folder: Path) -> list[str]:
    """The lines that the program of the guide prints."""
    [code] = re.findall(r"```java\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert ADDRESS in code
    program = folder / "Shop.java"
    program.write_text(code.replace(ADDRESS, f"redis://127.0.0.1:{server.port}"))
    command = ["java", "-cp", class_path, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUNS, check=True)
    return [line for line in done.stdout.splitlines() if "orders" in line or "slots" in line]


def test_the_program_of_the_guide_waits_for_pythons_hold(
    class_path: str, redis_server: Server, tmp_path: Path
) -> None:
    with holdfast.Client(redis_server.url, name_prefix="shop:") as client:
        slots = client.semaphore("slots")
        slots.try_set_permits(3)
        with client.lock("orders"):
            held = run(class_path, redis_server, tmp_path)
        free = run(class_path, redis_server, tmp_path)
        slots.delete()
    assert held == ["orders is held by another", "slots free: 3"]
    assert free == ["Java holds orders", "slots free: 3"]
