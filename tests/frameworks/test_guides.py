"""The examples in the guides about frameworks and monitoring run, page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.processes import StartChild
from tests.support.servers import Server

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

GUIDES = Path(__file__).parents[2] / "docs/guides"

SETUP = {
    "django": """
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["holdfast.contrib.django"], HOLDFAST_URL=URL,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
import django
django.setup()
""",
}

AFTER = {
    "django": "withdraw(7, 5)\nassert settings.HOLDFAST_URL == URL\n",
    "fastapi": """
from fastapi.testclient import TestClient
with TestClient(app) as test_client:
    assert test_client.get("/report").json() == "done"
    for cents in (5, 7):  # the second request gets the result of the first
        response = test_client.post(
            f"/accounts/1/payments?cents={cents}", headers={"Idempotency-Key": "a"}
        )
        assert response.json() == {"account": 1, "charged": 5}, response.text
    assert test_client.post("/accounts/1/payments?cents=7").status_code == 422
""",
    "celery": """
assert export.apply((7,)).get() is None
for _ in range(2):
    assert charge.apply((7,)).get() == {"order": 7, "charged": True}
assert client.once("charge:7").status() == "done"
""",
}

NEEDS = {
    "monitoring": ["prometheus_client", "opentelemetry.sdk"],
    "django": ["django"],
    "fastapi": ["fastapi", "httpx"],
    "celery": ["celery"],
}


#: Pages whose examples need more than that, with the module here that runs them.
ELSEWHERE = {
    "any-framework": "test_any_framework.py",
    "fencing": "test_fencing.py",
    "gunicorn": "test_gunicorn.py",
}


def examples(page: str, url: str) -> list[str]:
    """The examples of a page, which use the server at `url`."""
    text = (GUIDES / f"{page}.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"redis://127\.0\.0\.1:6379(/0)?", url, block) for block in blocks]


@pytest.mark.parametrize("page", NEEDS)
def test_the_examples_run(page: str, start_child: StartChild, server: Server) -> None:
    for package in NEEDS[page]:
        pytest.importorskip(package)
    blocks = examples(page, server.url)
    assert blocks
    program = "\n".join([SETUP.get(page, ""), *blocks, AFTER.get(page, ""), 'say("done")'])
    child = start_child(program, URL=server.url, environment={"HOLDFAST_URL": server.url})
    child.expect("done", within=60)
    assert child.wait(60) == 0, child.errors
