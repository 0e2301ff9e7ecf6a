"""A run's tables as Markdown, its figures as JSON, and the README's table between its markers.

The figures beside the README are those of its table: the site draws them (tools/pictures.py).
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from benchmarks.cases.case import Case, Column, Plan
from benchmarks.contender import Contender
from benchmarks.results import Results
from benchmarks.targets import verdicts

README = Path(__file__).resolve().parent / "README.md"
FIGURES = README.parent / "results.json"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def describe_run(server: str, contenders: Sequence[Contender], plan: Plan) -> dict[str, object]:
    """When, where and with what the run was made."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "server": server,
        "repetitions": plan.repetitions,
        "load": round(os.getloadavg()[0], 1),
        "contenders": {contender.name: contender.version for contender in contenders},
    }


def tables(cases: Sequence[Case], results: Results, about: dict[str, object]) -> str:
    """Everything a person reads, as Markdown."""
    parts = [_about(about)]
    parts += [_table(case, results) for case in cases if results.contenders(case.name)]
    parts += _verdict_table(cases, results)
    return "\n\n".join(parts)


def save(path: Path, results: Results, about: dict[str, object]) -> None:
    """All figures of all repetitions."""
    found = {"about": about, "figures": results.figures, "failures": results.failures}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def write_readme(text: str) -> None:
    """Put the tables between the README's markers."""
    before, rest = README.read_text(encoding="utf-8").split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def _about(about: dict[str, object]) -> str:
    contenders = about["contenders"]
    assert isinstance(contenders, dict)
    versions = ", ".join(f"{name} {version}" for name, version in contenders.items())
    return (
        f"Measured on {about['date']} by `{about['command']}`: {about['system']};"
        f" {about['server']}; medians of {about['repetitions']};"
        f" load average at the end {about['load']}.  {versions}."
    )


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _table(case: Case, results: Results) -> str:
    contenders = results.contenders(case.name)
    # Figures that were kept before a column was added do not have it.
    columns = [
        column
        for column in case.columns
        if any(results.value(case.name, each, column.key) is not None for each in contenders)
    ] or list(case.columns)
    head = ["contender", *(column.title for column in columns)]
    lines = [f"### {case.title} (`{case.name}`)", "", _row(head)]
    lines.append(_row(["---", *("---:" for _ in columns)]))
    for contender in contenders:
        cells = [_cell(case, column, contender, results) for column in columns]
        lines.append(_row([contender, *cells]))
    for contender, messages in results.failures.get(case.name, {}).items():
        lines += ["", f"{contender} failed {len(messages)} ×: {messages[0]}"]
    return "\n".join(lines)


def _cell(case: Case, column: Column, contender: str, results: Results) -> str:
    value = results.value(case.name, contender, column.key)
    base = results.value(case.name, case.base, column.key)
    if value is None:
        return "failed"
    text = _number(value, column.digits)
    if not column.compare or base is None or contender == case.base:
        return text
    if column.compare == "ratio":
        return f"{text} ({value / base:.2f} ×)"
    return f"{text} ({value - base:+,.{column.digits}f})"


def _number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}".replace(",", " ")


def _verdict_table(cases: Sequence[Case], results: Results) -> list[str]:
    titles = {(case.name, column.key): column for case in cases for column in case.columns}
    rows = []
    for verdict in verdicts(results):
        target = verdict.target
        column = titles[target.case, target.column]
        digits = max(column.digits, 1)
        figure, bound = _number(verdict.value, digits), _number(verdict.bound, digits)
        mark = "yes" if verdict.reached else "**no**"
        whose = "" if target.contender == "holdfast" else f", {target.contender}"
        title = f"`{target.case}` {column.title}{whose}"
        rows.append(_row([title, target.text(), bound, figure, mark]))
    if not rows:
        return []
    head = [_row(["figure", "target", "that is", "holdfast", "reached"]), _row(["---"] * 5)]
    return ["\n".join(["### Targets", "", *head, *rows])]
