"""A Django project whose processes share a database and locks."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.frameworks.conftest import Run, get, manage
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
    say("lost", Item.objects.get().count, error.committed, error)
""",
        environment=environment,
    )
    said = child.expect("lost")
    assert said[:2] == ["5", "True"]
    assert "'stock:tea' was lost after the commit: the transaction was committed" in " ".join(said)


@pytest.mark.parametrize("how", ["set_rollback(True)", "atomic(savepoint=False)"])
def test_a_hold_that_is_lost_after_a_rollback_says_that_it_was_one(
    environment: dict[str, str], start_child: StartChild, server: Server, how: str
) -> None:
    """A caller that goes by `committed` would not repeat what was rolled back."""
    child = start_child(
        SETUP
        + f"""
from django.db import connection
lost = threading.Event()
theirs = connection.rollback
def rollback():
    theirs()
    get_client().lock("stock:tea").force_release()
    lost.wait()
connection.rollback = rollback
try:
    with atomic_lock("stock:tea", on_lost=lambda lock: lost.set()):
        Item.objects.update(count=5)
        if {how!r}.startswith("set"):
            transaction.set_rollback(True)
        else:
            try:
                with transaction.atomic(savepoint=False):
                    raise KeyError
            except KeyError:
                pass
except holdfast.LockLostError as error:
    say("lost", Item.objects.get().count, error.committed, error)
""",
        environment=environment,
    )
    said = child.expect("lost")
    assert said[:2] == ["0", "False"]
    words = "'stock:tea' was lost after the rollback: the transaction was rolled back"
    assert words in " ".join(said)


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


@pytest.mark.parametrize("helper", ["atomic_lock", "locked"])
@pytest.mark.parametrize("using", ["default", "other"])
def test_inside_a_transaction_of_any_database_it_raises_before_it_waits(
    helper: str, using: str, environment: dict[str, str], start_child: StartChild, server: Server
) -> None:
    child = start_child(
        SETUP
        + """
decorator = getattr(holdfast.contrib.django, HELPER)("stock:tea")
run = decorator(lambda: say("inside"))
with get_client().lock("stock:tea").hold():
    try:
        with transaction.atomic(using=USING):
            run()
    except RuntimeError as error:
        say("refused", error)
""",
        environment=environment,
        HELPER=helper,
        USING=using,
    )
    said = " ".join(child.expect("refused"))
    assert f"of the database '{using}', which would commit after the release" in said


def test_a_closed_connection_and_another_database_are_no_transaction(
    environment: dict[str, str], start_child: StartChild
) -> None:
    child = start_child(
        SETUP
        + """
from django.db import connection
with atomic_lock("stock:tea", using="other"):
    pass
connection.close()
with atomic_lock("stock:tea"):
    Item.objects.update(count=5)
say("written", Item.objects.get().count)
""",
        environment=environment,
    )
    assert child.expect("written") == ["5"]


@pytest.mark.parametrize("helper", ["atomic_lock", "locked"])
def test_after_the_commit_a_server_that_is_gone_is_a_record_and_no_error(
    helper: str, environment: dict[str, str], start_child: StartChild, private_server: Server
) -> None:
    """A caller that repeats what failed would write twice."""
    child = start_child(
        SETUP
        + """
@getattr(holdfast.contrib.django, HELPER)("stock:tea")
def write():
    Item.objects.update(count=5)
    say("written")
    hear("go")
    return "returned"
say(write(), Item.objects.get().count)
""",
        environment={
            **environment,
            "HOLDFAST_URL": f"{private_server.url}?retries=0&command_timeout=0.5",
        },
        HELPER=helper,
    )
    child.expect("written")
    private_server.stop()
    child.send("go")
    assert child.expect("returned") == ["5"]
    child.wait()
    assert "the work under 'stock:tea' is done, but its lock could not be released" in child.errors


@pytest.mark.parametrize("error", ["LockLostError", "StaleTokenError"])
def test_an_error_of_a_hook_after_the_commit_is_the_hook_s_own(
    error: str, environment: dict[str, str], start_child: StartChild
) -> None:
    child = start_child(
        SETUP
        + """
def hook():
    raise ERROR("of another lock")

try:
    with atomic_lock("stock:tea"):
        transaction.on_commit(hook)
        Item.objects.update(count=5)
except ERROR as error:
    say("raised", error.committed, Item.objects.get().count, error)
try:
    with atomic_lock("stock:tea"):
        raise ERROR("of the body")
except ERROR as error:
    say("raised", error.committed)
""".replace("ERROR", f"holdfast.{error}"),
        environment=environment,
    )
    assert child.expect("raised") == ["True", "5", "of", "another", "lock"]
    assert child.expect("raised") == ["False"]


def test_what_a_lock_is_held_for_is_the_function(
    environment: dict[str, str], start_child: StartChild
) -> None:
    """That it decorates, or that enters its block, unless another label is given, or none."""
    child = start_child(
        SETUP
        + """
def said():
    [holder] = get_client().lock("stock:tea").holders()
    return holder.purpose

@atomic_lock("stock:tea")
def decorated():
    return said()

once_made = atomic_lock("stock:tea")

def entering():
    with once_made:
        return said()

say("decorated", decorated())
say("entering", entering())
for label in ("inventory", False):
    with atomic_lock("stock:tea", label=label):
        say("given", said())
""",
        environment=environment,
    )
    assert child.expect("decorated")[0].endswith(".decorated")
    assert child.expect("entering")[0].endswith(".entering")
    assert child.expect("given") == ["inventory"]
    assert child.expect("given") == ["None"]


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
