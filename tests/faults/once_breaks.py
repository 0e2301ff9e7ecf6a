"""Breaks of what runs once, and of the queue that a fair lock lists."""

from __future__ import annotations

from tests.support.breaking import Break

_ONCE = "python/holdfast/_locks/once.py"
_TESTS = "tests/faults/test_once.py::"

ONCE_BREAKS = (
    Break(
        ("changed-key",),
        "a result is kept while another owner holds the lock of its run",
        "lua/once/store.lua",
        (("return gone(KEYS[1], ARGV[1])", "gone(KEYS[1], ARGV[1])"),),
        f"{_TESTS}test_a_run_whose_lock_is_taken_away_keeps_nothing",
    ),
    Break(
        ("server-clock-ahead",),
        "a run that is lost by its client's clock keeps its result",
        _ONCE,
        (("if hold.lost:", "if False:"),),
        f"{_TESTS}test_a_run_that_is_lost_by_its_clients_clock_keeps_nothing",
    ),
    Break(
        ("out-of-memory",),
        "without memory it is not kept either that a function has run",
        "lua/once/store.lua",
        (("if ARGV[4] == '0' then", "if ARGV[4] == '2' then"),),
        "tests/wire/lua/test_once_steps.py::test_without_memory_it_is_kept_that_a_function_has_run",
    ),
    Break(
        ("lasting-refusal",),
        "a lock whose run could not be marked is renewed for as long as its error is kept",
        _ONCE,
        (("        core_of(self.hold.lock).leave_to_lease(self.hold._owner)\n", ""),),
        f"{_TESTS}test_a_lock_whose_mark_is_refused_is_over_with_its_lease",
    ),
    Break(
        (),
        "a run inside of a run of its key waits for itself",
        _ONCE,
        (("if outer is not None and outer._known_count():", "if False:"),),
        "tests/contract/test_once.py::test_a_run_inside_of_a_run_of_its_key_is_refused",
    ),
    Break(
        ("killed-process",),
        "a queue lists waiters that have died",
        "python/holdfast/_locks/waiters.py",
        (("if until.get(owner, now) > now", "if owner in until"),),
        "tests/contract/test_fair_queue.py::test_the_dead_are_left_out_and_waiters_of_redisson_are_not",
    ),
)
