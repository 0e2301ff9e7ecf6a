"""Breaks of slots and of barriers, and of the steps that they are built on."""

from __future__ import annotations

from tests.support.breaking import Break

_SLOTS = "tests/wire/lua/test_slots_steps.py::"
_SLOTS_PY = "python/holdfast/_locks/slots.py"
_STEPS = "python/holdfast/_locks/steps.py"
_TIME = "tests/faults/test_callers_time.py::"
_CLOSING = "tests/faults/test_slots.py::test_a_client_that_closes_before_the_caller_has_its_slot_"
_BARRIER = "tests/wire/lua/test_barrier_steps.py::"

COORDINATION_BREAKS = (
    Break(
        ("lost-reply",),
        "a slot whose reply is lost is granted a second time",
        "lua/slots/take.lua",
        (("if owner == permit then", "if not permit then"),),
        f"{_SLOTS}test_a_repeat_has_the_same_slot_and_token",
    ),
    Break(
        (),
        "slots with other values are granted",
        "lua/slots/take.lua",
        (("if of.values and of.values ~= ARGV[3] then", "if not of then"),),
        f"{_SLOTS}test_a_refusal_changes_nothing",
    ),
    Break(
        (),
        "a permit whose slot is refused is kept",
        _SLOTS_PY,
        (
            (
                "                self._agreed(table, reply)\n",
                "                grant.keeping.pass_on()\n"
                "                self._agreed(table, reply)\n",
            ),
        ),
        "tests/faults/test_slots.py::test_a_refused_slot_leaves_nothing_behind",
    ),
    Break(
        ("interrupted-acquire",),
        "what a call has taken is not given back where its next exchange fails",
        "cpp/locks/sync/operation/keeping.cpp",
        (("  acquire_->cancel();\n", ""),),
        "tests/faults/test_slots.py::test_a_refused_slot_leaves_nothing_behind",
    ),
    Break(
        ("grant-at-close",),
        "close() leaves to its lease what a call has taken between two exchanges",
        "cpp/locks/sync/operation/keeping.cpp",
        (("  for (const ExchangePtr& each : granted) each->cancel();\n", ""),),
        f"{_CLOSING}gives_it_back",
    ),
    Break(
        ("grant-at-close",),
        "what close() has given back is kept by its caller",
        "cpp/locks/sync/operation/keeping.cpp",
        (("  if (!use(true)) return false;\n", "  (void)use(true);\n"),),
        f"{_CLOSING}gives_it_back",
    ),
    Break(
        ("grant-at-close",),
        "close() releases the lock of a run while its function works",
        "python/holdfast/_locks/once.py",
        (("                attempt.keeping.begin_use()\n", "                pass\n"),),
        "tests/faults/test_once.py::test_a_run_goes_on_under_its_lock_when_its_client_is_closed",
    ),
    Break(
        ("killed-process",),
        "a slot is asked for by the values that its object has by then",
        _SLOTS_PY,
        (
            (
                "(grant.raw(), *table.terms, grant.who())",
                "(grant.raw(), *self._table.terms, grant.who())",
            ),
        ),
        "tests/contract/test_slots.py"
        "::test_a_resize_beside_an_acquire_of_one_object_gives_no_value_twice",
    ),
    Break(
        ("expired-wait",),
        "a step has the command time-out, whatever time its call has",
        _STEPS,
        (
            (
                "script, list(keys), encoded(args), time)",
                "script, list(keys), encoded(args), without_limit(core))",
            ),
        ),
        f"{_TIME}test_an_exchange_of_a_call_ends_with_the_time_of_its_call",
    ),
    Break(
        ("nothing-listens",),
        "a wait of no time is a wait that is over",
        "cpp/locks/sync/operation/callers_time.h",
        (("return blocking && timeout > Duration::zero();", "return blocking;"),),
        f"{_TIME}test_a_wait_of_no_time_waits_for_the_answer",
    ),
    Break(
        ("killed-process",),
        "a party that has died counts for ever",
        "lua/barrier/arrive.lua",
        (("if of.dead_waiting > 0 then", "if not of then"),),
        f"{_BARRIER}test_a_dead_party_breaks_it_for_who_comes_next",
    ),
    Break(
        (),
        "a party that leaves lets the others wait",
        "lua/barrier/release.lua",
        (("if waits or of.dead_waiting > 0 then", "if of.dead_waiting > 0 then"),),
        f"{_BARRIER}test_a_party_that_leaves_while_it_waits_breaks_it",
    ),
    Break(
        ("killed-process",),
        "a party that leaves removes one that has died, and nothing else",
        "lua/barrier/release.lua",
        (("if waits or of.dead_waiting > 0 then", "if waits then"),),
        f"{_BARRIER}test_a_late_party_of_the_last_round_that_finds_a_dead_one_breaks_it",
    ),
    Break(
        (),
        "the keys of a barrier go while a party that is renewed waits",
        "lua/barrier/renew.lua",
        (("'party:' .. permit) == 1 then", "'party:' .. permit) == 2 then"),),
        f"{_BARRIER}test_parties_that_are_renewed_keep_their_keys",
    ),
    Break(
        (),
        "a barrier of another kind's name gives that an end",
        "lua/barrier/release.lua",
        (("if not lives and free >= FEWEST then", "if not lives then"),),
        f"{_BARRIER}test_the_semaphore_of_another_kind_gets_its_permit_back_and_no_end",
    ),
    Break(
        ("killed-process",),
        "the others look late for a party with a shorter lease",
        "lua/barrier/arrive.lua",
        (("if not said[4] or of.next_end < said[4] + 0 then", "if not said[4] then"),),
        f"{_BARRIER}test_a_shorter_lease_is_announced",
    ),
)
