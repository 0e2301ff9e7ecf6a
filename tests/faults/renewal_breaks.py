"""Breaks of the batches in which holds are renewed."""

from __future__ import annotations

from tests.support.breaking import Break

_STEPS = "tests/lua/test_renewals.py::"

RENEWAL_BREAKS = (
    Break(
        (28,),
        "a batch has one owner for all its holds",
        "lua/lock/renew.lua",
        (("local owner = ARGV[i + 1]", "local owner = ARGV[2]"),),
        f"{_STEPS}test_all_locks_of_a_batch_are_renewed",
    ),
    Break(
        (28,),
        "a batch says of another hold that it is gone",
        "lua/lock/renew.lua",
        (("lost[#lost + 1] = i", "lost[#lost + 1] = 1"),),
        f"{_STEPS}test_the_numbers_of_locks_that_are_not_held_are_the_answer",
    ),
    Break(
        (28,),
        "a batch of readers renews the first one only",
        "lua/read_write_lock/read_renew.lua",
        (("renew(KEYS[3 * i - 2], KEYS[3 * i - 1],", "renew(KEYS[1], KEYS[2],"),),
        f"{_STEPS}test_each_reader_of_a_batch_learns_what_it_had_left",
    ),
    Break(
        (28,),
        "a batch of permits takes one that has expired for renewed",
        "lua/permit_semaphore/renew.lua",
        (("lost[#lost + 1] = i", "lost[#lost] = nil"),),
        f"{_STEPS}test_each_permit_of_a_batch_is_renewed_or_gone",
    ),
)
