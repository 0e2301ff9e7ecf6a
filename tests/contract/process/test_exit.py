"""The interpreter ends in every ugly way: at once, without a crash, and the locks expire."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.contract.process.conftest import CHANNEL, NAME, holds
from tests.support.processes import Child, StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually

ENDINGS: dict[str, tuple[str, int]] = {
    "end of the program": ("client.lock(NAME).acquire()\nsay('ready')\nhear()", 0),
    "sys.exit in a block": (
        "with client.lock(NAME):\n    say('ready')\n    hear()\n    sys.exit(3)",
        3,
    ),
    "sys.exit with a hold": ("client.lock(NAME).acquire()\nsay('ready')\nhear()\nsys.exit(3)", 3),
    "an exception": ("client.lock(NAME).acquire()\nsay('ready')\nhear()\nraise KeyError", 1),
    "os._exit": ("client.lock(NAME).acquire()\nsay('ready')\nhear()\nos._exit(4)", 4),
    "a client never used": ("say('ready')\nhear()", 0),
    "a client closed": ("client.ping()\nclient.close()\nsay('ready')\nhear()", 0),
    "many clients": (
        "clients = [holdfast.Client(URL) for _ in range(20)]\n"
        "for each in clients:\n    each.ping()\n"
        "say('ready')\nhear()",
        0,
    ),
    "from a destructor": (
        "class Late:\n    def __del__(self):\n        self.lock.release()\n"
        "late = Late()\nlate.lock = client.lock(NAME)\nlate.lock.acquire()\n"
        "sys.late = late\nsay('ready')\nhear()",
        0,
    ),
}

WAITING: dict[str, str] = {
    "a daemon thread waits": """
        threading.Thread(target=client.lock(NAME).acquire, daemon=True).start()
        say("ready")
        hear()
        """,
    "daemon threads wait, many": """
        for _ in range(20):
            threading.Thread(target=client.lock(NAME).acquire, daemon=True).start()
        say("ready")
        hear()
        """,
    "daemon threads come and go": """
        def churn():
            while True:
                with client.lock("another"):
                    pass
        for _ in range(4):
            threading.Thread(target=churn, daemon=True).start()
        threading.Thread(target=client.lock(NAME).acquire, daemon=True).start()
        say("ready")
        hear()
        """,
    "an asyncio loop runs in a daemon thread": """
        async def wait():
            await holdfast.asyncio.Client(URL).lock(NAME).acquire()
        threading.Thread(target=asyncio.run, args=(wait(),), daemon=True).start()
        say("ready")
        hear()
        """,
    "an asyncio task is left": """
        async def main():
            lock = holdfast.asyncio.Client(URL).lock(NAME)
            asyncio.create_task(lock.acquire())
            await asyncio.get_running_loop().run_in_executor(None, lambda: (say("ready"), hear()))
        asyncio.run(main())
        """,
    "a loop is left open with a task": """
        loop = asyncio.new_event_loop()
        task = loop.create_task(holdfast.asyncio.Client(URL).lock(NAME).acquire())
        loop.run_until_complete(turns())
        say("ready")
        hear()
        """,
}


def _ends(child: Child, code: int) -> None:
    child.expect("ready")
    child.send("end")
    assert child.wait() == code, child.errors
    for word in ("Fatal", "Segmentation", "terminate called", "core dumped"):
        assert word not in child.errors


@pytest.mark.parametrize(("program", "code"), ENDINGS.values(), ids=ENDINGS.keys())
def test_the_interpreter_ends_at_once(
    start_child: StartChild, server: Server, program: str, code: int
) -> None:
    """interpreter-exit: no hang, no crash, the exit code is the program's.

    What was held has a time to live.
    """
    child = start_child("client = holdfast.Client(URL)\n" + program, URL=server.url, NAME=NAME)
    _ends(child, code)
    for key in sorted(server.keys()):
        assert server.inspect.pttl(key) > 0


@pytest.mark.parametrize("program", WAITING.values(), ids=WAITING.keys())
def test_the_interpreter_ends_while_others_wait(
    start_child: StartChild, server: Server, program: str
) -> None:
    """interpreter-exit.

    Daemon threads and tasks in a wait do not keep the process, and do not crash it.
    """
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 3_600_000)
    head = "        client = holdfast.Client(URL)\n"
    child = start_child(head + program, URL=server.url, NAME=NAME)
    eventually(lambda: server.subscribers(CHANNEL) >= 1)
    _ends(child, 0)
    eventually(lambda: server.subscribers(CHANNEL) == 0)
    assert holds(server) == {b"somebody-else:1": 1}


def test_a_thread_that_waits_is_waited_for(start_child: StartChild, server: Server) -> None:
    """interpreter-exit: as with threading.

    The interpreter joins it, and it gets its lock and ends.
    """
    server.inspect.hset(NAME, "somebody-else:1", 1)
    server.inspect.pexpire(NAME, 3_600_000)
    child = start_child(
        """
        def wait():
            with client.lock(NAME):
                say("inside")

        client = holdfast.Client(URL)
        threading.Thread(target=wait).start()
        """,
        URL=server.url,
        NAME=NAME,
    )
    eventually(lambda: server.subscribers(CHANNEL) == 1)
    server.inspect.delete(NAME)
    server.inspect.publish(CHANNEL, "0")
    child.expect("inside")
    assert child.wait() == 0, child.errors
    assert server.keys() == set()


BEFORE_THE_IMPORT = """
import atexit, sys

