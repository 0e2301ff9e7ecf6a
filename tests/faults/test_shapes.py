"""Stray bytes: a reply of another shape than its script or command has is not believed."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast._locks import steps
from tests.support.impostors import Scripted, scripted
from tests.support.shapes import Status, encoded, given, others
from tests.support.waiting import eventually
from tests.wire.lua.steps import ROOT, scripts

FIXED = {
    name: script
    for name, script in scripts().items()
    if script["keys"] is not None and script["args"] is not None
}
"""The scripts with a number of parameters; the tests of the kinds have the others."""


@pytest.fixture
def impostor() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


def expect_refused(client: Any, server: Scripted, send: Callable[[], Any], *replies: bytes) -> Any:
    """Let the server give a wrong reply and then, on another connection, the right one."""
    before = client.stats().protocol_errors
    server.replies.extend(replies)
    reply = send()
    assert client.stats().protocol_errors == before + 1, replies
    assert not server.replies
    return reply


def carried_out(client: holdfast.Client, *step: Any) -> Any:
    """The reply to a step, without a limit of its caller's."""
    return steps.step(client._core, steps.without_limit(client._core), *step).wait()


@pytest.mark.parametrize("how", [2, 3], ids=["RESP2", "RESP3"])
@pytest.mark.parametrize("name", FIXED)
def test_a_reply_that_a_script_cannot_give_ends_the_connection(
    impostor: Scripted, caplog: pytest.LogCaptureFixture, name: str, how: int
) -> None:
    """stray-bytes."""
    script = FIXED[name]
    keys, args = [b"key"] * script["keys"], [b"1"] * script["args"]
    right = given(script["results"][0])
    wrong = list(others(script["results"]))
    assert Status(b"OK") in wrong
    with (
        closing(holdfast.Client(impostor.url, protocol=how, tracking="off")) as client,
        caplog.at_level(logging.ERROR, "holdfast"),
    ):
        send = partial(carried_out, client, name, keys, args)
        for reply in wrong:
            replies = encoded(reply, how), encoded(right, how)
            assert expect_refused(client, impostor, send, *replies) == right, reply
        said = f"127.0.0.1:{impostor.port} sent "
        eventually(lambda: said in caplog.text)


@pytest.mark.parametrize("how", [2, 3], ids=["RESP2", "RESP3"])
@pytest.mark.parametrize("name", FIXED)
def test_each_reply_that_a_script_gives_is_taken(impostor: Scripted, name: str, how: int) -> None:
    script = FIXED[name]
    keys, args = [b"key"] * script["keys"], [b"1"] * script["args"]
    with closing(holdfast.Client(impostor.url, protocol=how, tracking="off")) as client:
        for result in script["results"]:
            if result != "error":
                impostor.replies.append(encoded(given(result), how))
                assert carried_out(client, name, keys, args) == given(result)
        assert client.stats().protocol_errors == 0


CLOCK = [b"1700000000", b"5"]
RANGE = [0, 16383, [b"10.0.0.1", 6379, b"id", []]]
SCANNED = [None, 1, [], [b"0"], [b"0", None], [b"0", [1]], [b"no", []], [0, []], Status(b"OK")]
COUNTED = [None, 1, [b"a"], [b"a", b"1"], [b"a", -1], [1, b"a"], [b"a", None], Status(b"OK")]
COMMANDS: dict[tuple[bytes, ...], tuple[Any, list[Any]]] = {
    (b"ACL", b"WHOAMI"): (b"default", [None, 1, [], Status(b"OK")]),
    (b"CLIENT", b"ID"): (7, [-1, None, b"7", [1], Status(b"OK")]),
    (b"CLIENT", b"LIST"): (b"id=1", [None, 1, [], Status(b"OK")]),
    (b"CLIENT", b"INFO"): (b"id=1", [None, 1, [], Status(b"OK")]),
    (b"CLUSTER", b"SLOTS"): ([RANGE], [None, 1, [0], [RANGE[:1]], [[0, 1, [b"h"]]], [[b"0", 1]]]),
    (b"DEL", b"a", b"b"): (2, [3, -1, None, b"1", [1], Status(b"OK")]),
    (b"EXISTS", b"a"): (1, [2, -1, None, b"1", [1], Status(b"OK")]),
    (b"GET", b"a"): (b"value", [1, [b"value"], Status(b"OK")]),
    (b"HGET", b"a", b"f"): (b"value", [1, [b"value"], Status(b"OK")]),
    (b"HLEN", b"a"): (1, [-1, None, b"1", [1], Status(b"OK")]),
    (b"HRANDFIELD", b"a"): (b"value", [1, [b"value"], Status(b"OK")]),
    (b"HSCAN", b"a", b"0", b"COUNT", b"9"): ([b"0", [b"f", b"1"]], SCANNED),
    (b"INFO", b"clients"): (b"text", [None, 1, [], Status(b"OK")]),
    (b"LLEN", b"a"): (1, [-1, None, b"1", [1], Status(b"OK")]),
    (b"MEMORY", b"USAGE", b"a", b"SAMPLES", b"0"): (56, [b"56", [56], Status(b"OK")]),
    (b"PUBSUB", b"CHANNELS", b"a"): ([b"one"], [None, 1, [1], [None], [[b"one"]], Status(b"OK")]),
    (b"PUBSUB", b"NUMSUB", b"a"): ([b"a", 1], COUNTED),
    (b"PUBSUB", b"SHARDCHANNELS", b"a"): ([b"one"], [None, 1, [1], [None], Status(b"OK")]),
    (b"PUBSUB", b"SHARDNUMSUB", b"a"): ([b"a", 1], COUNTED),
    (b"SCAN", b"0", b"MATCH", b"a", b"COUNT", b"9"): ([b"0", [b"one"]], SCANNED),
    (b"STRLEN", b"a"): (1, [-1, None, b"1", [1], Status(b"OK")]),
    (b"ZCARD", b"a"): (1, [-1, None, b"1", [1], Status(b"OK")]),
    (b"HGETALL", b"a"): ([b"f", b"1"], [None, 1, [b"f"], [b"f", 1], [b"f", None], Status(b"OK")]),
    (b"HMGET", b"a", b"f", b"g"): (
        [None, b"1"],
        [None, 1, [], [None], [b"1"] * 3, [1, b"1"], Status(b"OK")],
    ),
    (b"LRANGE", b"a", b"0", b"-1"): ([b"one"], [None, 1, [1], [None], [[b"one"]], Status(b"OK")]),
    (b"PEXPIRE", b"a", b"1"): (1, [2, -1, None, b"1", [1], Status(b"OK")]),
    (b"PTTL", b"a"): (-2, [-3, None, b"1", [1], Status(b"OK")]),
    (b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", b"a"): (
        [b"10.0.0.1", b"6379"],
        [1, [b"10.0.0.1"], [b"10.0.0.1", b"no"], [None, b"1"], Status(b"OK")],
    ),
    (b"SET", b"a", b"b", b"PX", b"1"): (b"OK", [None, 1, b"OK", []]),
    (b"TIME",): (CLOCK, [None, 1, CLOCK[:1], [b"no", b"5"], [*CLOCK, b"6"], Status(b"OK")]),
    (b"ZADD", b"a", b"1", b"one"): (1, [2, -1, None, b"1", [1], Status(b"OK")]),
    (b"ZRANGE", b"a", b"0", b"-1"): ([b"one"], [None, 1, [1], [None], Status(b"OK")]),
    (b"ZRANGE", b"a", b"0", b"-1", b"WITHSCORES"): (
        [b"one", b"1.5"],
        [None, 1, [b"one"], [b"one", b"no"], [[b"one"]], [[b"one", None]], Status(b"OK")],
    ),
    (b"ZREM", b"a", b"one"): (1, [2, -1, None, b"1", [1], Status(b"OK")]),
    (b"ZREMRANGEBYRANK", b"a", b"0", b"1"): (1, [-1, None, b"1", [1], Status(b"OK")]),
}
"""Each form of a command that the library sends: a reply, and what is none to it."""


