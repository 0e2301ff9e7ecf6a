"""The limits of the process itself: no descriptor, no thread, no process is left to it."""

from __future__ import annotations

import pytest

from tests.support.processes import Child, StartChild
from tests.support.refusals import REFUSALS, Refusals
from tests.support.servers import Server

pytestmark = pytest.mark.servers("real")

DESCRIPTORS = "[(free_descriptors, (count,), 'ulimit -n') for count in range(10)]"
THREADS = "[(refuse, ('pthread_create', nth, 0, errno.EAGAIN), 'ulimit -u') for nth in range(1, 4)]"

ROUNDS = """
def limit_lifted():
    refuse_nothing()
    any_descriptors()

def state():
    return descriptors(), threads()

def loops():
    names = [open(f"/proc/self/task/{each}/comm").read() for each in os.listdir("/proc/self/task")]
    return [name for name in names if name.startswith(("holdfast-io", "holdfast-dog"))]

def judged(outcome, hint):
    if isinstance(outcome, holdfast.ConnectionError):
        assert hint in str(outcome), outcome
        return "no start" if "cannot start" in str(outcome) else "error"
    assert outcome is True, repr(outcome)
    return "held"
"""

ATTEMPT = """
def attempt(call, *arguments):
    try:
        return call(*arguments)
    except holdfast.ConnectionError as error:
        return error
"""

BY_THREADS = f"""
{ATTEMPT}

before = None
for number, (limit, arguments, hint) in enumerate(LIMITS):
    client = holdfast.Client(URL, retries=0)
    lock = client.lock(str(number))
    limit(*arguments)
    outcomes = [judged(attempt(lock.acquire, False), hint) for _ in range(2)]
    limit_lifted()
    assert "no start" not in outcomes or not loops(), loops()
    assert lock.acquire(False)
    for _ in range(outcomes.count("held") + 1):
        lock.release()
    client.close()
    del lock, client
    before = before or state()
    assert state() == before, (number, state(), before)
    say(*outcomes)
say("over")
"""

BY_TASKS = """
async def attempt(call):
    try:
        return await call(blocking=False)
    except holdfast.ConnectionError as error:
        return error

async def one(number, limit, arguments, hint):
    client = holdfast.asyncio.Client(URL, retries=0)
    lock = client.lock(str(number))
    limit(*arguments)
    outcomes = [judged(await attempt(lock.acquire), hint) for _ in range(2)]
    limit_lifted()
    assert "no start" not in outcomes or not loops(), loops()
    assert await lock.acquire(blocking=False)
    for _ in range(outcomes.count("held") + 1):
        await lock.release()
    await client.close()
    say(*outcomes)

before = None
for number, limit in enumerate(LIMITS):
    asyncio.run(one(number, *limit))
    until(lambda: threads() == 1)  # that of a log record ends a moment later
    before = before or state()
    assert state() == before, (number, state(), before)
say("over")
"""


def first_line(child: Child) -> str:
    """The first line of a program, which has to end its rounds and to exit without an error."""
    lines = []
    while (line := child.next_line()) != "over":
        lines.append(line)
    assert child.wait() == 0
    return lines[0]


@pytest.mark.parametrize("limits", [DESCRIPTORS, THREADS], ids=["descriptors", "threads"])
@pytest.mark.parametrize("program", [BY_THREADS, BY_TASKS], ids=["threads", "tasks"])
def test_an_acquire_at_a_limit_raises_and_works_once_it_is_lifted(
    start_child: StartChild, server: Server, refusals: Refusals, program: str, limits: str
) -> None:
    """process-limits."""
    rounds = f"{REFUSALS}\nLIMITS = {limits}\n{ROUNDS}\n{program}"
    child = start_child(rounds, URL=server.url, environment=refusals.environment)
    assert first_line(child) == "no start no start"


NEXT_TASK = """
async def one(limit, arguments, hint):
    async with (
        holdfast.asyncio.Client(URL, retries=0) as client,
        holdfast.asyncio.Client(URL, retries=0) as other,
    ):
        both = client.multi_lock(client.lock("a"), other.lock("b"))
        limit(*arguments)
        try:
            outcome = await both.acquire(timeout=0)
        except holdfast.ConnectionError as error:
            outcome = error
        limit_lifted()
        lock = client.lock("next")
        assert await lock.acquire() is True, repr(outcome)
        await lock.release()
        if outcome is True:
            await both.release()
    say(judged(outcome, hint))

for limit in LIMITS:
    asyncio.run(one(*limit))
say("over")
"""


