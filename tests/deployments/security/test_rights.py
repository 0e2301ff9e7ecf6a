"""The rights that docs/wire-protocol.md lists for each kind: enough, and none too many.

A user with exactly these lives the life of the kind; without any one of them something fails, at
once, with an error that says what is missing.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import servers
from tests.support.actors import Flavour
from tests.support.fixtures import StartServer
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

pytestmark = pytest.mark.servers("real")

PAGE = Path(__file__).resolve().parents[3] / "docs" / "wire-protocol.md"
RIGHTS = PAGE.with_name("rights.md")
NAME = "app:name"
SECRET = "hunter2"
#: By the word of what is built on a kind: its page.
PAGES = {"leader": "leader-election"}


@dataclass
class Life:
    """Two owners of two clients of one user, and what they do."""

    server: Server
    flavour: Flavour
    alice: Any
    bob: Any
    make: Callable[[Any], Any]
    clients: list[Any] = field(default_factory=list)

    def thing(self, **options: Any) -> Any:
        """The kind's object, of a separate client."""
        url = self.server.url.replace("redis://", f"redis://app:{SECRET}@")
        self.clients.append(self.flavour.client(url, **options))
        return self.make(self.clients[-1])

    def wait(self, thing: Any, method: str = "acquire", **options: Any) -> Any:
        """Bob waits for it; returns when the server knows, or when he has got an error."""
        waiting = self.bob.begin(getattr(thing, method), **options)
        asleep = self.server.subscribed_channels
        eventually(lambda: waiting.done() or asleep() or "Spin" in type(thing).__name__)
        return waiting

    def end(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            for client in self.clients:
                self.alice.do(client.close)
        eventually(lambda: not self.server.subscribed_channels())


def _lock(life: Life) -> None:
    alice, bob = life.alice, life.bob
    mine, theirs = life.thing(), life.thing()
    alice.do(mine.acquire)
    waiting = life.wait(theirs)
    alice.do(mine.acquire)
    for question in (mine.hold_count, mine.owned, mine.locked, mine.ttl):
        assert alice.do(question)
    assert alice.do(mine.extend, 20)
    alice.do(mine.release)
    alice.do(mine.release)
    assert waiting.result(BOUND)
    bob.do(theirs.release)
    _handed_over(life, mine)
    _renewed(life, theirs)


def _handed_over(life: Life, mine: Any) -> None:
    """Within a client; to a later owner; and taken away by force."""
    life.alice.do(mine.acquire)
    waiting = life.wait(mine)
    life.alice.do(mine.release)
    assert waiting.result(BOUND)
    assert life.alice.do_briefly(mine.acquire, timeout=0.02) is False
    assert life.alice.do(mine.force_release)
    with pytest.raises(holdfast.NotOwnedError):
        life.bob.do(mine.release)


def _renewed(life: Life, theirs: Any) -> None:
    short = life.thing(lease=3)
    life.alice.do(short.acquire)
    before = life.server.scripts_run() or 0
    eventually(lambda: (life.server.scripts_run() or 0) >= before + 2)
    assert short.lost is False
    assert life.bob.do(theirs.acquire, blocking=False) is False
    life.alice.do(short.release)


def _read_write(life: Life) -> None:
    read_write = life.make
    for side in ("read", "write"):
        life.make = lambda client, side=side: getattr(read_write(client), side)  # type: ignore[misc]
        if side == "write":
            _lock(life)
            continue
        reader, other = life.thing(), life.thing()
        writer = read_write(life.clients[0]).write
        life.alice.do(writer.acquire)
        waiting = life.wait(other)
        life.alice.do(reader.acquire)
        life.alice.do(writer.release)
        assert waiting.result(BOUND)
        for question in (reader.hold_count, reader.owned, reader.locked, reader.ttl):
            assert life.alice.do(question)
        assert life.alice.do(reader.extend, 20)
        life.alice.do(reader.release)
        life.bob.do(other.release)
        life.alice.do(reader.acquire)
        assert life.bob.do(other.force_release)
        with pytest.raises(holdfast.NotOwnedError):
            life.alice.do(reader.release)
        life.alice.do(writer.acquire)
        life.alice.do(writer.release)


def _semaphore(life: Life) -> None:
    mine, theirs = life.thing(), life.thing()
    assert life.alice.do(mine.try_set_permits, 1)
    life.alice.do(mine.acquire)
    waiting = life.wait(theirs)
    life.alice.do(mine.release)
    assert waiting.result(BOUND)
    life.bob.do(theirs.release)
    assert life.alice.do(mine.available_permits) == 1
    life.alice.do(mine.add_permits, 1)
    assert life.alice.do(mine.release_if_exists)
    assert life.alice.do(mine.drain_permits) == 3
    # An acquisition that is given up is taken back.
    assert life.alice.do_briefly(mine.acquire, timeout=0.02) is False
    assert life.alice.do(mine.delete)


def _permits(life: Life) -> None:
    mine, theirs = life.thing(), life.thing(lease=3)
    assert life.alice.do(mine.try_set_permits, 1)
    life.server.inspect.pexpire(NAME, 60_000)  # as Redisson can; the permits' keys end together
    permit = life.alice.do(mine.acquire, lease=60)
    waiting = life.wait(theirs)
    assert life.alice.do(mine.extend, permit, 30)
    life.alice.do(mine.release, permit)
    before = life.server.scripts_run() or 0
    permit = waiting.result(BOUND)
    eventually(lambda: (life.server.scripts_run() or 0) >= before + 2)
    life.bob.do(theirs.release, permit)
    assert life.alice.do(mine.acquire, lease=0.5)
    eventually(lambda: life.alice.do(mine.available_permits) == 1)
    life.alice.do(mine.add_permits, 1)
    life.alice.do(mine.set_permits, 3)
    ids = life.alice.do(mine.acquire_many, 2)
    assert life.alice.do(mine.lease_left, ids[0])
    assert (life.alice.do(mine.permits), life.alice.do(mine.acquired_permits)) == (3, 2)
    life.alice.do(mine.release_many, ids)
    assert life.alice.do(mine.acquire)
    assert life.alice.do(mine.delete)


def _latch(life: Life) -> None:
    mine, theirs = life.thing(), life.thing()
    assert life.alice.do(mine.try_set_count, 2)
    waiting = life.wait(theirs, "wait")
    life.alice.do(mine.count_down)
    assert life.alice.do(mine.count) == 1
    life.alice.do(mine.count_down)
    assert waiting.result(BOUND)
    assert life.alice.do(mine.try_set_count, 1)
    assert life.alice.do(mine.delete)


@dataclass(frozen=True)
class Kind:
    """How one kind is made and lives; `quiet`: rights whose absence causes no error."""

    title: str
    make: Callable[[Any], Any]
    live: Callable[[Life], None]
    quiet: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return self.title.replace(" ", "_")


# Who may not unsubscribe goes on hearing what it does not need any more.
QUIET = frozenset({"+unsubscribe"})
# Who gives up in line leaves its place in the background; else it runs out by itself.
GIVEN_UP = frozenset({"+lrem"})
KINDS = (
    Kind("lock", lambda client: client.lock(NAME), _lock, QUIET),
    Kind("fair lock", lambda client: client.fair_lock(NAME), _lock, QUIET | GIVEN_UP),
    Kind("read-write lock", lambda client: client.read_write_lock(NAME), _read_write, QUIET),
    Kind("fenced lock", lambda client: client.fenced_lock(NAME), _lock, QUIET),
    Kind("spin lock", lambda client: client.spin_lock(NAME), _lock),
    Kind("semaphore", lambda client: client.semaphore(NAME), _semaphore, QUIET),
    Kind("permit semaphore", lambda client: client.permit_semaphore(NAME), _permits, QUIET),
    Kind("count-down latch", lambda client: client.count_down_latch(NAME), _latch, QUIET),
)


def rights_of(title: str) -> list[str]:
    """The kind's row, as words of ACL SETUSER."""
    row = re.search(rf"(?m)^\| {title} \| `(.*)` \| `(.*)` \| `(.*)` \|$", PAGE.read_text("utf-8"))
    assert row is not None, f"no row for {title}"
    commands, keys, channels = (cell.split() for cell in row.groups())
    return [*(f"+{command}" for command in commands), *keys, *channels]


def rights_beside(word: str) -> list[str]:
    """The rights that what is built on a kind needs beside those of that kind."""
    page = RIGHTS.read_text(encoding="utf-8")
    row = re.search(rf"(?m)^\| (.*~.*) \| \[[^]]*\]\([^)]*/{PAGES.get(word, word)}\.md\)", page)
    assert row is not None, f"no row for {word}"
    return [one for one in re.findall(r"`(\S+)`", row[1]) if one[0] in "+~&"]


def for_names_with_braces(word: str) -> list[str]:
    """What a pattern of a row becomes for names that contain "{"; nothing if it stays."""
    bare = word.replace(":{app:", ":app:").replace("~{app:", "~app:")
    return [] if bare == word else [bare]


@pytest.fixture(params=KINDS, ids=repr)
def kind(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.param
    return kind


@pytest.fixture
def live(
    kind: Kind, private_server: Server, flavour: Flavour, alice: Any, bob: Any
) -> Callable[[list[str]], None]:
    """Live the life of the kind as a user with exactly these rights."""

    def live(rights: list[str]) -> None:
        admin = private_server.inspect
        admin.flushall()
        admin.script_flush()
        words = ["reset", "on", f">{SECRET}", "resetchannels", "-@all", *rights]
        admin.execute_command("ACL", "SETUSER", "app", *words)
        life = Life(private_server, flavour, alice, bob, kind.make)
        with ExitStack() as stack:
            stack.callback(life.end)
            kind.live(life)

    return live


def test_the_rights_are_enough(kind: Kind, live: Callable[[list[str]], None]) -> None:
    live(rights_of(kind.title))


def _once(life: Life) -> None:
    once = life.thing()
    alice, bob = life.alice, life.bob
    assert [alice.do(once.run, lambda: 7), alice.do(once.run, lambda: 8)] == [7, 7]
    assert bob.do(once.status) == "done"
    assert bob.do(once.forget)


def _leader(life: Life) -> None:
    mine, theirs = life.thing(), life.thing()
    life.alice.do(mine.campaign)
    waiting = life.wait(theirs, "campaign")
    life.alice.do(mine.set_value, "here")
    life.server.inspect.persist(f"holdfast_state:{{{NAME}}}")  # a look gives it an expiry again
    assert life.alice.do(theirs.current).value == "here"
    life.alice.do(mine.resign)
    assert waiting.result(BOUND)
    life.bob.do(theirs.resign)


def _slots(life: Life) -> None:
    mine, theirs = life.thing(), life.thing()
    slot = life.alice.do(mine.acquire)
    waiting = life.wait(theirs)
    assert list(life.alice.do(mine.taken)) == [0]
    life.alice.do(slot.release)
    life.alice.do(waiting.result(BOUND).release)
    life.alice.do(mine.resize, 2)
    both = [life.alice.do(mine.acquire) for _ in range(2)]
    for slot in both:
        life.alice.do(slot.release)
    life.alice.do(mine.resize, 1)  # forgets the second one


def _barrier(life: Life) -> None:
    mine, theirs = life.thing(), life.thing()
    waiting = life.wait(theirs, "wait")
    assert {life.alice.do(mine.wait), waiting.result(BOUND)} == {0, 1}
    waiting = life.wait(theirs, "wait")
    life.alice.do(mine.abort)
    with pytest.raises(holdfast.BrokenBarrierError):
        waiting.result(BOUND)
    life.alice.do(mine.reset)


BUILT = (
    Kind("leader", lambda client: client.leader(NAME), _leader),
    Kind("once", lambda client: client.once(NAME), _once),
    Kind("slots", lambda client: client.slots(NAME, 1), _slots),
    Kind("barrier", lambda client: client.barrier(NAME, 2), _barrier),
)


@pytest.mark.parametrize("kind", BUILT, ids=repr)
def test_what_is_built_on_a_kind_needs_its_rights_and_those_of_its_row(
    kind: Kind, live: Callable[[list[str]], None]
) -> None:
    base = servers.kind_of(kind.title).seen_as.replace("_", " ")
    live([*rights_of(base), *rights_beside(kind.title)])


@pytest.mark.slow
@pytest.mark.flavours("sync")
def test_each_right_is_needed_and_its_absence_reported(
    kind: Kind, live: Callable[[list[str]], None]
) -> None:
    """lasting-refusal.

    The code is NOPERM, the message says what to do, and no caller waits for ever.
    """
    rights = rights_of(kind.title)
    told = {missing: _told(live, [r for r in rights if r != missing]) for missing in rights}
    assert {missing for missing in told if told[missing] is None} == kind.quiet
    for missing, error in told.items():
        if error is not None:
            assert (error.code, error.temporary) == ("NOPERM", False), (missing, str(error))
            assert "rights" in str(error), (missing, str(error))


def _told(live: Callable[[list[str]], None], rights: list[str]) -> holdfast.ServerError | None:
    try:
        live(rights)
    except holdfast.ServerError as error:
        return error
    return None


def test_no_error_repeats_the_password_that_the_server_repeats(
    start_server: StartServer, tmp_path: Path
) -> None:
    settings = tmp_path / "without-auth.conf"
    settings.write_text('rename-command AUTH ""\n')
    server = start_server({"include": str(settings)})
    url = server.url.replace("redis://", f"redis://alice:{SECRET}@")
    with (
        holdfast.Client(url) as client,
        pytest.raises(holdfast.ServerError, match="unknown command") as refused,
    ):
        client.lock(NAME).acquire(blocking=False)
    assert SECRET not in str(refused.value)
    assert "alice" not in str(refused.value)
