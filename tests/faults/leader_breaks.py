"""Breaks of leader election, and of the states that it is built on."""

from __future__ import annotations

from tests.support.breaking import Break

_THREADS = "python/holdfast/_locks/leader.py"
_TASKS = "python/holdfast/_locks/task_leader.py"
_STEPS = "tests/wire/lua/test_leader_steps.py::"
_TESTS = "tests/faults/test_leader.py::"

LEADER_BREAKS = (
    Break(
        ("changed-key",),
        "a leader is announced that does not hold the lock",
        "lua/leader/set.lua",
        (("if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then", "if false then"),),
        f"{_STEPS}test_no_other_is_announced",
    ),
    Break(
        ("lost-reply",),
        "the repeat of a value is announced, and a late copy sets it back",
        "lua/leader/set.lua",
        (("tonumber(known[2]) >= tonumber(ARGV[3])", "false"),),
        f"{_STEPS}test_a_repeat_and_a_late_copy_change_and_announce_nothing",
    ),
    Break(
        (),
        "what a leader that died has left stays for ever",
        "lua/leader/set.lua",
        (("redis.call('pexpire', KEYS[2], ARGV[5])\n", ""),),
        f"{_STEPS}test_the_state_of_a_leader_that_died_expires",
    ),
    Break(
        ("killed-process",),
        "a leader is shown that does not hold the lock any more",
        "lua/_revision/now.lua",
        (("if redis.call('hexists', lock, fields[2]) == 0 then", "if false then"),),
        f"{_STEPS}test_the_state_of_a_dead_leader_is_over_with_its_lock",
    ),
    Break(
        (),
        "a change of a state is announced to no observer",
        "lua/_revision/change.lua",
        (("  notify(publish, channel, revision)\n", ""),),
        f"{_STEPS}test_an_owner_of_the_lock_is_announced",
    ),
    Break(
        ("changed-key",),
        "a leader that cannot be announced keeps the lock",
        _THREADS,
        (
            (
                "            yield from self._announce(hold, self._value, time)\n",
                "            attempt.keep()\n"
                "            yield from self._announce(hold, self._value, time)\n",
            ),
        ),
        f"{_TESTS}test_a_leader_that_cannot_be_announced_gives_the_lock_back",
    ),
    Break(
        ("interrupted-acquire",),
        "a candidate that is cancelled while it is announced leads",
        _THREADS,
        (
            (
                "return keeping("
                "hold._core.acquire(owner, True, -1.0, ms, renewed, listener, time))",
                "attempt = keeping("
                "hold._core.acquire(owner, True, -1.0, ms, renewed, listener, time))\n"
                "        attempt.keep()\n"
                "        return attempt",
            ),
        ),
        f"{_TESTS}test_a_candidate_that_is_cancelled_while_it_is_announced_leads_no_more",
    ),
    Break(
        (),
        "a leader that releases its lock is shown further",
        "lua/leader/release.lua",
        (("if redis.pcall('hget', KEYS[3], 'owner') == ARGV[1] then", "if false then"),),
        f"{_STEPS}test_a_release_frees_the_lock_and_withdraws_the_leader",
    ),
    Break(
        (),
        "the release of a leader does not look whose state it withdraws",
        "lua/leader/release.lua",
        (
            (
                "if redis.pcall('hget', KEYS[3], 'owner') == ARGV[1] then",
                "if redis.pcall('hget', KEYS[3], 'owner') then",
            ),
        ),
        f"{_STEPS}test_a_late_copy_of_a_release_leaves_the_next_leader_alone",
    ),
    Break(
        (),
        "an observer does not hear that the lock is released",
        _THREADS,
        (("changes(client, name, led=True)", "changes(client, name)"),),
        "tests/contract/test_leader_watch.py"
        "::test_a_watch_sees_a_leadership_that_ends_without_a_resignation",
    ),
    Break(
        ("changed-key",),
        "the task of a leader goes on after the loss",
        _TASKS,
        (("self._term.cancel()", "pass"),),
        "tests/contract/test_leader.py::test_run_cancels_main_at_the_loss",
    ),
    Break(
        ("forked-process",),
        "a child of fork() campaigns for its parent",
        _THREADS,
        (("epoch, own = _core.epoch(), ref(campaign)", "epoch, own = 0, ref(campaign)"),),
        f"{_TESTS}test_a_child_of_fork_is_a_candidate_while_its_parent_campaigns",
    ),
    Break(
        ("interrupted-acquire",),
        "a campaign that is interrupted as it ends goes on for ever",
        "python/holdfast/_locks/leader.py",
        (("            campaign.over = True\n", ""),),
        "tests/faults/test_leader.py"
        "::test_a_campaign_that_is_interrupted_as_it_ends_can_be_begun_again",
    ),
)
