"""Each model keeps its promises in every order of events, and each of its mutants breaks one.

A mutant is a word after `#ifdef` or `#ifndef` in a model: the model with one thing left out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
MODELS = sorted(FOLDER.glob("*.pml"))
_MISSING = [program for program in ("spin", "cc") if shutil.which(program) is None]

pytestmark = [
    pytest.mark.skipif(bool(_MISSING), reason=f"not on PATH: {_MISSING}"),
    pytest.mark.slow,
]


def mutants(model: Path) -> list[str]:
    words = re.findall(r"^#ifn?def (\w+)$", model.read_text(encoding="utf-8"), re.MULTILINE)
    return sorted(set(words))


def pairs() -> Iterator[tuple[Path, str]]:
    for model in MODELS:
        for mutant in mutants(model):
            yield model, mutant


def run(folder: Path, *command: str) -> str:
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=240
    )
    assert result.returncode == 0, f"{' '.join(command)}:\n{result.stdout}{result.stderr}"
    return result.stdout


def findings(model: Path, folder: Path, *mutant: str) -> list[str]:
    """What Spin finds wrong: in the states that can be reached, then in what goes on for ever."""
    shutil.copy(model, folder / "model.pml")
    run(folder, "spin", *(f"-D{word}" for word in mutant), "-a", "model.pml")
    found = verdict(folder, ["-DSAFETY", "-DNOCLAIM"], [])
    if not found and "ltl " in model.read_text(encoding="utf-8"):
        found = verdict(folder, ["-DNFAIR=3"], ["-a", "-f"])
    return found


def verdict(folder: Path, how_built: list[str], how_run: list[str]) -> list[str]:
    run(folder, "cc", "-O1", "-w", *how_built, "-o", "pan", "pan.c")
    report = run(folder, "./pan", "-m1000000", *how_run)
    # A search that was cut short has proved nothing.
    assert "errors:" in report, report
    assert "max search depth too small" not in report, report
    found = re.findall(r"^pan:1: (.*)", report, re.MULTILINE)
    assert bool(found) == ("errors: 0" not in report), report
    return found


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_a_model_keeps_its_promises(model: Path, tmp_path: Path) -> None:
    assert findings(model, tmp_path) == []


@pytest.mark.parametrize(
    ("model", "mutant"), [pytest.param(*pair, id=f"{pair[0].stem}-{pair[1]}") for pair in pairs()]
)
def test_a_mutant_breaks_a_promise(model: Path, mutant: str, tmp_path: Path) -> None:
    assert findings(model, tmp_path, mutant)


def test_the_page_names_every_mutant() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [mutant for _, mutant in pairs() if f"`{mutant}`" not in page] == []
