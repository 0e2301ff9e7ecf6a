"""A name can be any bytes; where it is shown, none of them acts on a terminal or in a log."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import subprocess
import unicodedata
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from holdfast import inspect
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.tools.cli.conftest import BOUND, COMMAND, environment

pytestmark = pytest.mark.servers("redis")

HOSTILE = {
    "escape": b"a\x1b[2J\x1b]0;title\x07b",
    "lines": b"a\r\nERROR forged\n",
    "c1": "a\x9b31mb".encode(),
    "bidi": "a\u202egpj.exe\u2066b".encode(),
    "zero width": "a\u200bb\u00adc\u2060d\ufeffe\u3164f".encode(),
    "separators": "a\u2028b\u2029c".encode(),
    "tags": "a\U000e0041\U000e0042".encode(),
    "no text": b"\xff\xfea\xed\xa0\x80b\xc0\x80c\xf4\x90\x80\x80d\xe2\x80",
}
SHOWN = {
    "escape": r"a\x1b[2J\x1b]0;title\x07b",
    "lines": r"a\x0d\x0aERROR forged\x0a",
    "c1": r"a\xc2\x9b31mb",
    "bidi": r"a\xe2\x80\xaegpj.exe\xe2\x81\xa6b",
    "zero width": r"a\xe2\x80\x8bb\xc2\xadc\xe2\x81\xa0d\xef\xbb\xbfe\xe3\x85\xa4f",
    "separators": r"a\xe2\x80\xa8b\xe2\x80\xa9c",
    "tags": r"a\xf3\xa0\x81\x81\xf3\xa0\x81\x82",
    "no text": r"\xff\xfea\xed\xa0\x80b\xc0\x80c\xf4\x90\x80\x80d\xe2\x80",
}


@pytest.fixture(params=HOSTILE)
def word(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def name(word: str) -> bytes:
    return HOSTILE[word]


def harmless(text: str) -> bool:
    """Whether a terminal shows all of it, as it stands."""
    return all(unicodedata.category(each)[0] != "C" for each in text.replace("\n", "")) and not (
        {"\u2028", "\u2029", "\u3164", "\r"} & set(text)
    )


def message(call: Callable[[], object]) -> str:
    with pytest.raises((holdfast.HoldfastError, ValueError)) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def log() -> Any:
    """What the library's logger writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("holdfast")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("order:{42}", "ünïcode ☃ 鍵 🔒", "a b", "c:\\temp", "'\"`$"):
        assert inspect.shown(name.encode()) == name


def test_one_function_shows_a_name(word: str, name: bytes) -> None:
    assert inspect.shown(name) == SHOWN[word]
    assert harmless(SHOWN[word])


def test_the_errors_of_the_engine(server: Server, word: str, name: bytes) -> None:
    title = f"'{SHOWN[word]}'"
    with holdfast.Client(server.url) as client:
        server.inspect.set(name, "text")
        lock = client.lock(name)
        assert message(lock.acquire).startswith(title)
        assert title in message(lock.release)
        assert title in message(client.permit_semaphore(name).acquire)
        server.inspect.delete(name)
        server.inspect.config_set("min-replicas-to-write", "1")
        try:
            assert title in message(lambda: lock.acquire(timeout=0.1))
        finally:
            server.inspect.config_set("min-replicas-to-write", "0")
    with holdfast.Client(f"{server.url}?replicas_to_wait=1") as client:
        assert title in message(lambda: client.lock(name).acquire(timeout=0.3))


def test_the_errors_of_the_python_side(server: Server, word: str, name: bytes) -> None:
    title = f"'{SHOWN[word]}'"
    with holdfast.Client(server.url) as client, holdfast.Client(server.url) as other:
        lock = client.lock(name, wait=0.01)
        texts = [repr(lock), repr(client.semaphore(name)), message(lock.release)]
        with other.lock(name):
            texts += [message(lock.__enter__), message(lambda: lock.hold(wait=0))]
        hold = lock.hold()
        hold.release()
        texts += [repr(hold), message(hold.release)]
        both = client.read_write_lock(name)
        with both.read:
            texts.append(message(both.write.acquire))
    for text in texts:
        assert title in text
        assert harmless(text)


