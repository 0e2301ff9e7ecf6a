"""The page for everybody: axe-core, narrow screens, dark mode, less motion; and its pictures."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually
from tests.tools.browser.conftest import Open
from tests.tools.browser.pages import NAMES, Page, fill
from tests.tools.web.inspector import Inspector

pytestmark = [pytest.mark.browser]

SCREENS = {
    "desktop": {"width": 1100, "height": 700},
    "dark": {"width": 1100, "height": 700, "dark": True},
    "phone": {"width": 360, "height": 740},
    "phone-dark": {"width": 360, "height": 740, "dark": True, "reduced_motion": True},
}


def findings(page: Page, axe: str) -> list[str]:
    """What axe-core finds on the page that is serious or critical."""
    page.run(axe)
    report = page.browser.execute_async_script("axe.run().then(arguments[0])")
    return [
        f"{found['id']}: {found['help']}: {node['html']}"
        for found in report["violations"]
        if found["impact"] in {"serious", "critical"}
        for node in found["nodes"]
    ]


def fits(page: Page) -> bool:
    """Whether nothing sticks out to the right."""
    return bool(page.run("return document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_is_accessible_and_fits(
    browse: Open, server: Server, inspector: Inspector, axe: str, screen: str
) -> None:
    fill(server)
    server.inspect.hset("x" * 300, "5c0d4a6e-0000-4000-8000-000000000009:7", 1)
    page = Page(browse(**SCREENS[screen]), inspector.address)
    page.until_text("nightly/report")
    assert (findings(page, axe), fits(page)) == ([], True)
    page.click("nightly/report")
    page.click("Force release…")
    assert (findings(page, axe), fits(page)) == ([], True)
    page.click("Cancel")
    assert (findings(page, axe), fits(page)) == ([], True)
    server.inspect.delete("nightly/report")
    page.until_text("This lock is free now.")
    assert findings(page, axe) == []
    page.click("Hand-overs")
    page.until_text("nightly/report")
    assert (findings(page, axe), fits(page)) == ([], True)
    page.click("Server")
    page.until_text("Eviction policy")
    assert (findings(page, axe), fits(page)) == ([], True)
    server.stop()
    page.until_text("The server is away")
    assert (findings(page, axe), fits(page)) == ([], True)


def test_axe_finds_what_is_wrong(browse: Open, inspector: Inspector, axe: str) -> None:
    page = Page(browse(), inspector.address)
    page.run("document.querySelector('label').remove()")
    assert findings(page, axe) != []


def test_nothing_moves_under_reduced_motion(
    browse: Open, server: Server, inspector: Inspector
) -> None:
    fill(server)
    page = Page(browse(reduced_motion=True), inspector.address)
    page.until_names(sorted(NAMES))
    server.inspect.hset("cache:rebuild", "5c0d4a6e-0000-4000-8000-000000000000:1", 5)
    page.until_text("5 holds")
    style = "return getComputedStyle(document.querySelector('tr.changed td')).animationName"
    assert page.until(style) == "none"


def test_pictures_of_the_documentation(
    request: pytest.FixtureRequest, browse: Open, server: Server, inspector: Inspector
) -> None:
    folder: Path | None = request.config.getoption("--pictures")
    if folder is None:
        pytest.skip("--pictures names no folder")
    with scene(server):
        page = Page(browse(width=1000, height=500), inspector.address)
        page.until_text("export:daily")
        save(page, folder / "inspect-locks.png")
        page.click("checkout:shop-7")
        page.until_text("Queue (2)")
        save(page, folder / "inspect-lock.png")
        page = Page(browse(width=360, height=560, dark=True), inspector.address)
        page.until_text("export:daily")
        save(page, folder / "inspect-phone.png")


@contextlib.contextmanager
def scene(server: Server) -> Iterator[None]:
    """Locks of a small shop, held and waited for by clients of several machines."""
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(holdfast.Client(server.url, id=id, client_name=name))
            for id, name in (named(number) for number in range(3))
        ]
        first, second, third = clients
        for lock in (
            third.lock("export:daily"),
            second.fenced_lock("invoice:2041"),
            first.read_write_lock("catalogue").read,
            second.read_write_lock("catalogue").read,
        ):
            stack.enter_context(lock)
        for waiting in (second, third):
            stack.enter_context(in_line(waiting.fair_lock("checkout:shop-7")))
        # The first to be released, so that those in line have their turns.
        stack.enter_context(first.fair_lock("checkout:shop-7"))
        yield


def named(number: int) -> tuple[str, str]:
    """An id, and the name of the client that has it."""
    id = f"{0x7E3A91C0 + number * 0x1B7F:08x}-52f4-4c1e-9d0b-6a8e3f21b{number:03}"
    return id, f"worker-{number + 1}"


@contextlib.contextmanager
def in_line(lock: Any) -> Iterator[None]:
    """Wait for the lock in a thread as soon as another holds it; it has its turn at the end."""

    def wait() -> None:
        eventually(lock.locked)
        with lock:
            return

    waiting = threading.Thread(target=wait)
    waiting.start()
    yield
    waiting.join(BOUND)


def save(page: Page, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    page.browser.save_screenshot(str(path))
