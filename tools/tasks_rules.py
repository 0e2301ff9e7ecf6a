"""What is different in the half for tasks: the rules by which `tools/tasks.py` makes it."""

from __future__ import annotations

# ---- the client

#: The makers of what takes `cancel_on_lost`.
CANCELLED = (
    "lock",
    "fair_lock",
    "read_write_lock",
    "fenced_lock",
    "spin_lock",
    "multi_lock",
)
#: The methods that reach the server.
AWAITED = ("attach", "ping", "close", "__aenter__", "__aexit__")
KEYWORD = "cancel_on_lost: bool = False"
CLASS = '''class Client(TaskClient):
    """A client of one deployment for any number of event loops; it connects on first use.

    Arguments as those of ``holdfast.Client``.
    """'''
#: Before what is said of `at_least`.
ABOUT_TASKS = (
    r"It may be a coroutine function. ``cancel_on_lost``: the loss of a hold cancels its owner "
    r"inside ``async with``, which then raises ``LockLostError``. \1"
)
#: Regular expressions, in order, over the whole file. `BUILT`: the modules of what is built on
#: locks, each with one for tasks.
CLIENT = (
    (
        r'^"""The client, which makes locks\."""',
        '"""The client for asyncio. Made by tools/tasks.py: changes belong in threads.py."""',
    ),
    (
        r"from holdfast\._clients\.base import BaseClient",
        "from holdfast._clients.task_base import TaskClient",
    ),
    (r"from holdfast\._clients\.watchdog import set_watchdog_threads\n", ""),
    (r' *"set_watchdog_threads",\n', ""),
    (r"    EXPONENTIAL,\n    Backoff,\n", ""),
    (
        r"from holdfast\._locks\.(lock|BUILT) import",
        r"from holdfast._locks.task_\1 import",
    ),
    (
        r"from holdfast\._locks\.(permit_semaphore|semaphores) import",
        "from holdfast._locks.task_semaphores import",
    ),
    (r"from holdfast\._locks\.threads import", "from holdfast._locks.tasks import"),
    (
        r"from holdfast\._locks import (BUILT) as",
        r"from holdfast._locks import task_\1 as",
    ),
    (
        r'Late\("holdfast\._locks\.(BUILT)"\)',
        r'Late("holdfast._locks.task_\1")',
    ),
    (
        r"from holdfast\._locks\.decorators import locked",
        "from holdfast._locks.decorators import async_locked as locked",
    ),
    (
        r"from collections\.abc import Callable, Sequence",
        "from collections.abc import Callable, Coroutine, Sequence",
    ),
    (
        r"class Client\(BaseClient\):\n    \"\"\".*?\"\"\"",
        CLASS,
    ),
    (r"Callable\[P, (R(?: \| None)?)\]", r"Callable[P, Coroutine[Any, Any, \1]]"),
    (r"``with``", "``async with``"),
    (r"Decorate a function", "Decorate a coroutine function"),
    (r"detached by any thread,", "detached by any task or thread,"),
    (r"``on_lost``: called once with", "``on_lost``: called once, on the owner's loop, with"),
    (r"``on_lost``:(\s+)called with", r"``on_lost``:\1called on the loop with"),
    (r"__enter__", "__aenter__"),
    (r"__exit__", "__aexit__"),
    (r"(self\._core\.ping\(\)|closing)\.wait\(\)", r"await request(self, \1)"),
    (r"return attach\(", "return await attach("),
    (r"        self\.close\(\)", "        await self.close()"),
    (rf"    def ({'|'.join(AWAITED)})\(", r"    async def \1("),
)
#: In the makers of `CANCELLED`, and in the constructor of a red lock.
CANCELLING = (
    (
        r"        label: str \| None = None,\n    \) ->",
        f"        {KEYWORD},\n        label: str | None = None,\n    ) ->",
    ),
    (r"label=label", "cancel_on_lost=cancel_on_lost, label=label"),
    (
        r"``on_lost``((?:, ``at_least``)?), ``label``: as of ``lock``",
        r"``on_lost``\1, ``cancel_on_lost``, ``label``: as of ``lock``",
    ),
    (
        r"(?<=found lost\. )(``at_least``: the\s)",
        ABOUT_TASKS,
    ),
)
IMPORTS = """from holdfast._locks.task_steps import request
from holdfast._locks.threads import EXPONENTIAL, Backoff
"""

# ---- the synchronizers

