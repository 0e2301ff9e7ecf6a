"""What docs/wire-protocol.md says of the steps is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lua import read_write_lock
from tests.lua.steps import ROOT, STEPS, Lock
from tests.support.servers import Server

PAGE = (ROOT / "docs" / "wire-protocol.md").read_text(encoding="utf-8")
ALL_STEPS = sorted((ROOT / "lua").glob("[!_]*/*.lua"))


@pytest.mark.parametrize("path", ALL_STEPS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_table_names_what_the_header_names(path: Path) -> None:
    named = dict.fromkeys(("KEYS", "ARGV"), "")
    for array in named:
        words = re.findall(rf"^-- {array}\[\d\]  (\w+):", path.read_text(), re.MULTILINE)
        named[array] = ", ".join(words)
    section = PAGE[PAGE.index(f"`lua/{path.parent.name}/`") :]
    row = re.search(rf"^\| `{path.stem}` \|(.*?)\|(.*?)\|", section, re.MULTILINE)
    assert row is not None
    assert [cell.strip() for cell in row.groups()] == list(named.values())


def test_the_rights_are_enough(private_server: Server) -> None:
    commands = re.search(r"needs the commands `([^`]*)`", PAGE)
    assert commands is not None
    admin = private_server.inspect
    rights = ["~myLock", "~redisson_lock__channel:*", "&redisson_lock__channel:*", "-@all"]
    rights += [f"+{command}" for command in [*commands[1].split(), "client"]]
    admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", *rights)
    app = private_server.connect(username="app", password="secret")
    lock = Lock(app)
    for step in STEPS.values():
        for holder in (True, False):
            admin.flushall()
            if holder:
                STEPS["acquire"](Lock(admin))
            step(lock)
    app.pubsub().subscribe(lock.channel)
    app.close()


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