def early():
    with client.lock("early"):
        print("held", flush=True)

atexit.register(early)
import holdfast
client = holdfast.Client(sys.argv[1])
atexit.register(print, "first")
"""


def test_a_handler_registered_before_the_import_finds_an_open_client(server: Server) -> None:
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", BEFORE_THE_IMPORT, server.url],
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=True,
    )
    assert (child.stdout.split(), child.stderr) == (["first", "held"], "")


#: Every Python starts no thread in handlers of atexit, as 3.12.
NO_THREAD_AT_THE_END = """
import atexit
start = threading.Thread.start

def refuse(thread):
    if not threading.main_thread().is_alive():
        raise RuntimeError("can't create new thread at interpreter shutdown")
    start(thread)

threading.Thread.start = refuse
"""


def test_a_client_may_begin_and_end_in_a_handler_of_atexit(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        f"""
{NO_THREAD_AT_THE_END}
def work():
    with holdfast.Client(URL) as client, client.lock(NAME):
        say("held")
    say("done")

atexit.register(work)
""",
        python=("-W", "error"),
        URL=server.url,
        NAME=NAME,
    )
    child.expect("held")
    child.expect("done")
    assert (child.wait(), child.errors) == (0, "")
    assert server.keys() == set()


def test_a_loss_in_a_handler_of_atexit_is_reported(start_child: StartChild, server: Server) -> None:
    child = start_child(
        f"""
{NO_THREAD_AT_THE_END}
def work():
    global client  # of one that is collected without close() nothing is called
    client = holdfast.Client(URL)
    lock = client.lock(NAME, on_lost=lambda lock: say("lost", lock.name))
    lock.acquire()
    say("held")
    until(lambda: lock.lost)

atexit.register(work)
""",
        URL=server.url,
        NAME=NAME,
    )
    child.expect("held")
    server.inspect.delete(NAME)
    assert child.expect("lost") == [NAME]
    assert child.wait() == 0, child.errors
    assert f"the hold on {NAME!r}" in child.errors


def test_exit_names_what_was_held(start_child: StartChild, server: Server) -> None:
    """interpreter-exit.

    With -W default a ResourceWarning at exit names the lock that was not released.
    """
    child = start_child(
        "client = holdfast.Client(URL)\nclient.lock(NAME).acquire()",
        python=("-W", "default"),
        URL=server.url,
        NAME=NAME,
    )
    assert child.wait() == 0
    assert "ResourceWarning" in child.errors
    assert NAME in child.errors


def test_exit_closes_every_client(start_child: StartChild, server: Server) -> None:
    """interpreter-exit: also those that come after one whose ResourceWarning is an error."""
    child = start_child(
        """
        class Late:
            def __init__(self, clients):
                self.clients, self.write = clients, os.write
            def __del__(self):
                closed = sum("closed" in repr(client) for client in self.clients)
                self.write(1, b"closed %d\\n" % closed)

        clients = [holdfast.Client(URL) for _ in range(5)]
        for number, client in enumerate(clients):
            client.lock(f"{NAME} {number}").acquire()
        sys.late = Late(clients)    # it sees them after everything that is done at exit
        """,
        python=("-W", "error::ResourceWarning"),
        URL=server.url,
        NAME=NAME,
    )
    assert child.expect("closed") == ["5"]
    child.wait()
    assert "ResourceWarning" in child.errors
    assert NAME in child.errors


@pytest.mark.parametrize("moment", range(8))
def test_exit_in_the_middle_of_things(start_child: StartChild, server: Server, moment: int) -> None:
    """interpreter-exit: sections, waits and renewals are all under way at the moment of the end."""
    child = start_child(
        """
        def churn(number):
            client = holdfast.Client(URL, lease=0.05)
            while True:
                with client.lock(f"lock {number % 3}"):
                    pass

        for number in range(6):
            threading.Thread(target=churn, args=(number,), daemon=True).start()
        say("ready")
        let_pass(MOMENT * 0.01)
        """,
        URL=server.url,
        MOMENT=moment,
    )
    child.expect("ready")
    assert child.wait() == 0, child.errors
    eventually(lambda: server.keys() == set())
