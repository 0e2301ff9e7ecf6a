"""The price list of the engine: `python -m tools.promises` writes docs/promises.md.

Each row is a promise to users, the files that keep it, and the lines that it may cost. The lint
compares the page with what this makes, and each row with its lines: a change that needs more lines
raises them in its row, and says there what users get for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tools.lint import tree

PAGE = Path("docs/promises.md")


HEAD = """\
# The price list

What each promise of the [guarantees](guarantees.md) and [faults](faults.md) costs in C++: the files
that keep it and their lines, without comments and blank lines, and how many tests and planted
breaks name its faults. `python -m tools.promises` makes this page from its table; the lint is red
where a file has no row, or a row has more lines than are priced: a change that adds lines says in
the table what users get for them.

| house of `cpp/` | folders | lines at the first reading | now |
|---|---|--:|--:|"""


class House(NamedTuple):
    """A part of the engine: a folder of cpp/ with these in it, and what it is."""

    name: str
    folders: tuple[str, ...]
    what: str


HOUSES = (
    House(
        "redis",
        ("base", "net", "resp", "script", "client", "topology"),
        "a client of Redis with Sentinel and Cluster",
    ),
    House("locks", ("lease", "wait", "sync", "engine"), "holds, waiters, the kinds of locks"),
    House("guard", (), "the program that releases a killed process's locks"),
    House("bindings", (), "what Python calls"),
)


class Promise(NamedTuple):
    """A row: what users get, and the files below cpp/ that keep it."""

    what: str
    #: Patterns of paths below cpp/, with spaces; a file belongs to the first row that has it.
    files: str
    #: Identifiers of faults of docs/faults.md, with spaces.
    names: str
    #: Lines of code: the first column, and the most that it may have now.
    first: int
    lines: int
    #: What users get for lines that were added.
    added: str = ""

    @property
    def faults(self) -> list[str]:
        """The faults of docs/faults.md that it is about."""
        return self.names.split()


PROMISES: tuple[Promise, ...] = (
    Promise(
        "Hosts, threads and clocks: what all else stands on; a child of `fork()` uses "
        "nothing of its parent",
        "redis/base/* redis/client.h redis/example.cpp locks/base/*",
        "suspended-machine forked-process interpreter-exit stalled-server client-clock-set "
        "process-limits",
        first=1749,
        lines=1873,
        added=(
            "descriptors of the engine have numbers from 3 on, and a child of `fork()` closes "
            "them; a record of the log says the kind of lock; "
            "a purpose is shared by the holds that have it; no look before a sleep where the "
            "process may use only one CPU; the client of Redis, which names nothing of locks, is "
            "used and tested by itself"
        ),
    ),
    Promise(
        "A connection is opened within its time, over TCP, a unix socket or TLS, by "
        "whichever address of the name answers",
        "redis/net/address_memory.* redis/net/resolver.* redis/net/socket_transport.* "
        "redis/net/tls_transport.* redis/net/transport.* redis/net/endpoint.*",
        "connection-reset slow-link nothing-listens tls-mismatch several-addresses",
        first=964,
        lines=1059,
        added="a name whose first address is dead is connected to by the next one after 250 ms",
    ),
    Promise(
        "One loop reads and waits for all that no caller waits for, without polling",
        "redis/net/event_loop.* redis/net/poll* redis/client/poll_for.* "
        "redis/client/event_loop_reader.*",
        "many-holds blocked-loop idle-loop",
        first=859,
        lines=826,
    ),
    Promise(
        "A connection that breaks, or is silent, is made again without a storm; a refusal "
        "in its first bytes is its error",
        "redis/client/reconnecting_stream.* redis/client/backoff.* redis/client/greeting.* "
        "redis/client/login.*",
        "connection-reset silent-network restart-with-data passing-refusal lasting-refusal "
        "no-new-connection",
        first=709,
        lines=738,
        added=(
            "a refused login, or protected mode, is one error with the server's words, "
            "and releases go on once a second"
            "; the role of a server is learnt by HELLO, which needs no right"
        ),
    ),
    Promise(
        "Commands are answered in order, and repeated after a reset with the same effect; a"
        " script that the server lacks is sent with its text",
        "redis/client/connection.* redis/client/pipeline.* redis/client/request.* "
        "redis/client/request_queue.* redis/client/send_buffer.* redis/client/stream_reader.* "
        "redis/script/writer.*",
        "silent-network lost-reply lost-release script-flush",
        first=1599,
        lines=1705,
        added=(
            "replies of a stale server are held back until another has its place; a "
            "request whose reply mismatched twice is not sent again; "
            "what says a purpose goes out in one piece with its acquire; "
            "a look before the sleep, where that is quicker"
        ),
    ),
    Promise(
        "A reply has the shape of its command or script, or the connection is not believed",
        "redis/resp/* locks/sync/operation/command_replies.* redis/client/unknown_command.*",
        "stray-bytes lasting-refusal",
        first=531,
        lines=893,
        added=(
            "every reply of a script and a plain command is checked, those of the tools, too, and "
            "the error names a command that the server does not know"
        ),
    ),
    Promise(
        "The calling thread sends and reads by itself: a pair costs two round trips and no "
        "switch of threads",
        "redis/client/reader_election.* redis/client/direct_exchange.* redis/client/busy_poll.*",
        "due-cancellation blocked-loop idle-loop",
        first=382,
        lines=501,
        added=(
            "what says a purpose goes out in one piece with its acquire; a caller looks for its "
            "reply before it sleeps where that is quicker: half the time of a pair on an idle "
            "virtual machine"
        ),
    ),
    Promise(
        "Messages: one subscription for each channel, kept over reconnects, told apart from"
        " one that is silent",
        "redis/client/subscri*",
        "lost-subscription lost-message slow-subscriber missing-commands",
        first=714,
        lines=606,
        added=(
            "a subscription to a stale server is left with its other connections; none is made "
            "after a close"
        ),
    ),
    Promise(
        "The server says itself that a held key has changed",
        "redis/client/tracking.*",
        "changed-key",
        first=93,
        lines=89,
    ),
    Promise(
        "A server that became a replica behind its address, or was replaced there, is left",
        "redis/topology/replacement.* redis/client/stale_signs.*",
        "hidden-failover replaced-node",
        first=0,
        lines=230,
        added="a failover behind an address that stays, and a replaced node, end no lock",
    ),
    Promise(
        "Sentinel: the primary is found, followed, and left when it is none any more",
        "redis/topology/sentinel*",
        "failover-with-lock failover-without-lock old-primary",
        first=642,
        lines=610,
    ),
    Promise(
        "Cluster: each name goes to the server of its slot, also while slots move",
        "redis/topology/cluster* redis/topology/slot*",
        "moved-slot replaced-node",
        first=1134,
        lines=1118,
        added="a node that was replaced behind its address is left"
        "; nodes that redirect in circles end in an error",
    ),
    Promise(
        "One server, and what all deployments share",
        "redis/topology/server_links.* redis/topology/topology.*",
        "connection-reset hidden-failover",
        first=212,
        lines=237,
        added="`READONLY` from `ping()`, and one look for all connections to a server",
    ),
    Promise(
        "A hold is trusted until its deadline, on the client's clock; its owner, thread or "
        "task is one",
        "locks/lease/hold.* locks/lease/holds.* locks/lease/keeper.* locks/lease/attempt.* "
        "locks/lease/overview.* locks/lease/records.h locks/lease/late_renewals.h",
        "stopped-process suspended-machine ended-owner crossing-renewal reused-thread-id "
        "server-clock-ahead server-clock-back expired-on-arrival forgotten-hold "
        "acquire-after-loss",
        first=1382,
        lines=1360,
        added=(
            "an undo beside a hold of its owner is the release of that hold; "
            "each hold is noted with its beginning and its end; what was taken for a lock made of "
            "locks ends with that one"
        ),
    ),
    Promise(
        "Who holds a lock, since when and for what stands on the server, and no caller waits for "
        "it",
        "locks/lease/note*",
        "lasting-refusal script-flush out-of-memory killed-process",
        first=0,
        lines=426,
        added=(
            "`since` is the hold's beginning; a purpose costs no exchange, and ends with its hold; "
            "holds without one are noted once they last; one that ends meanwhile breaks no command"
        ),
    ),
    Promise(
        "A loss is always told, once, with its reason",
        "locks/lease/hold_events.* locks/lease/open_blocks.* locks/lease/tracked_holds.* "
        "locks/engine/loss_signals.* locks/engine/event_queue.*",
        "restart-without-data changed-key pending-release blocked-handler",
        first=411,
        lines=474,
        added=(
            "waiters for permits learn at once that the server lost its data; a record of the "
            "log says the kind of lock"
        ),
    ),
    Promise(
        "Leases are renewed in batches, without a thread for each",
        "locks/lease/watchdog.* locks/lease/renewal* locks/lease/look_budget.*",
        "busy-gil many-holds shortened-lease",
        first=673,
        lines=743,
        added=(
            "a record of the log says the kind of lock; "
            "one command a second notes the holds that last"
        ),
    ),
    Promise(
        "A release gets to the server whatever becomes of its caller, and never takes "
        "another owner's hold",
        "locks/lease/releases.* locks/sync/operation/release.* locks/sync/operation/hold_release.*",
        "error-in-block lost-release out-of-memory wrong-release interrupted-release "
        "pending-at-close deferred-loss unanswered-release greedy-client deferred-at-close",
        first=991,
        lines=962,
        added=(
            "a release that is refused for a reason that passes goes on until the lease is over; "
            "a record of the log says the kind of lock; "
            "its note ends with the hold"
        ),
    ),
    Promise(
        "Waiters wake by a message, pass a wake-up on, and never poll",
        "locks/wait/* locks/sync/operation/contended.* locks/sync/operation/acquire_machine.* "
        "locks/sync/recipes/backoff.h",
        "lost-subscription lost-message many-waiters expired-wait",
        first=1349,
        lines=1256,
        added=(
            "waiters for permits set up what the server has lost, and small crowds wait less; "
            "a grant that has waited is noted with its beginning; close() ends the waits for a "
            "spin lock in their order; an acquire to which the server objects ends its wait"
        ),
    ),
    Promise(
        "An acquire ends within its caller's time; what is granted to a caller that left is"
        " given back",
        "locks/sync/operation/acquire.* locks/sync/operation/acquire_request.* "
        "locks/sync/operation/callers_time.* locks/sync/operation/exchange.* "
        "locks/sync/operation/operation.* locks/sync/operation/timers.* "
        "locks/sync/operation/calls.* locks/sync/operation/context.h "
        "locks/sync/operation/keeping.* locks/sync/operation/synchronizer.h",
        "interrupted-acquire lost-reply expired-on-arrival grant-at-close nothing-listens "
        "expired-wait",
        first=1124,
        lines=1270,
        added=(
            "`wait=0` is a try everywhere, and steps of all kinds have their caller's time; "
            "`close()` gives back what a call of several steps has been granted; "
            "an acquire says its purpose without a wait; what an acquire of these gives reaches "
            "its caller in the same reply"
        ),
    ),
    Promise(
        "Each kind of lock: its keys, scripts and messages are Redisson's",
        "locks/sync/recipes/* locks/engine/lock.* locks/engine/counter.* "
        "locks/engine/permit_semaphore.* locks/engine/permit_setup.h",
        "lost-message minimum-hold-time shortened-lease",
        first=1594,
        lines=1675,
        added=(
            "permits are set up anew after the server lost them; a record of the log says the "
            "kind of lock; every kind takes a `label`; a permit tells the tools its program; "
            "slots, and an election with its value, are one step"
        ),
    ),
    Promise(
        "What is built on locks sends by the engine: steps and commands with a caller's time",
        "locks/sync/operation/query_operation.* locks/sync/operation/command_operation.h",
        "expired-wait stray-bytes",
        first=175,
        lines=205,
        added=(
            "leader, slots, once and barrier keep the engine's rules; a detach is such a step, "
            "which observers see as a release"
        ),
    ),
    Promise(
        "A hold may be passed on by a ticket",
        "locks/sync/operation/ticket.* locks/sync/operation/attach_operation.*",
        "passed-on-hold",
        first=382,
        lines=265,
    ),
    Promise(
        "A grant may be confirmed by replicas",
        "locks/sync/operation/replica_acknowledger.*",
        "failover-with-lock failover-without-lock",
        first=324,
        lines=294,
    ),
    Promise(
        "Several locks as one, and a majority of independent servers",
        "locks/sync/quorum/* locks/engine/quorum.*",
        "failed-members",
        first=1356,
        lines=1369,
        added=(
            "a red lock that lost its quorum releases its members though others hang; "
            "they take a `label`; what the other members have of a lost hold is released when the "
            "loss is raised"
        ),
    ),
    Promise(
        "A client: opened by its first use, closed with all that it holds, with new "
        "passwords while it works",
        "locks/locks.h locks/engine/client.* locks/engine/closing.* locks/engine/engine.* "
        "locks/engine/reauthentication.* locks/engine/completion_queue.* "
        "locks/engine/wait_hub.h",
        "forgotten-client forked-process interpreter-exit pending-at-close grant-at-close "
        "process-limits",
        first=1017,
        lines=971,
    ),
    Promise(
        "A killed process's locks are free in milliseconds: the client's half",
        "locks/engine/guarded.*",
        "killed-process missing-guard",
        first=152,
        lines=149,
    ),
    Promise(
        "A killed process's locks are free in milliseconds: the guard's program",
        "guard/*",
        "killed-process missing-guard",
        first=1342,
        lines=1421,
        added=(
            "it releases no lock of `run` while a descendant works, and ends a hold "
            "only where the server says so"
        ),
    ),
    Promise(
        "Threads: with the GIL released in each wait, and no grant lost to a signal handler",
        "bindings/blocking_* bindings/waiting.* bindings/native_object.* "
        "bindings/critical_section.h bindings/permits.*",
        "interrupted-acquire interrupted-release handler-during-acquire handler-during-release",
        first=1267,
        lines=1096,
        added=(
            "what a step has taken is given back when its caller is interrupted; "
            "a `label` for one call; a child of `fork()` releases no permit of its parent"
        ),
    ),
    Promise(
        "Tasks: a reply wakes its task without a thread; cancellation leaves nothing",
        "bindings/awaitable.* bindings/task_*",
        "interrupted-acquire interrupted-release blocked-loop due-cancellation idle-loop",
        first=870,
        lines=950,
        added=(
            "a child of `fork()` that ends takes nothing of its parent's tasks; a task looks for "
            "its reply where its loop would only sleep; the queue is that of all event loops; an "
            "interrupt of one greenlet loses no answer of another"
        ),
    ),
    Promise(
        "Event loops that are not asyncio's, with the queue of asyncio's",
        "bindings/register_queues.cpp",
        "idle-loop",
        first=209,
        lines=120,
        added=(
            "steps and commands are awaited there, too; a record of the log says the kind of lock; "
            "a call that `close()` has ended says so; trio is such a loop, and at the limit of "
            "threads or descriptors a call there leaves nothing behind"
        ),
    ),
    Promise(
        "Python's objects, errors, observers and passwords",
        "bindings/*",
        "lasting-refusal blocked-handler",
        first=1254,
        lines=1332,
        added=(
            "replies reach Python with their shapes checked; every kind takes a `label`; "
            "a loss tells a task of trio, too, who has released the lock by force; "
            "slots, and an election with its value, are one step, and each call of what is built "
            "on locks costs a quarter fewer instructions; an error while one result is made is "
            "that caller's alone"
        ),
    ),
)


def code_lines(text: str) -> int:
    """Lines that are neither blank nor comments."""
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def house_of(path: str) -> str:
    """The house of a file below cpp/."""
    return path.partition("/")[0]


def row_of(path: str) -> Promise | None:
    """The row that pays for a file below cpp/."""
    return next(
        (row for row in PROMISES if any(fnmatch(path, one) for one in row.files.split())), None
    )


def sources(root: Path) -> dict[str, int]:
    """The lines of each file below cpp/."""
    paths = [path for path in tree.cpp(root) if path.parts[0] == "cpp"]
    return {
        path.relative_to("cpp").as_posix(): code_lines((root / path).read_text("utf-8"))
        for path in paths
    }


def check(root: Path = tree.ROOT) -> list[str]:
    """Returns one line for each file that no row pays for, and each row that costs too much."""
    files = sources(root)
    problems = [
        f"cpp/{path}: no row of tools/promises.py has it: which promise does it keep?"
        for path in files
        if row_of(path) is None
    ]
    for row, lines in totals(files):
        if lines > row.lines:
            problems.append(
                f"tools/promises.py: {row.what!r} has {lines} lines, {row.lines} are priced: raise "
                "`lines`, and say in `added` what users get for them"
            )
        if row.lines > row.first and not row.added:
            problems.append(f"tools/promises.py: {row.what!r} grew: say in `added` for what")
    page = root / PAGE
    if not page.is_file() or page.read_text("utf-8") != made(root):
        problems.append(f"{PAGE} is not what python -m tools.promises makes")
    return problems


def totals(files: dict[str, int]) -> Iterator[tuple[Promise, int]]:
    """The lines of each row."""
    for row in PROMISES:
        yield row, sum(lines for path, lines in files.items() if row_of(path) is row)


def made(root: Path) -> str:
    """The text of the page."""
    files = sources(root)
    return "\n".join([*_head(files), *_rows(files)]) + "\n"


def proofs() -> Callable[[Promise], tuple[int, int]]:
    """Counts the tests, and the planted breaks, that name a fault of a row."""
    # By name, as the types of tools are checked without the tests.
    known = import_module("tests.faults.__main__")
    by_fault = known.by_fault()

    def count(row: Promise) -> tuple[int, int]:
        tests = {test for fault in row.faults for test in by_fault.get(fault, [])}
        breaks = [one for one in known.ALL_BREAKS if not set(one.faults).isdisjoint(row.faults)]
        return len(tests), len(breaks)

    return count


def _head(files: dict[str, int]) -> Iterator[str]:
    yield HEAD
    for house in HOUSES:
        first = sum(row.first for row in PROMISES if house_of(row.files) == house.name)
        now = sum(lines for path, lines in files.items() if house_of(path) == house.name)
        folders = ", ".join(f"`{each}`" for each in house.folders)
        yield f"| **{house.name}**: {house.what} | {folders} | {first:,} | {now:,} |"
    yield f"| all | | {sum(row.first for row in PROMISES):,} | {sum(files.values()):,} |"


def _rows(files: dict[str, int]) -> Iterator[str]:
    lines_of, count = dict(totals(files)), proofs()
    for house in HOUSES:
        yield f"""
## {house.name}

| promise | files | first | now | faults | tests | breaks |
|---|---|--:|--:|---|--:|--:|"""
        for row in PROMISES:
            if house_of(row.files) != house.name:
                continue
            what = f"{row.what}. Added: {row.added}" if row.added else row.what
            paths = ", ".join(f"`{each}`" for each in row.files.split())
            faults = ", ".join(f"[{each}](faults.md#{each})" for each in row.faults)
            tests, breaks = count(row)
            figures = f"{row.first:,} | {lines_of[row]:,} | {faults} | {tests} | {breaks}"
            yield f"| {what} | {paths} | {figures} |"


def main() -> None:
    (tree.ROOT / PAGE).write_text(made(tree.ROOT), "utf-8")


if __name__ == "__main__":
    main()
