"""Where a guard has to do without something: a sandbox, /proc, the main interpreter."""

from __future__ import annotations

import pytest

import holdfast
from tests.faults.guard.conftest import ended
from tests.support.processes import StartChild
from tests.support.servers import Server
from tests.support.waiting import BOUND

pytestmark = pytest.mark.servers("real")

NAME = "myLock"

SANDBOX = """
import errno, platform
class Filter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte),
                ("k", ctypes.c_uint)]
class Filters(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filters", ctypes.POINTER(Filter))]
def refuse(number):
    filters = (Filter * 4)(
        Filter(0x20, 0, 0, 0),  # load the number of the system call
        Filter(0x15, 0, 1, number),
        Filter(0x06, 0, 0, 0x50000 | errno.EPERM),
        Filter(0x06, 0, 0, 0x7FFF0000),
    )
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS"
    if libc.prctl(22, 2, ctypes.byref(Filters(4, filters))) != 0:
        say("no seccomp")
        sys.exit()
MEMFD_CREATE = 319 if platform.machine() == "x86_64" else 279
EXECVE = 59 if platform.machine() == "x86_64" else 221
PIDFD_OPEN, CLOSE_RANGE = 434, 436
"""
"""`refuse(PIDFD_OPEN)`: this process, and what it starts, may not make that call."""

CLIENT = """
try:
    client = holdfast.Client(URL, guard=True, lease=120)
    client.lock("myLock").acquire()
    say("held", client.stats().guarded, client._core.guard_pid)
    hear("end")
except RuntimeError as error:
    say(error)
"""

NO_PROC = """
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUSER, PRIVATE = 0x20000, 0x10000000, 0x40000 | 0x4000
if libc.unshare(NEWNS) != 0 and libc.unshare(NEWNS | NEWUSER) != 0:
    say("no namespaces")
    sys.exit()
libc.mount(b"none", b"/", None, PRIVATE, None)
if libc.mount(b"none", b"/proc", b"tmpfs", 0, None) != 0:
    say("no mounts")
    sys.exit()
assert not os.listdir("/proc")
"""


def after_line(line: str) -> str:
    """What it says, unless this system does not allow the test."""
    if line.startswith("no "):
        pytest.skip(f"{line} for this user")
    return line


@pytest.mark.parametrize("call", ["PIDFD_OPEN", "MEMFD_CREATE"])
def test_a_sandbox_without_what_a_guard_needs_refuses_the_keyword(
    start_child: StartChild, server: Server, call: str
) -> None:
    child = start_child(SANDBOX + f"refuse({call})\n" + CLIENT, URL=server.url)
    line = after_line(child.next_line())
    assert line.startswith("guard=True cannot work on this system: "), line
    assert call.lower() in line
    assert "Operation not permitted" in line


def test_a_sandbox_that_lets_nothing_be_executed_is_reported_once(
    start_child: StartChild, server: Server
) -> None:
    child = start_child(
        SANDBOX
        + "refuse(EXECVE)\nfor _ in range(2): holdfast.Client(URL, guard=True, lease=120)\n"
        + CLIENT,
        URL=server.url,
    )
    assert after_line(child.next_line()) == "held False 0"
    child.send("end")
    assert child.wait() == 0
    assert child.errors.count("Operation not permitted") == 1
    assert "expires with its lease" in child.errors


@pytest.mark.parametrize("call", ["PIDFD_OPEN", "EXECVE"])
def test_the_doctor_warns_of_it(start_child: StartChild, call: str) -> None:
    child = start_child(
        f"{SANDBOX}\nrefuse({call})\n"
        "from holdfast_tools.doctor._guard import check_guard\n"
        "finding = check_guard()\n"
        "say(finding.level, finding.check, finding.found)\n"
    )
    line = after_line(child.next_line())
    assert line.startswith("warning guard a guard cannot run here: "), line


@pytest.mark.parametrize("without", [SANDBOX + "refuse(CLOSE_RANGE)", NO_PROC])
def test_a_guard_works_without(
    start_child: StartChild, server: Server, next_owner: holdfast.Client, without: str
) -> None:
    child = start_child(f"{without}\n{CLIENT}", URL=server.url)
    _, guarded, guard = after_line(child.next_line()).split()
    assert guarded == "True"
    child.kill()
    assert next_owner.lock(NAME).acquire(timeout=BOUND)
    ended(int(guard))


def test_a_subinterpreter_is_refused_and_its_end_frees_nothing(
    start_child: StartChild, server: Server, next_owner: holdfast.Client
) -> None:
    child = start_child(
        """
        is_new = sys.version_info >= (3, 13)
        interpreters = __import__("_interpreters" if is_new else "_xxsubinterpreters")
        client = holdfast.Client(URL, guard=True, lease=120)
        client.lock("myLock").acquire()
        other = interpreters.create()
        interpreters.run_string(other, f'''
        import os
        try:
            import holdfast
        except ImportError as error:
            os.write(1, (str(error) + chr(10)).encode())
        '''.replace(chr(10) + " " * 8, chr(10)))
        interpreters.destroy(other)
        say("guarded", client.stats().guarded)
        hear("end")
        """,
        URL=server.url,
    )
    assert "subinterpreter" in child.next_line()
    assert child.expect("guarded") == ["True"]
    assert not next_owner.lock(NAME).acquire(blocking=False)
    child.kill()
    assert next_owner.lock(NAME).acquire(timeout=BOUND)
