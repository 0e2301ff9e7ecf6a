"""The programs of the page "Any framework" run, each in the newest version of its framework."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.processes import StartChild
from tests.support.servers import Server

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

PAGE = Path(__file__).parents[2] / "docs/guides/any-framework.md"

#: By the heading: what the program's module is tried with, as `sample`, with a server at `URL`.
TRIALS = {
    "APScheduler 4": """
import io
from apscheduler import Scheduler
heard = sys.stdout = io.StringIO()
with Scheduler() as scheduler:
    scheduler.start_in_background()
    scheduler.run_job(sample.report)
    with sample.holdfast.Client(URL) as other, other.lock("report").hold():
        scheduler.run_job(sample.report)
assert heard.getvalue() == "reported\\n", "it runs once, and is left out beside another one"
""",
    "RQ": """
from redis import Redis
from rq import Queue, SimpleWorker
connection = Redis.from_url(URL)
job = Queue(connection=connection).enqueue(sample.invoice, 7)
SimpleWorker(["default"], connection=connection).work(burst=True)
assert job.latest_result().return_value == "invoice 7"
""",
    "arq": """
import asyncio
from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker
async def main():
    settings = RedisSettings.from_dsn(URL)
    pool = await create_pool(settings)
    job = await pool.enqueue_job("invoice", 7)
    given = {k: v for k, v in vars(sample.WorkerSettings).items() if k[0] != "_"}
    worker = Worker(**given, burst=True, redis_settings=settings, handle_signals=False)
    await worker.async_run()
    assert await job.result() == "invoice 7"
    await worker.close()
    await pool.aclose()
asyncio.run(main())
""",
    "Taskiq": """
import asyncio
async def main():
    sample.broker.is_worker_process = True
    await sample.broker.startup()
    task = await sample.invoice.kiq(7)
    assert (await task.wait_result()).return_value == "invoice 7"
    await sample.broker.shutdown()
asyncio.run(main())
""",
    "dramatiq": """
sample.invoice.send(7)
worker = dramatiq.Worker(broker)
worker.start()
broker.join("default")
worker.join()
worker.stop()
""",
    "Flask": """
app = sample.app.test_client()
assert app.post("/accounts/7").json == {"account": 7}
with sample.holdfast.Client(URL) as other, other.lock("account:7").hold():
    busy = app.post("/accounts/7")
    assert (busy.status_code, busy.headers["Retry-After"]) == (423, "1")
""",
    "Litestar": """
from litestar.testing import TestClient
with TestClient(sample.app) as app:
    assert app.post("/accounts/7").json() == {"account": 7}
""",
    "aiohttp": """
import asyncio
from aiohttp.test_utils import TestClient, TestServer
async def main():
    async with TestClient(TestServer(sample.app)) as app:
        answer = await app.post("/accounts/7")
        assert await answer.json() == {"account": 7}
asyncio.run(main())
""",
    "In the place of a lock of Django's cache": """
assert sample.report() == "the report"
assert sample.report() == "the report"
""",
}

#: Before the program is imported.
BEFORE = {
    "dramatiq": """
import dramatiq
from dramatiq.brokers.stub import StubBroker
broker = StubBroker()
dramatiq.set_broker(broker)
""",
    "In the place of a lock of Django's cache": """
from django.conf import settings
settings.configure(INSTALLED_APPS=["holdfast.contrib.django"], HOLDFAST_URL=URL)
import django
django.setup()
""",
}

PACKAGES = {
    "APScheduler 4": "apscheduler",
    "RQ": "rq",
    "In the place of a lock of Django's cache": "django",
}


def programs(url: str) -> dict[str, str]:
    """The program under each heading, which uses the server at `url`."""
    found = re.findall(
        r"^## (.+?)$.*?^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return {heading: text.replace("redis://127.0.0.1:6379/0", url) for heading, text in found}


def test_each_program_of_the_page_has_a_trial() -> None:
    assert list(programs("")) == list(TRIALS)


@pytest.mark.parametrize("heading", TRIALS)
def test_the_program_runs(
    heading: str, start_child: StartChild, server: Server, tmp_path: Path
) -> None:
    package = PACKAGES.get(heading, heading.lower())
    pytest.importorskip(package, reason=f"{package} is not installed")
    (tmp_path / "sample.py").write_text(programs(server.url)[heading])
    find = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    print_apart = "out, sys.stdout = sys.stdout, sys.stderr"  # what the frameworks print
    trial = [find, print_apart, BEFORE.get(heading, ""), "import sample", TRIALS[heading]]
    trial += ["sys.stdout = out", 'say("done")']
    child = start_child("\n".join(trial), URL=server.url)
    child.expect("done", within=60)
    assert child.wait(60) == 0, child.errors
