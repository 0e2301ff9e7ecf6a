"""Draws the README's chart from benchmarks/results.json, in light and dark colours.

python -m tools.chart writes docs/pictures/benchmarks-light.svg and benchmarks-dark.svg.
"""

from __future__ import annotations

from html import escape

from benchmarks.results import Results
from tools.lint.tree import ROOT
from tools.pictures import RESULTS, load

FOLDER = ROOT / "docs" / "pictures"
#: The benchmarks that are drawn, with what they measure; of each the median in µs.
ROWS = {
    "pair": "Acquire and release a free lock, one thread",
    "task": "The same, one asyncio task",
    "wake": "From the release in one process until the waiter in another one has the lock",
}
SHOWN = {
    "holdfast": "holdfast",
    "holdfast asyncio": "holdfast",
    "redis-py": "redis-py",
    "redis-py asyncio": "redis-py",
    "python-redis-lock": "python-redis-lock",
    "redisson": "Redisson (Java)",
}
COLOURS = {
    "light": {"text": "#1f2328", "faint": "#59636e", "ours": "#00796b", "peer": "#b6bec7"},
    "dark": {"text": "#f0f6fc", "faint": "#9198a1", "ours": "#4db6ac", "peer": "#4b535d"},
}
WIDTH, NAMES, BARS = 760, 150, 500  # pixels
#: A bar more than this many times as long as that of holdfast is cut there.
CUT = 8.0
ROW, HEAD, GAP = 24, 30, 14
CAPTION = (
    "Medians on one machine, less is better. An arrow: the bar is longer than there is room for."
)
STYLE = "font:14px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


def chart(results: Results, theme: str) -> str:
    """Returns the whole picture, as SVG on a transparent ground."""
    colours, parts, top = COLOURS[theme], [], 0
    for case, title in ROWS.items():
        values = figures(results, case)
        parts.append(text(0, top + 18, f"{title}, µs", colours["text"], "font-weight:600"))
        top += HEAD
        for contender, value in values.items():
            parts.append(bar(top, contender, value, end=longest(values), colours=colours))
            top += ROW
        top += GAP
    parts.append(text(0, top + 12, CAPTION, colours["faint"], "font-size:12px"))
    lines = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 20}"'
        f' width="{WIDTH}" role="img" style="{STYLE}">'
        f"<title>holdfast beside other locks: less is better</title>\n{lines}\n</svg>\n"
    )


def figures(results: Results, case: str) -> dict[str, float]:
    """Returns the median of each contender that is shown, in the order of SHOWN."""
    found = {name: results.value(case, name, "p50") for name in SHOWN}
    return {SHOWN[name]: value for name, value in found.items() if value is not None}


def longest(values: dict[str, float]) -> float:
    """Returns the figure whose bar has the whole width: those beyond are cut."""
    return min(max(values.values()), CUT * values["holdfast"])


def bar(top: int, contender: str, value: float, *, end: float, colours: dict[str, str]) -> str:
    ours = contender == "holdfast"
    width = max(2, round(BARS * min(value / end, 1)))
    weight = "font-weight:600" if ours else ""
    shape = f'<rect x="{NAMES}" y="{top + 5}" width="{width}" height="14" rx="2"'
    shape += f' fill="{colours["ours" if ours else "peer"]}"/>'
    number = f"{value:,.0f}".replace(",", "\u202f") + (" →" if value > end else "")
    return (
        text(0, top + 17, contender, colours["text"], weight)
        + shape
        + text(NAMES + width + 8, top + 17, number, colours["text"], weight)
    )


def text(x: int, y: int, words: str, colour: str, style: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return f'<text x="{x}" y="{y}" fill="{colour}"{styled}>{escape(words)}</text>'


def main() -> None:
    results = load(RESULTS)
    for theme in COLOURS:
        (FOLDER / f"benchmarks-{theme}.svg").write_text(chart(results, theme), encoding="utf-8")


if __name__ == "__main__":
    main()
