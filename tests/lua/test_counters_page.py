"""What docs/wire-protocol.md says of the rights for semaphores and latches is so."""

from __future__ import annotations

import re

from tests.lua.counters import FOUR, ONE, THREE, TWO, Latch, Semaphore
from tests.lua.steps import ROOT
from tests.support.servers import Server

PAGE = (ROOT / "docs" / "wire-protocol.md").read_text(encoding="utf-8")


def test_the_rights_are_enough(private_server: Server) -> None:
    own = re.search(r"Semaphores and latches need `([^`]*)`", PAGE)
    common = ("eval", "publish", "subscribe", "unsubscribe", "client")
    assert own is not None
    patterns = ["redisson_sc:*", "redisson_countdownlatch__channel__*"]
    rights = ["~my*", "~redisson_request:*", "-@all"]
    rights += [f"{sign}{pattern}" for pattern in patterns for sign in "~&"]
    rights += [f"+{command}" for command in [*own[1].split(), *common]]
    admin = private_server.inspect
    admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", *rights)
    app = private_server.connect(username="app", password="secret")
    semaphore, latch = Semaphore(app), Latch(app)
    assert semaphore.try_set_permits(ONE, 2) == 1
    assert semaphore.acquire(TWO) is None
    assert semaphore.undo(TWO) == 1
    assert semaphore.add_permits(THREE, 1) == 3
    assert semaphore.drain_permits(FOUR) == 3
    assert semaphore.value == 0
    assert latch.try_set_count(ONE, 2) == 1
    assert latch.count_down(TWO) == 1
    assert latch.count_down(THREE) == 0
    assert latch.delete(FOUR) == 0
    for channel in (Semaphore.channel, Latch.channel):
        app.pubsub().subscribe(channel)
    app.close()