def test_the_log_of_a_loss(server: Server, log: io.StringIO, word: str, name: bytes) -> None:
    with holdfast.Client(server.url) as client, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lock = client.lock(name)
        lock.acquire()
        client.lock(name).force_release()
        eventually(lambda: "was lost" in log.getvalue())
        with pytest.raises(holdfast.LockLostError, match="was lost"):
            lock.release()
        client.lock(name).acquire()
        client.close()
    [warning] = [each for each in caught if each.category is ResourceWarning]
    for text in (log.getvalue().strip("\n"), str(warning.message)):
        assert f"'{SHOWN[word]}'" in text
        assert "\n" not in text
        assert harmless(text)


@pytest.mark.sampled
@pytest.mark.parametrize("words", [["ls"], ["show"], ["watch"], ["unlock"], ["ls", "--json"]])
def test_the_command_line(server: Server, word: str, name: bytes, words: list[str]) -> None:
    command = [*COMMAND, "--url", server.url, *words]
    if words[0] in {"show", "unlock"}:
        command = [*command, "--", name]  # type: ignore[list-item]
    with holdfast.Client(server.url) as client, client.lock(name, lease=60):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()
        )
        with process:
            assert process.stdout is not None
            said = process.stdout.readline()
            if words == ["watch"]:
                process.terminate()
            said += process.stdout.read()
    assert harmless(said.replace("\t", ""))
    if "--json" in words:
        [one] = json.loads(said)
        assert one["name"] == SHOWN[word]
    else:
        assert SHOWN[word] in said


@pytest.mark.sampled
@pytest.mark.parametrize(
    "options",
    [["--verbose"], ["--kind", "semaphore", "--verbose", "--wait", "0"]],
    ids=["lock", "semaphore"],
)
def test_run(server: Server, word: str, name: bytes, options: list[str]) -> None:
    command = [
        *COMMAND,
        "--url",
        server.url,
        "run",
        *options,
        "--",
        name,
        "--",
        "/nonexistent/\x1b",
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=BOUND, check=False
    )
    assert harmless(done.stderr)
    assert f"'{SHOWN[word]}'" in done.stderr


def test_the_page(server: Server) -> None:
    pytest.importorskip("uvicorn", reason="the page needs the extra web")
    from tests.tools.web.inspector import Inspector

    with contextlib.ExitStack() as held, Inspector(server.url) as inspector:
        client = held.enter_context(holdfast.Client(server.url))
        for name in HOSTILE.values():
            held.enter_context(client.lock(name, lease=60))
        found = {one["name"]: one["key"] for one in inspector.get("/api/locks").json}
        assert set(found) == set(SHOWN.values())
        for shown, key in found.items():
            assert inspector.get(f"/api/locks/{key}").json["name"] == shown
            assert all(map(harmless, inspector.get(f"/api/locks/{key}").json["keys"]))
    with Inspector(server.url) as inspector:
        server.inspect.set(HOSTILE["escape"], "text")
        key = HOSTILE["escape"].hex(" ").upper().replace(" ", "%")
        error = inspector.get(f"/api/locks/%{key}").json["error"]
        assert SHOWN["escape"] in error
        assert harmless(error)


def test_a_hostile_queue(server: Server) -> None:
    """What is in the queue of a fair lock comes from the server, too."""
    with holdfast.Client(server.url) as client, client.fair_lock("myLock", lease=60):
        server.inspect.rpush("redisson_lock_queue:{myLock}", b"\x1b[2J\n")
        found = inspect.lock(client, "myLock")
        assert found is not None
        assert found.queue is not None
        assert [each.id for each in found.queue] == [r"\x1b[2J\x0a"]
        assert harmless("".join(found.channels))


def test_spans_and_metrics(server: Server, word: str, name: bytes) -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    simple = pytest.importorskip("opentelemetry.sdk.trace.export").SimpleSpanProcessor
    from holdfast.contrib.opentelemetry import HoldfastInstrumentor

    spans = export.InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(simple(spans))
    HoldfastInstrumentor().instrument(tracer_provider=provider)
    try:
        with holdfast.Client(server.url) as client, client.lock(name):
            pass
    finally:
        HoldfastInstrumentor().uninstrument()
    [span] = spans.get_finished_spans()
    assert span.attributes["holdfast.lock.name"] == SHOWN[word]
    with pytest.raises(ValueError, match="client_name"):  # the label of the metrics
        holdfast.Client(server.url, client_name="a\x1b\n")
