"""The first screen of the documentation, as built in build/site, at two widths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tools.lint.tree import ROOT

INDEX = ROOT / "build" / "site" / "index.html"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not INDEX.is_file(), reason="python -m tools.lint docs builds the site"),
]

#: What a reader sees without scrolling: the part of each, by a selector.
SEEN = {
    "the purpose": "article h1 + p",
    "start": ".md-button[href='start.html']",
    "why": ".md-button[href='guarantees.html']",
    "reference": ".md-button[href^='reference/']",
    "the chart": ".seen img[src*='benchmarks-light']",
    "the demo": ".seen img[src*='demo']",
    "version, licence and support": ".md-header .facts",
}
OPTIONS = """
return Array.from(document.querySelectorAll("li > b:first-child"), each => each.textContent)
    .filter(name => name === arguments[0]).length;
"""
BOX = """
return Array.from(document.querySelectorAll(arguments[0]), each => {
    const box = each.getBoundingClientRect();
    return [box.left, box.top, box.right, box.bottom];
}).filter(([left, top, right, bottom]) => right > left && bottom > top);
"""


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (400, 800)], ids=["wide", "phone"])
def test_the_first_screen_shows_what_it_is_and_where_to_go(
    browse: Callable[..., Any], width: int, height: int
) -> None:
    driver = browse(width=width, height=height)
    driver.get(INDEX.as_uri())
    [inner, shown] = driver.execute_script("return [innerWidth, innerHeight]")
    for what, selector in SEEN.items():
        boxes = driver.execute_script(BOX, selector)
        assert boxes, f"{what} is not there"
        left, top, right, bottom = boxes[0]
        assert min(left, top) >= 0, what
        assert right <= inner, what
        assert bottom <= shown, f"{what} ends at {bottom} of {shown}"
    assert driver.execute_script("return document.documentElement.scrollWidth") <= inner


def test_the_options_of_a_client_can_be_read_on_a_phone(browse: Callable[..., Any]) -> None:
    """As a list: a table would be cut off after its second column."""
    driver = browse(width=400, height=800)
    driver.get((INDEX.parent / "client.html").as_uri())
    for option in ("lease", "command_timeout", "replicas_to_wait", "guard"):
        assert driver.execute_script(OPTIONS, option) == 1, option
