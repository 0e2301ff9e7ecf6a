"""Breaks of slots and of barriers."""

from __future__ import annotations

from tests.support.breaking import Break

_SLOTS = "tests/wire/lua/test_slots_steps.py::"
_BARRIER = "tests/wire/lua/test_barrier_steps.py::"

COORDINATION_BREAKS = (
    Break(
        (17,),
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
        "python/holdfast/_locks/slots.py",
        (
            (
                "            except BaseException:\n                self._give_back(permits)\n",
                "            except BaseException:\n",
            ),
        ),
        "tests/faults/test_slots.py::test_a_refused_slot_leaves_nothing_behind",
    ),
    Break(
        (1,),
        "a party that has died counts for ever",
        "lua/barrier/arrive.lua",
        (("if of.dead_waiting > 0 then", "if not of then"),),
        f"{_BARRIER}test_a_dead_party_breaks_it_for_who_comes_next",
    ),
    Break(
        (),
        "a party that leaves lets the others wait",
        "lua/barrier/leave.lua",
        (
            (
                "  break_barrier(KEYS[3], of, KEYS[4], ARGV[3])\n",
                "  redis.call('hset', KEYS[3], own, KEYS[4] .. ARGV[3])\n",
            ),
        ),
        f"{_BARRIER}test_a_party_that_leaves_while_it_waits_breaks_it",
    ),
    Break(
        (1,),
        "the others look late for a party with a shorter lease",
        "lua/barrier/arrive.lua",
        (("if not said[4] or of.next_end < said[4] + 0 then", "if not said[4] then"),),
        f"{_BARRIER}test_a_shorter_lease_is_announced",
    ),
)
