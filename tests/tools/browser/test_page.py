"""What an operator does with the page."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

import holdfast
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.browser.conftest import Open
from tests.tools.browser.pages import MARKUP, NAMES, Page, fill
from tests.tools.web.inspector import Inspector, owner
from tests.tools.web.test_load import scans

pytestmark = [pytest.mark.browser]


@pytest.fixture
def page(browse: Open, server: Server, inspector: Inspector) -> Page:
    """The list of locks, with the locks of `fill`."""
    fill(server)
    page = Page(browse(), inspector.address)
    page.until_names(sorted(NAMES))
    return page


def test_the_token_leaves_the_address_bar_and_the_history(page: Page, inspector: Inspector) -> None:
    assert inspector.token not in page.browser.current_url
    assert page.run("return document.cookie") == ""
    page.browser.back()
    assert inspector.token not in page.browser.current_url


def test_the_page_that_open_hands_to_a_browser_leads_to_the_inspector(
    browse: Open, inspector: Inspector, tmp_path: Path
) -> None:
    opened = tmp_path / "opened.html"
    link = html.escape(inspector.address)
    opened.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={link}">')
    browser = browse()
    browser.get(opened.as_uri())
    eventually(lambda: browser.current_url.startswith(f"{inspector.origin}/"))
    page = Page(browser, f"{inspector.origin}/")
    page.until_text("No lock is held now.")
    browser.refresh()
    page.until_text("No lock is held now.")


def test_names_are_text(page: Page) -> None:
    assert MARKUP in page.names
    page.click(MARKUP)
    page.until("return document.querySelector('h1').innerText === arguments[0]", MARKUP)
    assert page.run("return document.querySelectorAll('main img').length") == 0
    assert page.browser.title != "owned"
    assert page.errors == []


def test_search_narrows_and_a_head_sorts(page: Page) -> None:
    search = page.browser.find_element("id", "search")
    search.send_keys("NIGHTLY")
    page.until_names(["nightly/report"])
    search.clear()
    search.send_keys(" ", Keys.BACKSPACE)
    page.until_names(sorted(NAMES))
    page.click("Time left")
    page.until_names(list(NAMES))
    page.click("Time left")
    page.until_names(list(reversed(NAMES)))


def test_the_age_of_a_hold_is_shown_and_sorts(page: Page, server: Server) -> None:
    """Also that it is younger than what its client would have noted."""
    for number in range(2):
        key = f"holdfast:client:5c0d4a6e-0000-4000-8000-00000000000{number}"
        server.inspect.hset(key, mapping={"started": 1, "within": 2000})
    with holdfast.Client(server.url) as client, client.lock("a young one", lease=60):
        server.inspect.hset(f"holdfast:client:{client.id}", mapping={"started": 1, "within": 2000})
        began = server.inspect.time()[0] - 3 * 3600
        key = "holdfast:client:5c0d4a6e-0000-4000-8000-000000000002"
        server.inspect.hset(key, f"3:{NAMES[2]}", f"{began * 1000} monthly")
        page.until_text("3 h 0 min")
        page.until_text("< 2 s")
        page.click("Held for")
        assert page.names[0] == NAMES[2]
        page.click("a young one")
        page.until_text("for less than 2 s")


def test_changes_appear_and_are_noted_as_hand_overs(page: Page, server: Server) -> None:
    server.inspect.delete("invoice:2041")
    page.until_names(sorted(set(NAMES) - {"invoice:2041"}))
    server.inspect.hset("new", "5c0d4a6e-0000-4000-8000-000000000009:7", 1)
    page.until_text("new")
    page.click("Hand-overs")
    page.until_text("invoice:2041")
    rows = page.until(
        "return [...document.querySelectorAll('main li')].map((row) => row.innerText)"
    )
    assert "new" in rows[0]
    assert "free" in rows[0]
    assert "5c0d4a6e-0000-4000-8000-000000000009:7" in rows[0]


def test_the_time_left_counts_down(page: Page) -> None:
    page.click("cache:rebuild")
    first = page.until("return document.querySelector('dd .large')?.innerText")
    page.until("return document.querySelector('dd .large').innerText !== arguments[0]", first)


def test_a_number_is_not_called_what_it_may_not_be(page: Page, server: Server) -> None:
    server.inspect.set("steps", 2)
    page.run("location.hash = '#/lock/steps'")
    facts = "return [...document.querySelectorAll('dl.facts > div')].map((fact) => fact.innerText)"
    page.until_text("semaphore or latch")
    told = [fact.split("\n") for fact in page.run(facts)]
    assert ["Number", "2"] in told
    assert "Permits" not in [fact[0] for fact in told]


def test_slots_and_leaders_are_called_so(page: Page, server: Server) -> None:
    with (
        holdfast.Client(server.url, client_name="orders") as client,
        client.leader("cron", value="10.0.0.7:9000", lease=60),
        client.slots("gpus", ["gpu0", "gpu1"], lease=60),
    ):
        page.until_names(sorted([*NAMES, "cron", "gpus"]))
        page.until_text("orders (slot gpu0)")
        page.click("cron")
        page.until_text("10.0.0.7:9000")
        told = page.run("return document.querySelector('dl.facts').innerText")
        assert "leader" in told.split("\n")
        page.run("location.hash = '#/lock/gpus'")
        page.until_text("1 free of 2")


def test_force_release_requires_the_name(page: Page, server: Server) -> None:
    page.click("nightly/report")
    page.click("Force release…")
    typed = page.browser.find_element("id", "typed-name")
    button = page.browser.find_element("css selector", "dialog .danger")
    for text in ("nightly", "/repor"):
        typed.send_keys(text)
        assert not button.is_enabled()
    typed.send_keys(Keys.ENTER)
    assert server.inspect.exists("nightly/report")
    typed.send_keys("t")
    assert button.is_enabled()
    typed.send_keys(Keys.ENTER)
    page.until_text("This lock is free now.")
    assert not server.inspect.exists("nightly/report")
    page.until_text("Forced releases")
    page.until_text("by user default, connection holdfast:")
    number = NAMES.index("nightly/report")
    page.until_text(f"held until then by 5c0d4a6e-0000-4000-8000-00000000000{number}:")


def test_read_only_offers_no_release(browse: Open, server: Server) -> None:
    fill(server)
    with Inspector(server.url, "--read-only") as inspector:
        page = Page(browse(), inspector.address)
        page.click("nightly/report")
        page.until_text("Owner")
        assert "Force release" not in page.run("return document.body.innerText")


def test_everything_is_done_by_keyboard(page: Page, server: Server) -> None:
    def tab_to(text: str) -> None:
        for _ in range(40):
            page.type(Keys.TAB)
            if page.focused == text:
                return
        raise AssertionError(f"{text} is not reached with Tab")

    tab_to("cache:rebuild")
    page.type(Keys.ENTER)
    page.until_text("All locks")
    tab_to("Force release…")
    page.type(Keys.ENTER)
    page.until("return document.activeElement.id === 'typed-name'")
    page.type(Keys.ESCAPE)
    page.until("return document.querySelector('dialog') === null")
    page.type(Keys.ENTER)
    page.until("return document.activeElement.id === 'typed-name'")
    page.type("cache:rebuild", Keys.ENTER)
    page.until_text("This lock is free now.")
    assert not server.inspect.exists("cache:rebuild")


def test_a_hidden_page_closes_its_stream_and_opens_it_again(page: Page, server: Server) -> None:
    def at_rest() -> bool:
        """No scan begins while two of its periods pass."""
        before = scans(server)
        page.browser.execute_async_script("setTimeout(arguments[0], 2500)")
        return scans(server) == before

    first = page.browser.current_window_handle
    page.run(_SET_VISIBILITY, "hidden")
    eventually(at_rest, within=30, what="the scans stop")
    server.inspect.delete(*NAMES[1:])
    page.run(_SET_VISIBILITY, "visible")
    page.until_names(["cache:rebuild"])
    page.browser.switch_to.new_window("tab")
    page.browser.get("about:blank")
    page.browser.switch_to.window(first)


def test_tabs_beyond_the_browsers_connections_all_work(page: Page, inspector: Inspector) -> None:
    """A browser opens six connections to a host: streams of hidden tabs would use them up."""
    for _ in range(8):
        page.browser.switch_to.new_window("tab")
        further = Page(page.browser, f"{inspector.origin}/")
        further.until_names(sorted(NAMES))


def test_an_outage_is_shown_and_the_page_recovers(page: Page, server: Server) -> None:
    server.stop()
    page.until_text("The server is away")
    assert page.names == sorted(NAMES)
    server.start()
    server.inspect.hset("after", "5c0d4a6e-0000-4000-8000-000000000009:7", 1)
    page.until_names(["after"])
    assert "The server is away" not in page.run("return document.body.innerText")


def test_a_page_of_an_earlier_run_says_so(page: Page, server: Server, inspector: Inspector) -> None:
    inspector.end()
    page.until_text("The inspector does not answer")
    with Inspector(server.url, port=inspector.port):
        page.until_text("open the one that holdfast inspect printed last")


_SET_VISIBILITY = """
Object.defineProperty(document, "visibilityState", { value: arguments[0], configurable: true });
document.dispatchEvent(new Event("visibilitychange"));
"""


def test_only_the_rows_on_the_screen_are_drawn(
    server: Server, inspector: Inspector, browse: Open
) -> None:
    with server.inspect.pipeline(transaction=False) as pipeline:
        for number in range(3000):
            pipeline.hset(f"lock:{number:04}", owner(), 1)
        pipeline.execute()
    page = Page(browse(), inspector.address)
    page.until_text("3000 held")
    page.until("return document.querySelectorAll('tbody tr').length < 200")
    assert page.names[0] == "lock:0000"
    page.run("window.scrollTo(0, document.body.scrollHeight)")
    eventually(lambda: page.names[-1] == "lock:2999", within=60, what="the last row is drawn")
    assert 0 < len(page.names) < 200
    assert (
        page.run("return document.querySelector('table').getAttribute('aria-rowcount')") == "3001"
    )