@pytest.mark.parametrize("limits", [DESCRIPTORS, THREADS], ids=["descriptors", "threads"])
def test_the_next_operation_of_a_task_is_not_answered_for_one_that_could_not_begin(
    start_child: StartChild, server: Server, refusals: Refusals, limits: str
) -> None:
    """process-limits: a lock of several clients' locks is cancelled when it cannot begin."""
    rounds = f"{REFUSALS}\nLIMITS = {limits}\n{ROUNDS}\n{NEXT_TASK}"
    child = start_child(rounds, URL=server.url, environment=refusals.environment)
    assert first_line(child) == "no start"


CLOSING = """
def one(limited, count):
    made = {"free": lambda: None, "limit": lambda: free_descriptors(count)}
    made["limit" if limited == "made" else "free"]()
    client = holdfast.Client(URL, retries=0, **OPTIONS)
    made["limit" if limited == "used" else "free"]()
    lock = client.lock("closed")
    try:
        lock.acquire(False)
    except holdfast.ConnectionError:
        pass
    made["limit" if limited == "closed" else "free"]()
    client.close(release_held=True)  # else a thread stays until the loss is reported
    any_descriptors()

import warnings
warnings.simplefilter("ignore", ResourceWarning)
with holdfast.Client(URL, **OPTIONS) as client, client.lock("first"):
    pass
before = state()
for limited in ("made", "used", "closed"):
    for count in range(11):
        if limited == "made" and count < 3 and "guard" in OPTIONS:
            continue  # refused by the constructor, with RuntimeError
        one(limited, count)
    with holdfast.Client(URL, **OPTIONS) as client, client.lock("again"):
        pass
    assert state() == before, (limited, state(), before)
say("over")
"""


@pytest.mark.parametrize(
    "options",
    ["{'guard': True}", "{'password': lambda: '', 'reauthenticate': 5.0}"],
    ids=["guard", "reauthenticate"],
)
def test_close_needs_no_descriptor(
    start_child: StartChild, server: Server, refusals: Refusals, options: str
) -> None:
    """process-limits."""
    child = start_child(
        f"{REFUSALS}\n{ROUNDS}\nOPTIONS = {options}\n{CLOSING}",
        URL=server.url,
        environment=refusals.environment,
    )
    child.expect("over", within=30.0)
    assert child.wait() == 0


UNUSED = """
refuse("pthread_create", 1, 0, errno.EAGAIN)
before = state()
client, other = holdfast.Client(URL), holdfast.asyncio.Client(URL)
lock = client.lock("unused")
assert not lock.lost
client.close()
del other
say(used(), state() == before)
refuse_nothing()
say(attempt(lock.acquire, False))
"""


@pytest.mark.parametrize("url", ["redis://h:1", "redis+sentinel://h:1/s", "redis+cluster://h:1"])
def test_a_client_that_was_never_used_starts_no_thread(
    start_child: StartChild, refusals: Refusals, url: str
) -> None:
    child = start_child(
        f"{REFUSALS}\n{ROUNDS}\n{ATTEMPT}\n{UNUSED}", URL=url, environment=refusals.environment
    )
    assert child.next_line() == "0 True"
    assert "was closed" in child.next_line()
    assert child.wait() == 0


RECORDS = """
for each in [name for name in sys.modules if name.partition(".")[0] == "logging"]:
    del sys.modules[each]  # of the test's own imports
client = holdfast.Client(URL, tracking="off")
held = client.lock("held")
held.acquire()
assert "logging" in sys.modules
say("held")
hear("forced")
free_descriptors(0)
client.lock("short", lease=0.01)
try:
    held.release()
except holdfast.LockLostError as error:
    say(*str(error).split())
"""


def test_a_record_and_the_error_of_a_loss_need_no_descriptor(
    start_child: StartChild, server: Server, refusals: Refusals
) -> None:
    """process-limits: what they need is imported before, or done without."""
    child = start_child(
        f"import sys\n{REFUSALS}\n{RECORDS}", URL=server.url, environment=refusals.environment
    )
    child.expect("held")
    server.inspect.delete("held")
    child.send("forced")
    assert "no longer has it" in child.next_line()
    assert child.wait() == 0
    assert "the lease of 'short' is 0.01 s" in child.errors


HANDLERS = """
blocked, opened = threading.Event(), threading.Event()

def block(_):
    blocked.set()
    opened.wait()

first, second = holdfast.Client(URL), holdfast.Client(URL)
blocking = TAKE(first, "first", block)
refuse("pthread_create", 1, 0, errno.EAGAIN)
try:
    TAKE(second, "second", print)
except holdfast.ConnectionError as error:
    assert "ulimit -u" in str(error), error
    say("refused")
refuse_nothing()
quick = TAKE(second, "second", lambda _: say("reported"))
plain = holdfast.Client(URL).lock("plain")
plain.acquire()
refuse("pthread_create", 1, 0, errno.EAGAIN)
say("held")
until(blocked.is_set)
say("blocked")
until(lambda: plain.lost)
opened.set()
refuse_nothing()
first.close()
second.close()
say("over")
"""

