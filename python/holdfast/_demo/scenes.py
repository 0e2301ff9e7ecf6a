"""The scenes: each shows one guarantee of the lock, and checks it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from holdfast.integration import guard_obstacle

from .story import Story, check, ms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast import Client

    from .processes import Children

__all__ = ["SCENES", "Stage"]

PROCESSES, THREADS, ROUNDS = 3, 3, 40
#: An immediate step takes no longer than this, even on a busy machine.
AT_ONCE = 1.0
#: How long a scene lets something stand, to be seen.
WHILE = 0.5


class Stage(NamedTuple):
    """The objects that a scene uses."""

    story: Story
    client: Client
    children: Children
    name: str
    folder: Path


def turns(stage: Stage) -> None:
    """Threads of several processes add to one number, and no addition is lost."""
    story = stage.story
    story.title("Processes and threads take turns")
    file = stage.folder / "number"
    file.write_text("0 0 none")
    words = ("add", stage.name, str(file), str(THREADS), str(ROUNDS))
    children = [stage.children.start(*words) for _ in range(PROCESSES)]
    for child in children:
        child.hear("ready")
    wanted = PROCESSES * THREADS * ROUNDS
    story.tell(
        f"{THREADS} threads in each of {PROCESSES} processes add 1 to a number in a file, "
        f"{ROUNDS} times, under {stage.name!r}"
    )
    for child in children:
        child.say("go")
    for child in children:
        child.hear("added")
        story.tell(f"process {child.pid} is done")
    number, changes, _ = file.read_text().split()
    check(int(number) == wanted, f"the number is {number}, not {wanted}")
    story.tell(f"the number is {number}, as it should be")
    story.tell(f"the lock went from one process to another {changes} times")


def wake(stage: Stage) -> None:
    """A waiter is woken by the release in another process, long before the lease is over."""
    story, lock = stage.story, stage.client.lock(stage.name)
    story.title("A release wakes the one who waits")
    child = stage.children.start("hold", stage.name, "30")
    child.hear("held")
    story.tell(f"process {child.pid} holds the lock for 30 s and longer; this process waits for it")
    child.say(str(WHILE))
    check(lock.acquire(timeout=20), "the waiter was not woken within 20 s")
    woken = time.monotonic()
    released = float(child.hear("released"))
    lock.release()
    story.tell(f"process {child.pid} releases it", released)
    story.tell(f"this process has it, {ms(woken - released)} later", woken)
    check(0 <= woken - released < AT_ONCE, "the waiter was not woken by the release")


def killed(stage: Stage) -> None:
    """A killed owner keeps its lock until its lease is over, and no longer."""
    story, lock = stage.story, stage.client.lock(stage.name)
    story.title("A holder is killed")
    child = stage.children.start("hold", stage.name, "1.5")
    child.hear("held")
    story.tell(f"process {child.pid} holds the lock with a lease of 1.5 s, renewed each 0.5 s")
    time.sleep(1.75)
    check(lock.ttl() is not None, "the lock was not renewed")
    child.kill()
    dead = time.monotonic()
    story.tell("after 1.75 s it still does; now it is killed (SIGKILL)", dead)
    end = time.monotonic() + (lock.ttl() or 0)
    check(lock.acquire(timeout=10), "the lock of a dead process was not passed on")
    got = time.monotonic()
    lock.release()
    story.tell(f"this process has the lock, {got - dead:.2f} s after the kill", got)
    story.tell(f"which is {ms(got - end)} after the end of the dead one's lease")
    check(-0.05 < got - end < AT_ONCE, "the lock was not passed on at the end of its lease")


def guarded(stage: Stage) -> None:
    """A killed owner with a guard: its lock is free at once."""
    story, lock = stage.story, stage.client.lock(stage.name)
    story.title("A holder with a guard is killed")
    obstacle = guard_obstacle()
    if obstacle:
        story.tell(f"not on this system: {obstacle}")
        return
    child = stage.children.start("hold", stage.name, "30", "guard")
    child.hear("held")
    story.tell(f"process {child.pid} holds the lock with a lease of 30 s, and has a guard")
    dead = time.monotonic()
    child.kill()
    story.tell("it is killed (SIGKILL)", dead)
    check(lock.acquire(timeout=10), "the guard did not release the lock of its program")
    got = time.monotonic()
    lock.release()
    story.tell(f"this process has the lock, {ms(got - dead)} after the kill", got)
    check(got - dead < AT_ONCE, "the guard did not release the lock at once")


def lost(stage: Stage) -> None:
    """An owner that slept past its lease learns of the loss, and does not free the next hold."""
    story, lock = stage.story, stage.client.lock(stage.name)
    story.title("A holder is stopped for longer than its lease")
    child = stage.children.start("hold", stage.name, "1")
    child.hear("held")
    child.pause()
    story.tell(f"process {child.pid} holds the lock with a lease of 1 s and is stopped (SIGSTOP)")
    check(lock.acquire(timeout=10), "the lock of a stopped process was not passed on")
    story.tell("its lease is over: this process has the lock")
    resumed = time.monotonic()
    child.resume()
    told = float(child.hear("lost"))
    story.tell(f"process {child.pid} runs again", resumed)
    story.tell(f"and learns that it has lost the lock, {ms(told - resumed)} later", told)
    check(told - resumed < AT_ONCE, "the loss was not reported at once")
    child.say("0")
    story.tell(f"its release() raises LockLostError: {child.hear('refused')}")
    check(lock.owned(), "the release of the former owner freed the lock of the next one")
    story.tell("this process still holds the lock")
    lock.release()


SCENES: tuple[Callable[[Stage], None], ...] = (turns, wake, killed, guarded, lost)
