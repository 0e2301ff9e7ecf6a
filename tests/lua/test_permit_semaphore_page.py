"""What docs/wire-protocol.md says of the rights for permit semaphores is so."""

from __future__ import annotations

import re

from tests.lua.permit_steps import CHANNEL, MINUTE, ONE, THREE, TWO, PermitSemaphore
from tests.lua.steps import ROOT
from tests.lua.test_permit_semaphore_steps import STEPS
from tests.support.servers import Server

PAGE = (ROOT / "docs" / "wire-protocol.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## The permit semaphore\n")[1].split("\n## ")[0]


def test_the_rights_are_enough(private_server: Server) -> None:
    commands = re.search(r"needs for these the commands `([^`]*)`", SECTION)
    assert commands is not None
    rights = ["~mySemaphore", "~{mySemaphore}:timeout", "~redisson_sc:*", "&redisson_sc:*", "-@all"]
    rights += [f"+{command}" for command in [*commands[1].split(), "client"]]
    admin = private_server.inspect
    admin.execute_command("ACL", "SETUSER", "app", "on", ">secret", *rights)
    app = private_server.connect(username="app", password="secret")
    for step in STEPS.values():
        for out, expired in [(0, 0), (1, 0), (1, 1), (3, 0)]:
            admin.flushall()
            semaphore = PermitSemaphore(admin)
            semaphore.try_set_permits(min(3, out + 1))
            for permit in (ONE, TWO, THREE)[:out]:
                semaphore.acquire(permit, MINUTE // 2)
            if expired:
                semaphore.let_expire(ONE)
            step(PermitSemaphore(app))
    app.pubsub().subscribe(CHANNEL)
    app.close()
