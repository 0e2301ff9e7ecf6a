"""The inspector's page as a user sees it."""

from __future__ import annotations

from typing import Any

from tests.support.servers import Server
from tests.support.waiting import eventually

BOUND = 60.0


def fill(server: Server) -> None:
    """Locks of several kinds, one of them with a name that would be markup."""
    pipeline = server.inspect.pipeline()
    for number, name in enumerate(NAMES):
        pipeline.hset(name, f"5c0d4a6e-0000-4000-8000-00000000000{number}:{number + 1}", 1)
        pipeline.pexpire(name, 60_000 * (number + 1))
    pipeline.execute()


MARKUP = "<img src=x onerror=\"document.title='owned'\">"
NAMES = ("cache:rebuild", "invoice:2041", "nightly/report", MARKUP)


class Page:
    """A browser that shows the inspector; elements are found by what a user reads."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser = browser
        browser.get(address)
        self.until("return document.querySelector('#state').textContent === 'Live'")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def until(self, script: str, *arguments: Any) -> Any:
        """The first true value of a script."""
        return eventually(lambda: self.run(script, *arguments), within=BOUND, what=script)

    def until_text(self, text: str) -> None:
        self.until("return document.body.innerText.includes(arguments[0])", text)

    @property
    def names(self) -> list[str]:
        """The names in the list, from above."""
        return list(self.run(_NAMES))

    def until_names(self, names: list[str]) -> None:
        eventually(lambda: self.names == names, within=BOUND, what=f"the list is {names}")

    def click(self, text: str) -> None:
        """Click the link or button of this text."""
        self.until(_CLICK, text)

    def type(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        self.browser.switch_to.active_element.send_keys(*keys)

    @property
    def focused(self) -> str:
        """The text of what has the focus."""
        return str(self.run("return document.activeElement.innerText.trim()"))

    @property
    def errors(self) -> list[str]:
        """What the console has had to complain of."""
        entries = self.browser.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] in {"SEVERE", "WARNING"}]


_NAMES = "return [...document.querySelectorAll('tbody a')].map((link) => link.innerText)"
_CLICK = """
const found = [...document.querySelectorAll("a, button")].find(
    (node) => node.innerText.trim() === arguments[0] && node.checkVisibility());
found?.click();
return found !== undefined;
"""
