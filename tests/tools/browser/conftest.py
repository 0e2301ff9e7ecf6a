"""Headless Chromium, a server with an inspector, and axe-core: see README.md."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers import Server, why_absent
from tests.tools.web.inspector import Inspector

webdriver = pytest.importorskip("selenium.webdriver", reason="nox -s browser installs Selenium")

AXE = Path("build/browser/node_modules/axe-core/axe.min.js")

Open = Callable[..., Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pictures", type=Path, help="a folder for the documentation's pictures")


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    if not AXE.exists():
        pytest.skip(f"{AXE} is not there: nox -s browser installs it")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture
def server() -> Iterator[Server]:
    reason = why_absent("redis")
    if reason:
        pytest.skip(f"redis: {reason}")
    with Server("redis") as server:
        yield server


@pytest.fixture
def inspector(server: Server) -> Iterator[Inspector]:
    with Inspector(server.url) as inspector:
        yield inspector


@pytest.fixture
def browse() -> Iterator[Open]:
    """Start a browser: `browse(width=1100, height=700, dark=False, reduced_motion=False)`."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    started: list[Any] = []

    def start(
        *, width: int = 1100, height: int = 700, dark: bool = False, reduced_motion: bool = False
    ) -> Any:
        driver = webdriver.Chrome(options=_options(), service=_service())
        started.append(driver)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else ""},
        ]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        return driver

    yield start
    for driver in started:
        driver.quit()


def _options() -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return options


def _service() -> Any:
    from selenium.webdriver.chrome.service import Service

    return Service(shutil.which("chromedriver"))
