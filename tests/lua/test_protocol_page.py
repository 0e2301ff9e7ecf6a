"""What docs/wire-protocol.md says of the steps is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lua.steps import ROOT, STEPS, Lock
from tests.support.servers import Server

PAGE = (ROOT / "docs" / "wire-protocol.md").read_text(encoding="utf-8")
LOCK_STEPS = sorted((ROOT / "lua" / "lock").glob("*.lua"))


@pytest.mark.parametrize("path", LOCK_STEPS, ids=lambda path: path.stem)
def test_the_table_names_what_the_header_names(path: Path) -> None:
    named = dict.fromkeys(("KEYS", "ARGV"), "")
    for array in named:
        words = re.findall(rf"^-- {array}\[\d\]  (\w+):", path.read_text(), re.MULTILINE)
        named[array] = ", ".join(words)
    row = re.search(rf"^\| `{path.stem}` \|(.*?)\|(.*?)\|", PAGE, re.MULTILINE)
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
