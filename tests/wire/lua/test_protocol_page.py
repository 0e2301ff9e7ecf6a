"""What docs/wire-protocol.md says of the steps, and of the rights they need, is so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from holdfast import _core, servers
from tests.support.servers import Server
from tests.wire.lua import fair_steps, permit_steps, read_write_lock
from tests.wire.lua.counters import FOUR, ONE, THREE, TWO, Latch, Semaphore
from tests.wire.lua.steps import ALICE, ROOT, STEPS, FencedLock, Lock, embedded
from tests.wire.lua.test_permit_semaphore_many import QUESTIONS, REQUESTS
from tests.wire.lua.test_permit_semaphore_steps import STEPS as PERMIT_STEPS

PAGE = (ROOT / "docs" / "wire-protocol.md").read_text(encoding="utf-8")
RIGHTS = PAGE.split("\n## Rights\n")[1].split("\n## ")[0]
SCRIPTS = sorted((ROOT / "lua").glob("[!_]*/*.lua"))

Run = Callable[[Any], Any]
HEAR = "subscribe unsubscribe"


def label(path: Path) -> str:
    """The name of a script's step."""
    return f"{path.parent.name}/{path.stem}"


def test_each_step_is_in_one_table() -> None:
    there = re.findall(r"(?m)^\| `(\w+/\w+)` \|", PAGE)
    assert sorted(there) == sorted(map(label, SCRIPTS))


def test_the_table_names_what_the_header_names() -> None:
    rows = dict(re.findall(r"(?m)^\| `(\w+/\w+)` \|(.*?\|.*?)\|", PAGE))
    written = {step: [cell.strip() for cell in row.split("|")] for step, row in rows.items()}
    assert written == {label(path): named(path.read_text(encoding="utf-8")) for path in SCRIPTS}


def named(script: str) -> list[str]:
    """The keys and the arguments that a script's header names."""
    return [
        ", ".join(
            word + more for more, word in re.findall(rf"(?m)^-- {array}\[\d(\.*)\]  (\w+):", script)
        )
        for array in ("KEYS", "ARGV")
    ]


@dataclass(frozen=True)
class Kind:
    """How to run all that a kind needs rights for, but for its plain commands."""

    make: Run
    """The kind's object over a connection."""
    steps: Iterable[Run]
    states: Iterable[tuple[Run, ...]]
    """What is done beforehand, by somebody with all rights: each step is run in each state."""
    folders: tuple[str, ...]
    plain: str
    """The plain commands that the client sends."""


LOCK_STATES: tuple[tuple[Run, ...], ...] = ((), (lambda lock: lock.acquire(ALICE),))
LOCK_ASKS = f"hexists hget hlen {HEAR}"
COUNTER_ASKS = f"get {HEAR}"

