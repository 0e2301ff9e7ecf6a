"""Draws what `holdfast demo` prints: holdfast demo | python -m tools.demo_picture.

It writes docs/pictures/demo.svg, with the scenes of SCENES, in the colours of a dark terminal.
"""

from __future__ import annotations

import re
import sys
from html import escape

from tools.lint.tree import ROOT

PICTURE = ROOT / "docs" / "pictures" / "demo.svg"
SCENES = (
    "A release wakes the one who waits",
    "A holder is killed",
    "A holder with a guard is killed",
)
LINE = re.compile(r"(?P<time> *\d+\.\d{3} s)  (?P<text>.+)")
#: px: of the picture, of a line, and of the margin; the text begins after the time.
WIDTH, ROW, MARGIN, TEXT = 760, 21, 18, 100
STYLE = "font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
BACK, FAINT, BRIGHT, HEAD = "#16202a", "#8fa1b3", "#e6edf3", "#4db6ac"


def scenes(printed: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Returns the chosen scenes: the title of each, and its lines with their times."""
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for line in printed.splitlines():
        if match := LINE.fullmatch(line):
            if found:
                found[-1][1].append((match["time"].strip(), match["text"]))
        elif line.strip():
            found.append((line.strip(), []))
    return [scene for scene in found if scene[0] in SCENES]


def picture(printed: str) -> str:
    """Returns the SVG for what the demo printed; raises ValueError where a scene is missing."""
    chosen = scenes(printed)
    if len(chosen) != len(SCENES):
        raise ValueError(f"the demo printed {[title for title, _ in chosen]} of {SCENES}")
    parts = [text(0, "$ holdfast demo", BRIGHT, MARGIN)]
    row = 1
    for title, lines in chosen:
        parts.append(text(row, title, HEAD, TEXT))
        for number, (time, words) in enumerate(lines, start=row + 1):
            parts += [text(number, time, FAINT, MARGIN), text(number, words, BRIGHT, TEXT)]
        row += len(lines) + 1
    height = 2 * MARGIN + row * ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'style="{STYLE}"><title>What holdfast demo prints</title>'
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{BACK}"/>{"".join(parts)}</svg>\n'
    )


def text(row: int, words: str, colour: str, x: int) -> str:
    y = MARGIN + ROW * row + 14
    return f'<text x="{x}" y="{y}" fill="{colour}" xml:space="preserve">{escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(sys.stdin.read()), encoding="utf-8")
