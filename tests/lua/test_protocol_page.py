"""What docs/wire-protocol.md says of the steps is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lua import read_write_lock
from tests.lua.fair_steps import ALICE, BOB, FAIR_STEPS, FairLock
from tests.lua.steps import ROOT, STEPS, FencedLock, Lock
from tests.support.servers import Server

PAGE = (ROOT / "docs" / "wire-protocol.md").read_text(encoding="utf-8")
SCRIPTS = sorted((ROOT / "lua").glob("[!_]*/*.lua"))


def label(path: Path) -> str:
    """As the page calls a step: of other kinds than the lock with its kind."""
    return path.stem if path.parent.name == "lock" else f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", SCRIPTS, ids=label)
def test_the_table_names_what_the_header_names(path: Path) -> None:
    named = dict.fromkeys(("KEYS", "ARGV"), "")
    for array in named:
        words = re.findall(rf"^-- {array}\[\d\]  (\w+):", path.read_text(), re.MULTILINE)
        named[array] = ", ".join(words)
    row = re.search(rf"^\| `{label(path)}` \|(.*?)\|(.*?)\|", PAGE, re.MULTILINE)
    assert row is not None
    assert [cell.strip() for cell in row.groups()] == list(named.values())


@pytest.mark.parametrize("kind", [Lock, FencedLock])
def test_the_rights_are_enough(private_server: Server, kind: type[Lock]) -> None:
    commands = re.search(r"needs the commands `([^`]*)`", PAGE)
    more = re.search(r"For fenced locks it needs `([^`]*)` and the keys\s+`([^`]*)`", PAGE)
    assert commands is not None
    assert more is not None
    admin = private_server.inspect
    rights = ["~myLock", "~redisson_lock__channel:*", "&redisson_lock__channel:*", "-@all"]
    rights += [f"+{command}" for command in [*commands[1].split(), "client"]]
    if kind is FencedLock:
        rights += [more[2], *(f"+{command}" for command in more[1].split())]
    admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", *rights)
    app = private_server.connect(username="app", password="secret")
    lock = kind(app)
    for step in STEPS.values():
        for holder in (True, False):
            admin.flushall()
            if holder:
                STEPS["acquire"](Lock(admin))
            step(lock)
    app.pubsub().subscribe(lock.channel)
    app.close()


def test_the_rights_are_enough_for_the_fair_lock(private_server: Server) -> None:
    lists = re.findall(r"needs (?:the commands|besides) `([^`]*)`", PAGE)
    keys = re.findall(r"`~(redisson_lock_[a-z]+:)\*`", PAGE)
    admin = private_server.inspect
    rights = ["~myLock", "~redisson_lock__channel:*", "&redisson_lock__channel:*", "-@all"]
    rights += [f"~{key}*" for key in keys]
    rights += [f"+{command}" for command in [*" ".join(lists).split(), "client"]]
    admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", *rights)
    app = private_server.connect(username="app", password="secret")
    lock, others = FairLock(app), FairLock(admin)
    for step in FAIR_STEPS.values():
        for state in ("free", "held", "in line", "behind the dead"):
            admin.flushall()
            if state != "free":
                others.acquire(ALICE if state == "held" else BOB)
            if state == "in line":
                others.acquire(ALICE)
            if state == "behind the dead":
                others.stand(BOB, -1)
                others.stand(ALICE, 1000)
            step(lock)


def test_the_rights_are_enough_for_a_read_write_lock(private_server: Server) -> None:
    commands = re.search(r"needs the commands `([^`]*)`", PAGE)
    more = re.search(r"read-write lock needs `([^`]*)` too", PAGE)
    assert commands is not None
    assert more is not None
    admin = private_server.inspect
    rights = ["~myLock", "~{myLock*", "~redisson_rwlock:*", "&redisson_rwlock:*", "-@all"]
    rights += [f"+{word}" for word in [*commands[1].split(), *more[1].split(), "client"]]
    admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", *rights)
    app = private_server.connect(username="app", password="secret")
    lock = read_write_lock.ReadWriteLock(app)
    for step in read_write_lock.STEPS.values():
        for state in read_write_lock.STATES.values():
            admin.flushall()
            for before in state:
                before(read_write_lock.ReadWriteLock(admin))
            step(lock)
    app.pubsub().subscribe(lock.channel)
    app.close()