KINDS = {
    "lock": Kind(Lock, STEPS.values(), LOCK_STATES, ("lock",), LOCK_ASKS),
    "fair lock": Kind(
        fair_steps.FairLock,
        [
            *fair_steps.FAIR_STEPS.values(),
            *(STEPS[s] for s in ("transfer", "renew", "ttl")),
        ],
        (
            (),
            (lambda lock: lock.acquire(fair_steps.ALICE),),
            (lambda lock: lock.acquire(fair_steps.BOB),),
            (
                lambda lock: lock.acquire(fair_steps.BOB),
                lambda lock: lock.acquire(fair_steps.ALICE),
            ),
            (
                lambda lock: lock.stand(fair_steps.BOB, -1),
                lambda lock: lock.stand(fair_steps.ALICE, 1000),
            ),
        ),
        ("lock", "fair_lock"),
        LOCK_ASKS,
    ),
    "read-write lock": Kind(
        read_write_lock.ReadWriteLock,
        read_write_lock.STEPS.values(),
        read_write_lock.STATES.values(),
        ("lock", "read_write_lock"),
        LOCK_ASKS,
    ),
    "fenced lock": Kind(
        FencedLock, STEPS.values(), LOCK_STATES, ("lock", "fenced_lock"), LOCK_ASKS
    ),
    "spin lock": Kind(Lock, STEPS.values(), LOCK_STATES, ("lock",), "hexists hget hlen"),
    "semaphore": Kind(
        Semaphore,
        (
            lambda semaphore: semaphore.try_set_permits(ONE, 2),
            lambda semaphore: semaphore.acquire(ONE),
            lambda semaphore: semaphore.undo(ONE),
            lambda semaphore: semaphore.undo(FOUR),
            lambda semaphore: semaphore.add_permits(ONE, 1),
            lambda semaphore: semaphore.release_if_exists(ONE, 1),
            lambda semaphore: semaphore.drain_permits(ONE),
            lambda semaphore: semaphore.delete(ONE),
        ),
        (
            (),
            (lambda semaphore: semaphore.try_set_permits(TWO, 3),),
            (
                lambda semaphore: semaphore.try_set_permits(TWO, 3),
                lambda semaphore: semaphore.acquire(FOUR),
            ),
        ),
        ("semaphore",),
        COUNTER_ASKS,
    ),
    "permit semaphore": Kind(
        permit_steps.PermitSemaphore,
        [*PERMIT_STEPS.values(), *REQUESTS.values(), *QUESTIONS.values()],
        (
            (lambda semaphore: semaphore.try_set_permits(1),),
            (
                lambda semaphore: semaphore.try_set_permits(2),
                lambda semaphore: semaphore.acquire(permit_steps.ONE, permit_steps.MINUTE // 2),
            ),
            (
                lambda semaphore: semaphore.try_set_permits(2),
                lambda semaphore: semaphore.acquire(permit_steps.ONE, permit_steps.MINUTE // 2),
                lambda semaphore: semaphore.let_expire(permit_steps.ONE),
            ),
            (
                lambda semaphore: semaphore.try_set_permits(3),
                lambda semaphore: semaphore.acquire(permit_steps.ONE, permit_steps.MINUTE // 2),
                lambda semaphore: semaphore.acquire(permit_steps.TWO, permit_steps.MINUTE // 2),
                lambda semaphore: semaphore.acquire(permit_steps.THREE, permit_steps.MINUTE // 2),
            ),
        ),
        ("permit_semaphore",),
        HEAR,
    ),
    "count-down latch": Kind(
        Latch,
        (
            lambda latch: latch.try_set_count(ONE, 2),
            lambda latch: latch.count_down(ONE),
            lambda latch: latch.delete(ONE),
        ),
        (
            (),
            (lambda latch: latch.try_set_count(TWO, 1),),
            (lambda latch: latch.try_set_count(THREE, 2),),
        ),
        ("count_down_latch",),
        COUNTER_ASKS,
    ),
}


def rights() -> dict[str, tuple[str, str, str]]:
    """The rows of the page: kind -> commands, keys, channels."""
    row = r"(?m)^\| ([\w -]+) \| `([a-z ]+)` \| `(~[^`]+)` \| `(&[^`]+)` \|$"
    return {kind: (*cells,) for kind, *cells in re.findall(row, RIGHTS)}


def test_each_kind_has_its_rights() -> None:
    assert rights().keys() == KINDS.keys()


@pytest.mark.parametrize("word", KINDS)
def test_the_library_has_the_kinds_with_the_rights_of_the_page(word: str) -> None:
    kind = servers.kind_of(word.replace("-", "_").replace(" ", "_"))
    commands, keys, channels = rights()[word]
    assert set(kind.rights) == set(commands.split()) - {"subscribe", "unsubscribe"}
    assert channels == f"&{kind.channel_of(b'app:').decode().removesuffix('}')}*"
    for key in (kind.channel_of(b"app:"), *kind.keys_of(b"app:", b"f")):
        assert any(fnmatchcase(key.decode(), each[1:]) for each in keys.split()), key


def test_the_library_has_the_kinds_of_the_engine() -> None:
    engine = set(_core.kinds())
    sides = {f"{side}_lock" for kind in servers.KINDS for side in kind.sides}
    assert {kind.word for kind in servers.KINDS if not kind.sides} | sides == engine


@pytest.mark.parametrize("word", KINDS)
def test_the_rights_are_enough(private_server: Server, word: str) -> None:
    kind, (commands, keys, channels) = KINDS[word], rights()[word]
    admin = private_server.inspect
    patterns = f"{keys} {channels}".replace("app:", "my").split()
    allowed = [f"+{command}" for command in [*commands.split(), "client"]]
    admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", "-@all", *patterns, *allowed)
    app = private_server.connect(username="app", password="secret")
    thing = kind.make(app)
    for state in kind.states:
        for step in kind.steps:
            admin.flushall()
            for before in state:
                before(kind.make(admin))
            step(thing)
    if "subscribe" in commands:
        app.pubsub().subscribe(thing.channel)
    app.close()


#: The plain commands that what is built on a kind sends.
PLAIN = {"once": "get exists"}


def called(folders: tuple[str, ...]) -> set[str]:
    """The commands that scripts run, but for those that publish."""
    texts = [text for name, text in embedded().items() if name.split("/")[0] in folders]
    names = {command for text in texts for command in re.findall(r"call\('(\w+)'", text)}
    return names - {"publish", "spublish"}


@pytest.mark.parametrize("kind", servers.BUILT, ids=lambda kind: kind.word)
def test_the_library_has_the_commands_of_what_is_built_on_a_kind(kind: servers.Kind) -> None:
    listed = set(kind.rights) - {"del", "eval", "evalsha", "publish"}
    waits = kind.channel == "changed_channel"
    needed = called((kind.word, "revision") if waits else (kind.word,))
    needed |= set(PLAIN.get(kind.word, "").split())
    assert listed <= needed
    assert needed <= set(kind.rights) | set(servers.kind_of(kind.seen_as).rights)


@pytest.mark.parametrize("word", KINDS)
def test_the_rights_are_no_more_than_needed(word: str) -> None:
    """On one server: `spublish` is for sharded channels, and the page says so apart."""
    kind = KINDS[word]
    texts = [text for name, text in embedded().items() if name.split("/")[0] in kind.folders]
    called = {command for text in texts for command in re.findall(r"call\('(\w+)'", text)}
    assert set(rights()[word][0].split()) == called - {"spublish"} | {
        "eval",
        "evalsha",
        "publish",
        *kind.plain.split(),
    }
