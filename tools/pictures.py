"""Draws the figures of benchmarks/results.json: bars above the tables of the site's benchmark page.

mkdocs calls on_page_content (see hooks in mkdocs.yml). The bars are SVG within the page, so that
they take its colours, light or dark, and its width, while their text keeps its size on a phone.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.cases.case import Case, Column
from benchmarks.cases.catalogue import CASES
from benchmarks.cases.scaling import Scaling
from benchmarks.results import Results

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results.json"
PAGE = "benchmarks.md"
#: The column that is drawn where it is not the first one.
DRAWN = {
    "dead-holder": "worst",
    "crowd-threads": "stretch",
    "crowd-processes": "stretch",
    "watchdog-10k": "cpu",
    "watchdog-100k": "cpu",
    "watchdog-cluster": "cpu",
    "pair-fair": "p50",
    "pair-read": "p50",
    "pair-red": "p50",
    "pair-red-away": "p50",
    "pair-cluster": "p50",
    "readers": "last",
}
MORE_IS_BETTER = ("pairs", "changes")
#: The beginning of a unit of which more is better, in a picture of several sizes.
MORE_UNITS = "pairs/s"
MEASURES = ("limit", "limit-unpipelined", "bare interpreter")
#: A bar more than this many times as long as those of holdfast and `limit` is cut there.
LONGEST = 6.0
ROW = 34  # pixels
HEADING = re.compile(
    r"<h3\b[^>]*>(?:(?!</h3>).)*\(<code>(?P<case>[\w-]+)</code>\).*?</h3>", re.DOTALL
)


def on_page_content(html: str, *, page: Any, **_: object) -> str:
    """Puts a picture below the heading of each table of the benchmark page; called by mkdocs."""
    if page.file.src_uri != PAGE:
        return html
    drawn = pictures(load(RESULTS))
    return HEADING.sub(lambda found: found[0] + drawn.get(found["case"], ""), html)


def load(path: Path) -> Results:
    """Returns the figures of a run as `python -m benchmarks --write` has kept them."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    results = Results()
    results.figures.update(kept["figures"])
    results.failures.update(kept["failures"])
    return results


def pictures(results: Results) -> dict[str, str]:
    """Returns a picture, as HTML, for each benchmark with figures of two contenders or more.

    That of a benchmark at several sizes shows holdfast alone, a bar for each size.
    """
    drawn = {}
    for case in CASES:
        if isinstance(case, Scaling):
            sizes = of_sizes(case, results)
            if sizes:
                drawn[case.name] = picture(case.title, Column("size", case.unit), sizes)
            continue
        column = drawn_column(case)
        values = {
            contender: value
            for contender in results.contenders(case.name)
            if (value := results.value(case.name, contender, column.key)) is not None
        }
        if len(values) > 1:
            drawn[case.name] = picture(case.title, column, values)
    return drawn


def of_sizes(case: Scaling, results: Results) -> dict[str, float]:
    """Returns holdfast's figure at each size, under a name that says both."""
    ours = next((name for name in results.contenders(case.name) if is_ours(name)), "")
    titles = {column.key: column.title for column in case.columns}
    values = {size: results.value(case.name, ours, size) for size in map(str, case.sizes)}
    return {f"{ours}, {titles[size]}": value for size, value in values.items() if value is not None}


def is_ours(contender: str) -> bool:
    return contender.startswith("holdfast")


def drawn_column(case: Case) -> Column:
    wanted = DRAWN.get(case.name, case.columns[0].key)
    return next(column for column in case.columns if column.key == wanted)


def picture(title: str, column: Column, values: dict[str, float]) -> str:
    """Returns a bar for each contender, with its figure, and a caption."""
    end = longest(values)
    rows = "".join(
        bar(number, contender, value / end, f"{value:,.{column.digits}f}".replace(",", "\u202f"))
        for number, (contender, value) in enumerate(values.items())
    )
    more = column.key in MORE_IS_BETTER or column.title.startswith(MORE_UNITS)
    better = "more" if more else "less"
    caption = f"{column.title}; {better} is better"
    if max(values.values()) > end:
        caption += "; bars with a gap are longer than there is room for"
    return (
        f'<figure class="bars"><svg role="img" width="100%" height="{ROW * len(values)}">'
        f"<title>{escape(title)}: {escape(column.title)}</title>{rows}</svg>"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def longest(values: dict[str, float]) -> float:
    """Returns the figure whose bar has the whole width."""
    near = [v for name, v in values.items() if is_ours(name) or name in MEASURES]
    top = max(values.values())
    room = LONGEST * max(near, default=top)
    return min(top, room) or 1.0


def bar(number: int, contender: str, part: float, figure: str) -> str:
    """Returns a row: the contender's name, its figure, below them a bar, `part` of the width."""
    kind = "ours" if is_ours(contender) else "peer"
    kind = "measure" if contender in MEASURES else kind
    top = ROW * number
    shape = f'<rect class="{kind}" y="{top + 20}" width="{min(part, 1):.2%}" height="8" rx="2"/>'
    if part > 1:
        shape += f'<svg x="92%" y="{top + 18}" overflow="visible"><path d="M6 0L0 12"/></svg>'
    return (
        f'<text y="{top + 14}">{escape(contender)}</text>'
        f'<text x="100%" y="{top + 14}" text-anchor="end">{figure}</text>{shape}'
    )
