"""A Django project whose processes share a database and locks."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.frameworks.conftest import ROOT, Run, get
from tests.support.processes import StartChild
from tests.support.servers import Server, free_port
from tests.support.waiting import eventually

pytest.importorskip("django")

pytestmark = [pytest.mark.frameworks, pytest.mark.servers("redis")]

SETTINGS = "tests.frameworks.shop.settings"
SETUP = """
import django
django.setup()
from django.db import transaction
from tests.frameworks.shop.models import Item
from holdfast.contrib.django import atomic_lock, get_client
"""


@pytest.fixture
def environment(tmp_path: Path, server: Server) -> dict[str, str]:
    """What names the settings, the server, and a database with one item."""
    environment = {
        "DJANGO_SETTINGS_MODULE": SETTINGS,
        "SHOP_DATABASE": str(tmp_path / "shop.sqlite"),
        "HOLDFAST_URL": server.url,
    }
    manage(environment, "migrate", "--run-syncdb", "--verbosity", "0")
    with sqlite3.connect(environment["SHOP_DATABASE"]) as database:
        database.execute("INSERT INTO shop_item (name, count) VALUES ('tea', 0)")
    return environment


def manage(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "django", *command],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), **environment},
    )  # fmt: skip
    if "check" not in command:
        assert done.returncode == 0, done.stderr
    return done


def count(environment: dict[str, str]) -> int:
    """What another process sees: that is, what is committed."""
    with sqlite3.connect(environment["SHOP_DATABASE"]) as database:
        number: int = database.execute("SELECT count FROM shop_item").fetchone()[0]
        return number


def test_another_process_sees_the_commit_before_the_lock_is_free(
    environment: dict[str, str], start_child: StartChild, server: Server
) -> None:
    child = start_child(
        SETUP
        + """
with atomic_lock("stock:tea"):
    transaction.on_commit(lambda: (say("committed"), hear("go")))
    Item.objects.update(count=5)
    say("written")
    hear("commit")
say("done")
""",
        environment=environment,
    )
    child.expect("written")
    assert count(environment) == 0
    child.send("commit")
    child.expect("committed")
    assert count(environment) == 5
    assert server.inspect.exists("stock:tea")
    child.send("go")
    child.expect("done")
    assert not server.inspect.exists("stock:tea")


def test_the_lock_is_free_after_a_rollback(
    environment: dict[str, str], start_child: StartChild, server: Server
) -> None:
    child = start_child(
        SETUP
        + """
try:
    with atomic_lock("stock:tea"):
        Item.objects.update(count=5)
        raise KeyError("reason")
except KeyError:
    say("raised", get_client().lock("stock:tea").locked(), Item.objects.get().count)
try:
    with transaction.atomic():
        with atomic_lock("stock:tea"):
            say("inside")
except RuntimeError as error:
    say("refused", get_client().lock("stock:tea").locked())
""",
        environment=environment,
    )
    assert child.expect("raised") == ["False", "0"]
    assert child.expect("refused") == ["False"]


def test_a_hold_that_is_lost_before_the_commit_rolls_back(
    environment: dict[str, str], start_child: StartChild, server: Server
) -> None:
    child = start_child(
        SETUP
        + """
lost = threading.Event()
try:
    with atomic_lock("stock:tea", on_lost=lambda lock: lost.set()) as lock:
        Item.objects.update(count=5)
        get_client().lock("stock:tea").force_release()
        lost.wait()
except holdfast.LockLostError as error:
    say("lost", Item.objects.get().count)
""",
        environment=environment,
    )
    assert child.expect("lost") == ["0"]


def test_a_hold_that_is_lost_after_the_commit_says_so(
    environment: dict[str, str], start_child: StartChild, server: Server
) -> None:
    child = start_child(
        SETUP
        + """
lost = threading.Event()

def lose():
    get_client().lock("stock:tea").force_release()
    lost.wait()

try:
    with atomic_lock("stock:tea", on_lost=lambda lock: lost.set()):
        transaction.on_commit(lose)
        Item.objects.update(count=5)
except holdfast.LockLostError as error:
    say("lost", Item.objects.get().count, error)
""",
        environment=environment,
    )
    said = child.expect("lost")
    assert said[0] == "5"
    assert "'stock:tea' was lost after the commit: the transaction was committed" in " ".join(said)


@pytest.mark.parametrize("how", ["with transaction.atomic():", "if not set_autocommit(False):"])
def test_inside_a_transaction_it_raises_before_it_waits(
    environment: dict[str, str], start_child: StartChild, server: Server, how: str
) -> None:
    child = start_child(
        SETUP
        + f"""
from django.db.transaction import set_autocommit
with get_client().lock("stock:tea").hold():
    try:
        {how}
            with atomic_lock("stock:tea"):
                say("inside")
    except RuntimeError as error:
        say("refused", error)
""",
        environment=environment,
    )
    assert "the release" in " ".join(child.expect("refused"))


def test_a_coroutine_function_is_refused(
    environment: dict[str, str], start_child: StartChild, server: Server
) -> None:
    child = start_child(
        SETUP
        + """
async def view(request): pass

for decorate in (atomic_lock("stock:tea"), locked("stock:tea")):
    try:
        decorate(view)
    except TypeError as error:
        say("refused", error)
""".replace("locked(", "holdfast.contrib.django.locked("),
        environment=environment,
    )
    for _ in range(2):
        assert "coroutine" in child.expect("refused")


def test_processes_that_read_and_write_under_a_lock_lose_no_update(
    environment: dict[str, str], run: Run
) -> None:
    ports = [free_port() for _ in range(3)]
    for port in ports:
        run("-m", "django", "runserver", "--noreload", f"127.0.0.1:{port}", **environment)
    for port in ports:
        eventually(lambda port=port: answers(port), within=60)
    urls = [f"http://127.0.0.1:{port}/add/tea" for port in ports] * 10
    with ThreadPoolExecutor(12) as pool:
        answers_ = list(pool.map(get, urls))
    assert {status for status, _ in answers_} == {200}
    assert sorted(int(text) for _, text in answers_) == list(range(1, 31))
    assert count(environment) == 30


def answers(port: int) -> bool:
    try:
        return get(f"http://127.0.0.1:{port}/report/tea") == (200, "True")
    except OSError:
        return False


def test_a_child_of_a_preloaded_application_holds_for_itself(
    environment: dict[str, str], start_child: StartChild
) -> None:
    child = start_child(
        SETUP
        + """
with get_client().lock("one"):
    if os.fork() == 0:
        say("child", get_client().lock("one").acquire(blocking=False))
        with get_client().lock("two"):
            say("holds", get_client().lock("two").owned())
        os._exit(0)
    os.wait()
    say("parent", get_client().lock("one").owned())
""",
        environment=environment,
    )
    assert child.expect("child") == ["False"]
    assert child.expect("holds") == ["True"]
    assert child.expect("parent") == ["True"]


def test_the_system_check_names_what_is_wrong_with_the_settings(
    environment: dict[str, str],
) -> None:
    assert manage(environment, "check").returncode == 0
    for wrong in ("http://127.0.0.1", ""):
        bare = {**environment, "HOLDFAST_URL": wrong, "SHOP_URLS": ""}
        done = manage(bare, "check")
        assert done.returncode != 0
        assert "(holdfast.E001) settings.HOLDFAST_URL" in done.stderr
