"""The guard of a program at a server with users, and at one with TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.support.certificates import make_certificates
from tests.support.fixtures import StartServer
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND

NAME = "app:name"
SECRET = "hunter2"
RIGHTS = (
    "resetchannels -@all +eval +evalsha +publish +subscribe +unsubscribe +del +hdel +hexists +hget "
    "+hlen +hset +pexpire +pttl ~app:* ~redisson_lock__channel:{app:* "
    "&redisson_lock__channel:{app:*"
)

HOLDER = """
client = holdfast.Client(URL, guard=True, lease=120, **OPTIONS)
client.lock(NAME).acquire()
say("held")
hear("end")
"""


def is_freed(start_child: StartChild, url: str, next_owner: str, **options: Any) -> bool:
    """Whether the next owner gets the lock of a program with these options that is killed."""
    child = start_child(HOLDER, URL=url, NAME=NAME, OPTIONS=options)
    child.expect("held")
    more = {name: value for name, value in options.items() if name.startswith("tls")}
    with holdfast.Client(next_owner, **more) as client:
        lock = client.lock(NAME)
        assert not lock.acquire(blocking=False)
        child.kill()
        freed = lock.acquire(timeout=BOUND)
        if freed:
            lock.release()
    return freed


@pytest.mark.servers("real")
@pytest.mark.parametrize("more", ["", "+client|info +client|kill"], ids=["least", "kills"])
def test_the_rights_of_the_kind_are_enough(
    start_child: StartChild, private_server: Server, more: str
) -> None:
    words = f"ACL SETUSER app on >{SECRET} {RIGHTS} {more}"
    private_server.inspect.execute_command(*words.split())
    url = private_server.url
    assert is_freed(start_child, url, url, username="app", password=SECRET)


@pytest.mark.servers("real")
def test_it_has_the_password_of_a_callable(start_child: StartChild, private_server: Server) -> None:
    private_server.inspect.execute_command(*f"ACL SETUSER app on >{SECRET} {RIGHTS}".split())
    program = """
    client = holdfast.Client(URL, guard=True, lease=120, password=lambda: ("app", SECRET))
    client.lock(NAME).acquire()
    say("held")
    hear("end")
    """
    child = start_child(program, URL=private_server.url, SECRET=SECRET, NAME=NAME)
    child.expect("held")
    child.kill()
    with holdfast.Client(private_server.url) as next_owner:
        assert next_owner.lock(NAME).acquire(timeout=BOUND)
        next_owner.lock(NAME).release()


# Valkey's wheel is built without TLS.
@pytest.mark.servers("redis")
def test_it_speaks_tls(start_child: StartChild, start_server: StartServer, tmp_path: Path) -> None:
    folder = make_certificates(tmp_path / "right")
    server = start_server(tls=folder)
    assert is_freed(start_child, server.url, server.url, tls_ca=str(folder / "ca.crt"))


@pytest.mark.servers("real")
def test_it_finds_a_unix_socket_and_a_database(
    start_child: StartChild, private_server: Server
) -> None:
    url = f"unix://{private_server.socket_path}?db=3"
    assert is_freed(start_child, url, url)
