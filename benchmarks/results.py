"""The figures of a run: kept for each repetition, judged by their medians."""

from __future__ import annotations

from statistics import median

Figures = dict[str, list[float]]  # column → a value for each repetition


class Results:
    """Figures by benchmark and contender, in the order in which they came."""

    def __init__(self) -> None:
        self.figures: dict[str, dict[str, Figures]] = {}
        self.failures: dict[str, dict[str, list[str]]] = {}

    def add(self, case: str, contender: str, values: dict[str, float]) -> None:
        kept = self.figures.setdefault(case, {}).setdefault(contender, {})
        for column, value in values.items():
            kept.setdefault(column, []).append(value)

    def add_failure(self, case: str, contender: str, message: str) -> None:
        self.failures.setdefault(case, {}).setdefault(contender, []).append(message)

    def contenders(self, case: str) -> list[str]:
        return list({**self.figures.get(case, {}), **self.failures.get(case, {})})

    def value(self, case: str, contender: str, column: str) -> float | None:
        """The median of the repetitions, or None where there are none."""
        values = self.figures.get(case, {}).get(contender, {}).get(column)
        return median(values) if values else None

    def update(self, other: Results) -> None:
        """Take over the benchmarks of another."""
        self.figures.update(other.figures)
        self.failures.update(other.failures)
