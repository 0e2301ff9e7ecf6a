"""The pictures of the benchmark page show the figures of its tables."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

from benchmarks import report
from benchmarks.cases.catalogue import CASES
from benchmarks.cases.scaling import Scaling
from benchmarks.results import Results
from tools import chart, pictures
from tools.lint.tree import ROOT

FACTORS = re.compile(r" \([+-]?[\d .]+(?: ×)?\)")


def results_of(case: str, **values: float) -> Results:
    results = Results()
    for contender, value in values.items():
        results.add(case, contender.replace("_", " "), {"p50": value, "p99": value})
    return results


def page(name: str) -> SimpleNamespace:
    return SimpleNamespace(file=SimpleNamespace(src_uri=name))


def figures_only(text: str) -> str:
    return FACTORS.sub("", text.split("### Targets", maxsplit=1)[0]).strip()


def test_the_committed_figures_are_those_of_the_tables() -> None:
    readme = report.README.read_text(encoding="utf-8")
    shown = readme.split(report.BEGIN)[1].split(report.END)[0]
    about = json.loads(pictures.RESULTS.read_text(encoding="utf-8"))["about"]
    drawn = report.tables(CASES, pictures.load(pictures.RESULTS), about)
    assert figures_only(drawn) == figures_only(shown)


def test_each_table_gets_its_picture_below_its_heading() -> None:
    heading = '<h3 id="a">One thread (<code>pair</code>)<a href="#a">¶</a></h3>'
    html = f"{heading}<table></table>"
    found = pictures.on_page_content(html, page=page("benchmarks.md"))
    assert found.startswith(f'{heading}<figure class="bars">')
    assert pictures.on_page_content(html, page=page("index.md")) == html


def test_every_benchmark_with_several_contenders_or_sizes_is_drawn() -> None:
    results = pictures.load(pictures.RESULTS)
    several = {case.name for case in CASES if len(results.contenders(case.name)) > 1}
    sizes = {case.name for case in CASES if isinstance(case, Scaling)}
    assert set(pictures.pictures(results)) == several | sizes


def test_a_benchmark_at_several_sizes_is_drawn_with_a_bar_of_holdfast_for_each() -> None:
    results = Results()
    results.add("scale-processes", "limit", {"1": 100.0, "2": 200.0})
    results.add("scale-processes", "holdfast", {"1": 50.0, "2": 100.0})
    drawn = pictures.pictures(results)["scale-processes"]
    assert re.findall(r'<rect class="(\w+)"[^>]* width="([\d.]+)%"', drawn) == [
        ("ours", "50.00"),
        ("ours", "100.00"),
    ]
    assert "holdfast, 2<" in drawn
    assert "pairs/s, by processes; more is better" in drawn


def test_the_length_of_a_bar_is_its_share_of_the_longest() -> None:
    drawn = pictures.pictures(results_of("pair", limit=40, holdfast=50, redis=100))["pair"]
    assert re.findall(r'<rect class="(\w+)"[^>]* width="([\d.]+)%"', drawn) == [
        ("measure", "40.00"),
        ("ours", "50.00"),
        ("peer", "100.00"),
    ]
    assert "less is better" in drawn
    assert "gap" not in drawn


def test_a_bar_without_room_is_cut_and_keeps_its_figure() -> None:
    drawn = pictures.pictures(results_of("wake", limit=300, holdfast=500, redis=48_415))["wake"]
    assert re.findall(r' width="([\d.]+)%" height="8"', drawn) == ["10.00", "16.67", "100.00"]
    assert drawn.count("<path") == 1
    assert "48\u202f415" in drawn
    assert "bars with a gap" in drawn


@pytest.mark.parametrize("theme", chart.COLOURS)
def test_the_chart_of_the_readme_shows_the_committed_figures(theme: str) -> None:
    """After `python -m benchmarks --write`, `python -m tools.chart` draws it again."""
    drawn = (chart.FOLDER / f"benchmarks-{theme}.svg").read_text(encoding="utf-8")
    assert drawn == chart.chart(pictures.load(pictures.RESULTS), theme)


def test_the_chart_of_the_readme_is_described_by_its_figures() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    described = re.findall(r"\b(\d[\d ]*)\b", re.findall(r'alt="Medians ([^"]*)"', readme)[0])
    results = pictures.load(pictures.RESULTS)
    figures = [chart.figures(results, case).values() for case in chart.ROWS]
    shown = [f"{value:.0f}" for values in figures for value in values]
    assert [number.replace(" ", "") for number in described] == shown