#: Names of the half for threads, where that for tasks has others.
NAMES = {
    "BlockingPermits": "TaskPermits",
    "MajorityWatcher": "MajorityTaskWatcher",
    "HoldWatcher": "TaskHoldWatcher",
    "Watcher": "TaskWatcher",
}
#: What does not wait.
AT_ONCE = {
    "__init__",
    "watch",
    "once_each",
    "_decorated",
    "_bind_core",
    "_hold_lost",
    "_new_core",
    "_new_hold",
    "_new_lock",
    "_new_watcher",
    "_not_out",
}
#: What is awaited of this object, or of the semaphore below it.
AWAITS = "release|extend|resign|campaign|hold_count|_end|_is_over|_leave"
#: Of threads, in texts.
TALK = (
    (r"\b(a|A|any|same|the|The|no) thread\b", r"\1 task"),
    (r"\bfor threads\b", "for tasks"),
)
INNER = r"(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*"
#: Regular expressions, in order, over a method or function.
LINES = (
    (r"run\(forced_ticket\(", "await drive(client, forced_ticket("),
    (r"(?<![\w.])run\(", "await drive(self._client, "),
    (rf"(?<![\w.])(core\.attach\({INNER}\))\.wait\(\)", r"await request(client, \1)"),
    (rf"(?<![\w.])(hold\._core\.\w+\({INNER}\))\.wait\(\)", r"await request(hold._client, \1)"),
    (
        rf"(?<![\w.])((?:self\._)?core\.\w+\({INNER}\))\.wait\(\)",
        r"await request(self._client, \1)",
    ),
    (rf"next\(answers\(([\w.]+), ({INNER})\)\)", r"await request(self._client, \1(\2))"),
    (
        r" *release = answers\((.*), (.*)\)\n( *try:\n.*)next\(release\).*",
        r"\3await request(self._client, \1(\2))",
    ),
    (rf"(?<!await )(self(?:\._slots\._semaphore)?\.(?:{AWAITS})\()", r"await \1"),
    (r"raise (self\._lock|lock)\._timed_out\(", r"await \1._raise_timed_out("),
    (r"_events\.explained_text\(", "await self._client._loops.explained("),
    (r"return (Once\(|take_hold\()", r"return await \1"),
    (r"(?<!await )\bacquire_for\((?=hold, wait, lease, label\)\n)", "await acquire_for("),
    (r"    def call\(", "    async def call("),
    (r"__enter__", "__aenter__"),
    (r"-> Iterator\[", "-> AsyncIterator["),
    (r"Unpack\[((?:Minimum)?LockOptions)\]", r"Unpack[Task\1]"),
    (r"asynchronous=False", "asynchronous=True"),
    (r"_core\.this_thread\(\)", "lock._owner()"),
    (r"\bTHIS_THREAD\b", "self._owner()"),
    (r"the calling thread", "the current task"),
    *TALK,
)
STAYS = "Cancelling the task does not stop it."
NOTHING = "A task that is cancelled while it waits leaves nothing behind."
#: Of the text of a method or a class: these words, and what stands there for tasks.
SAID = {
    "Slot.release": ("waiters wake.", f"waiters wake. {STAYS}"),
    "Slots.acquire": ("``client.slots(…)``.\n\n", f"``client.slots(…)``. {NOTHING}\n\n"),
    "Semaphore.acquire": (
        "by requests for fewer.",
        "by requests for fewer. A task that is cancelled while it waits has taken nothing.",
    ),
    "Semaphore.release": ("waiters wake.", f"waiters wake. {STAYS}"),
    "PermitSemaphore.acquire": ("``label``.\n\n", f"``label``. {NOTHING}\n\n"),
    "PermitSemaphore.acquire_many": ("for fewer. It", f"for fewer. {NOTHING} It"),
    "PermitSemaphore.release": ("any client.", f"any client. {STAYS}"),
    "PermitSemaphore.release_many": ("all or none.", f"all or none. {STAYS}"),
    "CountDownLatch.count_down": ("Raises ``Conn", f"{STAYS} Raises ``Conn"),
    "CountDownLatch.wait": ("closed again at once.", f"closed again at once. {NOTHING}"),
    "Barrier.wait": (
        "says so once.",
        "says so once. A task that is cancelled while it waits breaks the barrier for the others.",
    ),
    "FairLock.position": ("For other threads", "For other tasks"),
    "Lock.hold": ("thread too.", f"task too. {NOTHING}"),
    "Hold.extend": (
        "            return False\n",
        "            await self._client._loops.checkpoint()\n            return False\n",
    ),
    "Hold.detach": (
        "then the hold is",
        "then, and after a cancellation, the hold is",
        "            self._mark_detached()\n",
        "",
    ),
    "TaskHoldWatcher": (
        "(HoldWatching)",
        "(HoldWatching, TaskWatcher)",
        "the blocking client.",
        "tasks, on the loop that acquired them.",
    ),
    "Leader.campaign": (
        "while it\n        leads.",
        f"while it\n        leads. {NOTHING}",
        "another thread campaigns",
        "another task campaigns",
    ),
    "Leader.set_value": ("may be announced.", "may be announced, as after a cancellation."),
    "Leader.resign": ("Raises ``NotOwned", f"{STAYS} Raises ``NotOwned"),
}