@pytest.mark.parametrize("how", [2, 3], ids=["RESP2", "RESP3"])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: b"-".join(words).decode())
def test_a_reply_that_a_command_cannot_have_ends_the_connection(
    impostor: Scripted, caplog: pytest.LogCaptureFixture, words: tuple[bytes, ...], how: int
) -> None:
    """stray-bytes."""
    right, wrong = COMMANDS[words]
    sent = Status(right) if words[0] == b"SET" else right
    with (
        closing(holdfast.Client(impostor.url, protocol=how, tracking="off")) as client,
        caplog.at_level(logging.ERROR, "holdfast"),
    ):
        send = partial(steps.ask, client._core, b"a", [words])
        for reply in wrong:
            replies = encoded(reply, how), encoded(sent, how)
            assert expect_refused(client, impostor, send, *replies) == [right], reply
        eventually(lambda: f"127.0.0.1:{impostor.port} sent " in caplog.text)


def test_slots_of_another_shape_end_the_connection(
    impostor: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    """stray-bytes: of the topology's own question, no node is taken from such a reply."""
    sharded, granted = encoded([], 2), encoded(None, 2)
    own = [0, 16383, [b"", impostor.port, b"id"]]
    wrong = [
        [0],
        [own[:1]],
        [[0, 16384, own[2]]],
        [[0, 1, [b"h", 65536]]],
        [[0, 1, [7, 1]]],
        [b"h"],
    ]
    for reply in [*wrong, [own]]:
        impostor.replies += sharded, encoded(reply, 2)
    impostor.replies += granted, encoded(1, 2)
    url = impostor.url.replace("redis://", "redis+cluster://")
    with closing(holdfast.Client(url, tracking="off")) as client, client.lock("orders"):
        assert client.stats().protocol_errors == len(wrong)
    eventually(lambda: f"127.0.0.1:{impostor.port} sent " in caplog.text)


#: Those of which any reply is taken: the text of a script, which has its own shape, and what is
#: shown as it is.
OF_ANY_SHAPE = {b"EVAL", b"TYPE", b"ZSCORE"}
#: Words in tuples that are no commands.
NO_COMMANDS = {b"CHANNELS", b"COUNT", b"MATCH", b"NUMSUB"}


def commands_of_the_library() -> set[bytes]:
    """The commands in its code: in tuples, and in arguments of a call."""
    package = Path(ROOT / "python" / "holdfast")
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            words = getattr(node, "elts", None) or getattr(node, "args", None)
            first = words[0] if isinstance(words, list) and words else None
            if isinstance(first, ast.Constant) and isinstance(first.value, bytes):
                found.add(first.value)
    found -= OF_ANY_SHAPE | NO_COMMANDS
    return {word for word in found if re.fullmatch(rb"[A-Z]{2,}", word)}


def test_each_command_of_the_library_is_known_here() -> None:
    assert commands_of_the_library() == {words[0] for words in COMMANDS}
