"""Plays a recorded scenario with holdfast, and compares all that others can see after each step.

Owners are actors (threads or tasks) of two clients. Where several wait for one lock, and it is open
who gets it, another may than in the recording: the two waiters change parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.support.servers import Server
from tests.support.waiting import BOUND, eventually, let_pass
from tests.wire.kinds import KINDS, Woken, begin, by_hand, outcome
from tests.wire.placeholders import Placeholders
from tests.wire.recordings import Key, Step
from tests.wire.sight import Listened, Watched, keys_on, subscribers

PART = re.compile(r"[AB]:t\d+")
"""An owner as the steps name it: of client A, thread t1."""
IS_GONE = re.compile(r"client (\w) is gone")
QUEUE = "redisson_lock_queue:{demo}"
TIMEOUTS = "redisson_lock_timeout:{demo}"
PROBE = "whose field is it"
ANSWER = "redisson_request:"
ANSWERS_LAST = 20_000
"""The ms: four times the client's command time-out."""


@dataclass
class Owner:
    """Who plays a part: a thread or a task with a client, and its field in the hash of a lock."""

    actor: Any
    client: Any
    field: str


class Replay:
    """One playing of a scenario; `clients` are A and B, `make_actor(part)` makes an owner.

    Within `with` it listens; actors and clients are their makers'. On a server of a cluster
    (`in_cluster`) it is seen by which command a message is published, too.
    """

    def __init__(
        self,
        server: Server,
        clients: dict[str, Any],
        make_actor: Callable[[str], Any],
        *,
        in_cluster: bool = False,
    ) -> None:
        self._server = server
        self._clients = clients
        self._make_actor = make_actor
        self._owners: dict[str, Owner] = {}
        self._waiting: dict[str, Future[Any]] = {}
        self._placeholders = Placeholders()
        self._ear: Listened | Watched = Watched(server) if in_cluster else Listened(server)

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self._ear.close()

    def run(self, steps: tuple[Step, ...]) -> None:
        """Play all steps; raises AssertionError at the first that differs."""
        self._cast(steps)
        for number, step in enumerate(steps):
            try:
                self._play(step)
                self._see_who_woke(steps[number : number + 2])
                self._compare(step)
            except AssertionError as error:
                raise AssertionError(f"step {number} differs: {step}") from error
        self._expect_subscribers({channel: 0 for step in steps for channel in step.subscribed})

    def _cast(self, steps: tuple[Step, ...]) -> None:
        """Make an owner for each part; a separate lock shows the owner's field."""
        for part in sorted({step.by for step in steps if step.by and PART.fullmatch(step.by)}):
            actor, client = self._make_actor(part), self._clients[part[0]]
            lock = client.lock(PROBE)
            actor.do(lock.acquire)
            (field,) = self._server.inspect.hkeys(PROBE)
            actor.do(lock.release)
            assert re.fullmatch(rf"{client.id}:\d+", field.decode())
            self._give_part(part, Owner(actor, client, field.decode()))
        assert len({owner.field for owner in self._owners.values()}) == len(self._owners)
        self._ear.messages()

    def _give_part(self, part: str, owner: Owner) -> None:
        self._owners[part] = owner
        self._placeholders[part] = owner.field

    # ---- doing

    def _play(self, step: Step) -> None:
        commands = by_hand(step)
        if step.op == "wait":
            if gone := IS_GONE.match(step.note):
                self._close_client(gone[1])
            let_pass(step.args["seconds"])  # what the step is about
        elif commands:
            for command in commands:
                self._run_by_hand(command)
        elif step.op == "interrupt":
            self._owners[str(step.by)].actor.cancel()
        else:
            self._call(step, self._owners[str(step.by)])

    def _run_by_hand(self, words: list[Any]) -> None:
        """Run a command, in which `<head>` is the first of those who wait: it is dead."""
        if "<head>" in words:
            head = self._server.inspect.lindex(QUEUE, 0).decode()
            (part,) = (part for part, owner in self._owners.items() if owner.field == head)
            self._close_client(part[0])
            words = [head if word == "<head>" else word for word in words]
        self._server.inspect.execute_command(*words)

    def _close_client(self, which: str) -> None:
        """What waits with this client ends, and stays in line as if its process had been killed."""
        inspect = self._server.inspect
        line = inspect.lrange(QUEUE, 0, -1)
        timeouts = inspect.zrange(TIMEOUTS, 0, -1, withscores=True)
        self._make_actor(which).do(self._clients[which].close)
        inspect.delete(QUEUE, TIMEOUTS)
        if line:
            inspect.rpush(QUEUE, *line)
            inspect.zadd(TIMEOUTS, dict(timeouts))
        self._waiting = {p: future for p, future in self._waiting.items() if p[0] != which}

    def _call(self, step: Step, owner: Owner) -> None:
        future = self._waiting.pop(str(step.by), None)
        if not step.ends_wait:
            # The recordings leave out some ends: who acts again has got the lock.
            assert future is None or future.result(BOUND)
            args = self._placeholders.expect(step.args, {})
            future = begin(replace(step, args=args), owner.actor, owner.client)
        assert future is not None
        if step.waits:
            self._waiting[str(step.by)] = future
            return
        ended = outcome(step, future)
        assert ended == self._placeholders.expect(step.result, ended), f"the outcome was {ended}"

    def _see_who_woke(self, steps: tuple[Step, ...]) -> None:
        """If a waiter acts in the second of two steps, find out who woke, and give him the part."""
        part = str(steps[-1].by)
        if steps[0].waits or steps[-1].op == "interrupt" or part not in self._waiting:
            return
        if steps[-1].in_vain:  # no waiter wakes: time has to pass, after the step was compared
            return
        woken = KINDS[steps[-1].kind].woken
        if woken is Woken.ALL_THAT_MAY:
            wait([self._waiting[part]], timeout=BOUND)
            return
        wait(self._waiting.values(), timeout=BOUND, return_when=FIRST_COMPLETED)
        back = [waiter for waiter, future in self._waiting.items() if future.done()]
        assert len(back) == 1, f"of the waiters {list(self._waiting)} these returned: {back}"
        if woken is Woken.THE_FIRST:
            assert back == [part], f"the first of {list(self._waiting)} was {part}, not {back}"
        self._change_parts(part, back[0])

    def _change_parts(self, one: str, other: str) -> None:
        waiting, owners = self._waiting, self._owners
        waiting[one], waiting[other] = waiting[other], waiting[one]
        former = owners[one]
        self._give_part(one, owners[other])
        self._give_part(other, former)

    # ---- comparing

    def _compare(self, step: Step) -> None:
        expected = self._placeholders.expect(step.published, None)
        published = self._published()
        while step.waits and len(published) < len(expected):
            # The caller may not have done yet what comes before the wait.
            published += eventually(self._published, what=f"{expected}, not only {published}")
        eventually(partial(self._has_keys, step))
        published += self._published()
        if KINDS[step.kind].side_by_side:
            published, expected = sorted(published), sorted(expected)
        assert published == expected, f"published was {published}"
        if step.waits:
            self._expect_subscribers(step.subscribed)
            assert not self._waiting[str(step.by)].done()

    def _has_keys(self, step: Step) -> bool:
        there = keys_on(self._server)
        if KINDS[step.kind].keeps_answers:
            there = _without_answers(there)
        expected = self._placeholders.expect(step.keys, there)
        assert there == expected, f"on the server is {there}, not {expected}"
        return True

    def _published(self) -> tuple[Any, ...]:
        """What was published since it was last asked."""
        return tuple(self._ear.messages())

    def _expect_subscribers(self, numbers: dict[str, int]) -> None:
        for channel, number in self._placeholders.expect(numbers, {}).items():
            eventually(partial(self._has_subscribers, channel, number))

    def _has_subscribers(self, channel: str, number: int) -> bool:
        there = subscribers(self._server, channel)
        assert there == number, f"{there} subscribers of {channel}"
        return True


def _without_answers(there: dict[str, Key]) -> dict[str, Key]:
    answers = {name: key for name, key in there.items() if name.startswith(ANSWER)}
    assert all(0 < key.ttl <= ANSWERS_LAST for key in answers.values())
    return {name: key for name, key in there.items() if name not in answers}
