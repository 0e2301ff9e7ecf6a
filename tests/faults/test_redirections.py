"""Nodes of a cluster that redirect to where they were asked, or nowhere, and to each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

import holdfast
from tests.faults.conftest import IMPATIENT, NAME
from tests.support.impostors import Scripted, scripted
from tests.support.names import Names
from tests.support.owners import MakeClient
from tests.support.processes import StartChild
from tests.support.servers import free_port
from tests.support.waiting import Stopwatch

pytestmark = [pytest.mark.servers("real")]

GRANTED = b"$-1\r\n"
MOVED = b"-MOVED 1 %s:%d\r\n"


@dataclass
class Node(Scripted):
    """A node that gives one answer to all scripts."""

    answer: bytes = GRANTED
    slots: tuple[bytes, int] = (b"", 0)
    """The host and the port that have all slots; the host may be empty."""
    asked: int = 0
    """Scripts."""

    def reply_to(self, words: list[bytes]) -> bytes:
        if words[0] in {b"EVALSHA", b"EVAL"}:
            self.asked += 1
            return self.answer
        if words[0] == b"PUBSUB":
            return b"*0\r\n"
        if words[0] == b"CLUSTER":
            host, port = self.slots
            node = b"*3\r\n$%d\r\n%s\r\n:%d\r\n$1\r\ni\r\n" % (len(host), host, port)
            return b"*1\r\n*3\r\n:0\r\n:16383\r\n" + node
        return super().reply_to(words)


@pytest.fixture
def nodes() -> Iterator[tuple[Node, Node]]:
    with ExitStack() as stack:
        first, second = Node(), Node()
        stack.enter_context(scripted(first))
        stack.enter_context(scripted(second))
        yield first, second


def url(node: Node) -> str:
    return f"redis+cluster://127.0.0.1:{node.port}"


def test_a_redirection_without_a_host_leads_to_the_same_host(
    alice: Any, nodes: tuple[Node, Node], make_client: MakeClient
) -> None:
    """replaced-node: at another port, as nodes say that do not know their own address."""
    first, second = nodes
    first.slots, second.slots = (b"", first.port), (b"", second.port)
    first.answer = MOVED % (b"", second.port)
    lock = make_client(url(first)).lock(NAME)
    assert alice.do(lock.acquire, blocking=False)
    assert (first.asked, second.asked) == (1, 1)


def test_a_redirection_to_where_it_was_asked_is_an_error_in_time(
    alice: Any, nodes: tuple[Node, Node], make_client: MakeClient
) -> None:
    """replaced-node: for ever, and without a host; few commands, and few for a wait."""
    node, _ = nodes
    node.slots, node.answer = (b"", node.port), MOVED % (b"", node.port)
    lock = make_client(url(node), command_timeout=IMPATIENT).lock(NAME)
    see_a_bounded_error(alice, lock, [node])


def test_two_nodes_that_point_at_each_other_are_an_error_in_time(
    alice: Any, nodes: tuple[Node, Node], make_client: MakeClient
) -> None:
    """replaced-node: the client follows a few times, and tries again as for a state that passes."""
    for node, other in (nodes, nodes[::-1]):
        node.slots, node.answer = (b"", other.port), MOVED % (b"", other.port)
    lock = make_client(url(nodes[0]), command_timeout=IMPATIENT).lock(NAME)
    see_a_bounded_error(alice, lock, nodes)


def see_a_bounded_error(alice: Any, lock: Any, nodes: Any) -> None:
    watch = Stopwatch()
    with pytest.raises(holdfast.HoldfastError, match="MOVED") as refused:
        alice.do(lock.acquire, blocking=False)
    assert watch.seconds < 1.0, "0.25 s, and the rest for a busy machine"
    assert getattr(refused.value, "temporary", True)
    before = sum(node.asked for node in nodes)
    with pytest.raises(holdfast.HoldfastError):  # that, or its last answer came too late
        alice.do(lock.acquire, timeout=1)
    assert watch.seconds < 3.0
    assert sum(node.asked for node in nodes) - before < 200, (before, nodes)


PROGRAM = """
with holdfast.Client(URL) as client:
    say("acquired", client.lock(NAME).acquire(timeout=30))
    hear("end")
"""


def test_two_nodes_behind_one_name(names: Names, start_child: StartChild) -> None:
    """replaced-node: the first address is a node without slots that names the name itself."""
    port, name = free_port(), Names.NAME.encode()
    wrong = Node(answer=MOVED % (name, port), slots=(name, port))
    right = Node(slots=(name, port))
    names.lead_to("127.0.0.2", "127.0.0.3")
    with scripted(wrong, "127.0.0.2", port), scripted(right, "127.0.0.3", port):
        child = start_child(
            PROGRAM,
            environment=names.environment,
            URL=f"redis+cluster://{Names.NAME}:{port}",
            NAME=NAME,
        )
        assert child.expect("acquired") == ["True"]
        assert right.asked > 0
        assert wrong.asked < 20
        child.send("end")