TAKE_LOCK = """
def TAKE(client, name, on_lost):
    lock = client.lock(name, on_lost=on_lost)
    lock.acquire()
    return lock
"""
TAKE_HOLD = """
def TAKE(client, name, on_lost):
    return client.lock(name, on_lost=on_lost).hold()
"""
TAKE_PERMIT = """
def TAKE(client, name, on_lost):
    semaphore = client.permit_semaphore(name, permits=1, on_lost=on_lost)
    return semaphore, semaphore.acquire()
"""


@pytest.mark.realtime
@pytest.mark.filterwarnings("ignore:.*was closed while it held:ResourceWarning")
@pytest.mark.parametrize(
    "take", [TAKE_LOCK, TAKE_HOLD, TAKE_PERMIT], ids=["lock", "hold", "permit"]
)
def test_a_handler_that_blocks_at_the_limit_of_threads_delays_no_other_report(
    start_child: StartChild, server: Server, refusals: Refusals, take: str
) -> None:
    """process-limits, blocked-handler.

    The thread of a client's handlers runs before there is a loss.
    """
    child = start_child(
        f"import threading\n{REFUSALS}\n{take}\n{HANDLERS}",
        URL=server.url,
        environment=refusals.environment,
    )
    child.expect("refused")
    child.expect("held")
    server.inspect.delete("first", "{first}:timeout")
    child.expect("blocked")
    server.inspect.delete("second", "{second}:timeout")
    child.expect("reported")
    server.inspect.delete("plain")
    child.expect("over")
    assert child.wait() == 0
    for name in ("first", "second", "plain"):
        assert f"the hold on '{name}'" in child.errors


REPORTERS = """
import logging
blocked, opened, reported = threading.Event(), threading.Event(), threading.Event()

def block(*_):
    blocked.set()
    opened.wait()

class Handler(logging.Handler):
    def emit(self, record):
        BLOCKS == "log" and "was lost" in record.getMessage() and block()

class Observer:
    def begun(self, kind, name): pass
    def ended(self, its, outcome, client, owner): pass
    def released(self, name, client, owner): pass
    def lost(self, name, client, owner, reason):
        BLOCKS == "observer" and block()

logging.getLogger("holdfast").addHandler(Handler())
client = holdfast.Client(URL)
first = client.lock("first")
first.acquire()
holdfast.observe.add_observer(Observer())
second = client.lock("second", on_lost=lambda _: reported.set())
second.acquire()
refuse("pthread_create", 1, 0, errno.EAGAIN)
say("held")
until(blocked.is_set)
say("blocked")
until(reported.is_set)
opened.set()
refuse_nothing()
client.close()
say("over")
"""


@pytest.mark.realtime
@pytest.mark.parametrize("blocks", ["log", "observer"])
def test_a_reporter_that_blocks_at_the_limit_of_threads_delays_no_handler(
    start_child: StartChild, server: Server, refusals: Refusals, blocks: str
) -> None:
    """process-limits, blocked-handler.

    The threads of the log and of observers run before there is a loss.
    """
    child = start_child(
        f"import threading\nimport holdfast.observe\n{REFUSALS}\n{REPORTERS}",
        URL=server.url,
        BLOCKS=blocks,
        environment=refusals.environment,
    )
    child.expect("held")
    server.inspect.delete("first")
    child.expect("blocked")
    server.inspect.delete("second")
    child.expect("over")
    assert child.wait() == 0


OBSERVED = """
client = holdfast.Client(URL)
with client.lock("first"):
    pass
refuse("pthread_create", 1, 0, errno.EAGAIN)
try:
    holdfast.observe.add_observer(Observer())
except holdfast.ConnectionError as error:
    say("ulimit -u" in str(error))
refuse_nothing()
client.close()
until(lambda: threads() == 1)
holdfast.observe.add_observer(Observer())
refuse("pthread_create", 1, 0, errno.EAGAIN)
client = holdfast.Client(URL)
try:
    client.lock("second").acquire()
except holdfast.ConnectionError as error:
    say("ulimit -u" in str(error))
until(lambda: threads() == 1)
say("over")
"""


def test_an_observer_without_a_thread_is_refused(
    start_child: StartChild, server: Server, refusals: Refusals
) -> None:
    """process-limits.

    By the call that adds it, or, before there is a client, by the first acquire.
    """
    observer = REPORTERS[REPORTERS.index("class Observer") : REPORTERS.index("logging.get")]
    child = start_child(
        f"import holdfast.observe\n{REFUSALS}\n{observer}\n{OBSERVED}",
        URL=server.url,
        BLOCKS="",
        environment=refusals.environment,
    )
    child.expect("True")
    child.expect("True")
    child.expect("over")
    assert child.wait() == 0
