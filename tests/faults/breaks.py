"""Deliberate breaks of the code, and the tests that find them: `--list` prints them.

    python -m tests.faults.breaks lost-reply      # break, build, run the test, put it back
    python -m tests.faults.breaks --build "ninja -C build/dev" all

See tests.support.breaking.
"""

from __future__ import annotations

import sys

from tests.faults.caller_breaks import CALLER_BREAKS
from tests.faults.coordination_breaks import COORDINATION_BREAKS
from tests.faults.deferred_breaks import DEFERRED_BREAKS
from tests.faults.fencing_breaks import FENCING_BREAKS
from tests.faults.leader_breaks import LEADER_BREAKS
from tests.faults.loop_breaks import LOOP_BREAKS
from tests.faults.once_breaks import ONCE_BREAKS
from tests.faults.renewal_breaks import RENEWAL_BREAKS
from tests.faults.stream_breaks import STREAM_BREAKS
from tests.faults.tracking_breaks import TRACKING_BREAKS
from tests.faults.trio_breaks import TRIO_BREAKS
from tests.support.breaking import Break, main

BREAKS = (
    Break(
        ("killed-process",),
        "a grant sets no time to live",
        "lua/_lock/hold.lua",
        (("if rises then", "if rises and ttl ~= -2 then"),),
        "tests/faults/test_holder.py::test_a_killed_holders_lock_is_taken_when_it_expires",
    ),
    Break(
        ("stopped-process",),
        "a hold is trusted for twice its lease",
        "cpp/locks/lease/hold.cpp",
        (
            (
                "set_lease(grant.sent, grant.lease.time",
                "set_lease(grant.sent, 2 * grant.lease.time",
            ),
        ),
        "tests/faults/test_holder.py::test_no_moment_past_the_lease_says_held",
    ),
    Break(
        ("suspended-machine",),
        "a clock that stands still while the machine sleeps",
        "cpp/redis/base/clock.h",
        (("== 0) return CLOCK_BOOTTIME;", "== 0) return CLOCK_MONOTONIC;"),),
        "tests/faults/test_clocks.py::test_a_machine_that_slept_past_the_lease_knows_it",
    ),
    Break(
        ("ended-owner",),
        "a thread's holds outlive it",
        "cpp/locks/lease/lease_keeper.cpp",
        (
            (
                "holds.of(owner)) {\n    const UsedEntry",
                "holds.of(OwnerNumber{})) {\n    const UsedEntry",
            ),
        ),
        "tests/contract/process/test_threads.py::test_renewal_stops_when_the_thread_ends",
    ),
    Break(
        ("error-in-block",),
        "an error of the release replaces the body's",
        "cpp/bindings/native_object.h",
        (("if (body == nullptr || !error.matches(ours)) throw;", "throw;"),),
        "tests/contract/test_with.py::test_an_error_of_the_body_is_never_masked_by_the_release",
    ),
    Break(
        ("forgotten-client",),
        "a client without references lives on",
        "python/holdfast/_clients/base.py",
        (
            (
                "            self._warn_of(self._core.close().names)",
                "            _forgotten.append(self._core)",
            ),
            ("class _AtEnd:", "_forgotten: list[Any] = []\n\n\nclass _AtEnd:"),
        ),
        "tests/contract/process/test_threads.py::test_a_client_that_is_forgotten_stops_renewing",
    ),
    Break(
        ("forked-process",),
        "fork is not noticed",
        "cpp/redis/base/process.cpp",
        (("g_epoch.fetch_add(1, ", "g_epoch.fetch_add(0, "),),
        "tests/faults/test_fork.py::test_fork_while_holding",
    ),
    Break(
        ("interpreter-exit",),
        "the names of the remaining holds are not reported",
        "python/holdfast/_clients/base.py",
        (("        if held:\n", "        if held and not held:\n"),),
        "tests/contract/process/test_exit.py::test_exit_names_what_was_held",
    ),
    Break(
        ("interpreter-exit",),
        "threads come back from the engine while the interpreter ends",
        "cpp/bindings/waiting.cpp",
        (("const bool stays = exiting();", "const bool stays = false;"),),
        "tests/contract/test_on_lost.py::test_a_waiting_daemon_thread_is_silent_at_exit",
    ),
    Break(
        ("interrupted-acquire",),
        "an acquire that is cancelled in flight is not undone",
        "cpp/locks/sync/operation/acquire_machine.cpp",
        (("finish(Verdict::kCancelled, {}, open())", "finish(Verdict::kCancelled, {}, false)"),),
        "tests/faults/test_interrupt.py::test_ctrl_c_while_the_acquire_is_in_flight",
    ),
    Break(
        ("interrupted-acquire",),
        "bytecode runs between the grant and the return of `with`",
        "python/holdfast/_locks/lock.py",
        (
            ("    @native(_core.BlockingLock.__enter__)\n", ""),
            (
                'then raises ``LockTimeout``."""\n        raise NotImplementedError',
                'then raises ``LockTimeout``."""\n        return super().__enter__()',
            ),
        ),
        "tests/faults/test_interrupted_blocks.py::test_an_interrupted_block_holds_no_lock",
    ),
    Break(
        ("crossing-renewal",),
        "renewal goes on while the release is on its way",
        "cpp/locks/lease/holds.h",
        (
            (
                "    entry.hold->state = HoldState::kReleasing;\n"
                "    entry.hold->stop_renewing();\n",
                "",
            ),
        ),
        "tests/faults/test_network.py::test_renewals_that_cross_a_release_tell_no_loss",
    ),
    Break(
        ("reused-thread-id",),
        "owners' numbers are used again",
        "cpp/redis/base/types.cpp",
        (
            (
                "fetch_add(static_cast<std::uint64_t>(count))}",
                "fetch_add(static_cast<std::uint64_t>(count)) % 4 + 1}",
            ),
        ),
        "tests/contract/process/test_threads.py::test_a_threads_number_is_never_used_again",
    ),
    Break(
        ("busy-gil", "many-holds"),
        "nothing is renewed",
        "cpp/locks/lease/hold_book.cpp",
        (
            (
                "const bool renew = hold.renewed() && !due &&",
                "const bool renew = hold.renewed() && due &&",
            ),
        ),
        "tests/contract/process/test_threads.py::test_renewed_while_python_holds_the_gil",
    ),
    Break(
        ("connection-reset", "restart-without-data"),
        "holds are not verified after a reconnect",
        "cpp/locks/lease/watchdog.cpp",
        (("  verify_ = true;", "  verify_ = false;"),),
        "tests/faults/test_network.py::test_after_a_cut_holds_are_verified_at_once",
    ),
    Break(
        ("silent-network",),
        "only an answer tells a loss, no deadline does",
        "cpp/locks/lease/watchdog.cpp",
        (("if (now >= hold.trusted()) {", "if (now >= hold.trusted() && hold.serial == 0) {"),),
        "tests/faults/test_network.py::test_a_black_hole_is_reported_at_the_deadline",
    ),
    Break(
        ("lost-subscription",),
        "no waiter tries when the subscription is back",
        "cpp/locks/wait/wait_registry.cpp",
        (("queue.fairness_yield = {};\n  queue.notify(calls);", "queue.fairness_yield = {};"),),
        "tests/faults/test_network.py::test_released_just_as_the_subscription_dies",
    ),
    Break(
        ("lost-message",),
        "only a message wakes a waiter",
        "cpp/locks/sync/operation/acquire_machine.cpp",
        (
            (
                "ttl.count() < 0 ? kNoTtl : ttl + kAfterExpiry",
                "ttl.count() < 0 ? kNoTtl : 100 * ttl + kAfterExpiry",
            ),
        ),
        "tests/faults/test_subscriptions.py::test_a_lost_message_costs_no_more_than_the_lease",
    ),
    Break(
        ("lost-reply",),
        "acquire adds to the count",
        "lua/_lock/hold.lua",
        (
            (
                "redis.call('hset', KEYS[1], ARGV[1], ARGV[3])",
                "redis.call('hincrby', KEYS[1], ARGV[1], 1)",
            ),
        ),
        "tests/faults/test_lost_replies.py::test_acquire_and_reentry_count_once",
    ),
    Break(
        ("lost-release",),
        "a repeated release that finds nothing is a loss",
        "cpp/locks/sync/operation/hold_release.h",
        (("&& sent_before_ && now() < plan_.trusted", "&& now() < TimePoint{}"),),
        "tests/faults/test_lost_replies.py::test_partial_and_final_release_count_once",
    ),
    Break(
        ("slow-link",),
        "the caller's time is over before the first reply",
        "cpp/locks/sync/operation/acquire_machine.cpp",
        (
            (
                "return {Action::Verb::kTry, contended_ ? options_.deadline : kNever};",
                "return {Action::Verb::kTry, options_.deadline};",
            ),
            (
                "if (now >= options_.deadline && (contended_ || !trying)) {",
                "if (now >= options_.deadline) {",
            ),
        ),
        "tests/faults/test_lost_replies.py::test_a_slow_way_is_slower_and_nothing_else",
    ),
    Break(
        ("slow-subscriber", "restart-with-data"),
        "a new connection subscribes to nothing",
        "cpp/redis/client/subscription_stream.cpp",
        (("for (const std::string& channel : channels_) say(true, channel);", ""),),
        "tests/faults/test_server.py::test_a_slow_consumer_is_cut_off_and_comes_back",
    ),
    Break(
        ("stalled-server",),
        "a failed renewal waits for the next third of the lease",
        "cpp/locks/lease/watchdog.cpp",
        (("std::min<Duration>(kRetryAfter, Duration(lease) / 12)", "Duration(lease) / 3"),),
        "tests/faults/test_server.py::test_a_refused_renewal_is_tried_again_soon",
    ),
    Break(
        ("script-flush",),
        "NOSCRIPT is an error like others",
        "cpp/redis/resp/error_reply.cpp",
        (('== "NOSCRIPT"', '== "UNKNOWN"'),),
        "tests/faults/test_server.py::test_script_flush",
    ),
    Break(
        ("out-of-memory",),
        "the last release writes before it deletes",
        "lua/lock/release.lua",
        (("if ARGV[2] == '0' then", "redis.call('hset', KEYS[1], '', 0)\nif ARGV[2] == '0' then"),),
        "tests/faults/test_memory.py::test_renewal_and_release_take_no_memory",
    ),
    Break(
        ("passing-refusal",),
        "a try is as patient as a wait",
        "cpp/locks/sync/operation/callers_time.h",
        (("return waits_ ? command_timeout :", "return !waits_ || waits_ ? command_timeout :"),),
        "tests/faults/test_refusing_server.py::test_a_try_names_the_state_soon",
    ),
    Break(
        ("lasting-refusal",),
        "missing rights are waited for",
        "cpp/redis/resp/error_reply.cpp",
        (('{"UNBLOCKED", ', '{"NOPERM", '),),
        "tests/faults/test_refused.py::test_missing_rights",
    ),
    Break(
        ("passing-refusal", "lasting-refusal"),
        "a release is given up when the server has another password",
        "cpp/redis/resp/error_reply.cpp",
        (('{"WRONGPASS", kLogin}', '{"WRONGPASS", 0U}'),),
        "tests/faults/test_refused_releases.py::test_a_release_outlives_a_change_of_the_password",
    ),
    Break(
        ("changed-key",),
        "renewal does not look whose lock it is",
        "lua/lock/renew.lua",
        (
            (
                "if redis.call('hexists', key, owner) == 1 then",
                "if redis.call('hexists', key, owner) < 7 then",
            ),
        ),
        "tests/wire/lua/test_lock_steps.py::test_renew_by_another_changes_nothing",
    ),
    Break(
        ("missing-commands",),
        "a waiter gets no error when it may not subscribe",
        "cpp/locks/wait/wait_registry.cpp",
        (("  found->second.fail(calls, why);\n", "  (void)why;\n"),),
        "tests/faults/test_subscriptions.py"
        "::test_a_user_without_the_right_to_subscribe_gets_an_error_when_it_waits",
    ),
    Break(
        ("failed-members",),
        "a majority out of reach is not kept apart from a slow one",
        "cpp/locks/sync/quorum/quorum_machine.cpp",
        (
            (
                "if (reached < options_.rule.needed) return",
                "if (reached > options_.rule.members) return",
            ),
        ),
        "tests/faults/test_quorum.py"
        "::test_a_majority_that_fails_is_an_error_and_not_held_by_another",
    ),
    Break(
        ("failed-members",),
        "a member that hangs ends a release before its second step",
        "cpp/locks/sync/quorum/fan_out_call.cpp",
        (("      leave_missing();\n", "      leave_missing();\n      plan_.next = nullptr;\n"),),
        "tests/faults/test_quorum.py::test_a_lost_majority_is_released_though_a_minority_hangs",
    ),
    Break(
        ("server-clock-ahead",),
        "a renewal that finds nothing is no loss",
        "cpp/locks/lease/watchdog.cpp",
        (("if (hold.may_be_gone()) {", "if (hold.may_be_gone() || hold.held()) {"),),
        "tests/faults/test_clocks.py::test_a_server_clock_that_jumps_ahead_is_reported_as_a_loss",
    ),
    Break(
        ("server-clock-back",),
        "the length of a lease is not checked",
        "cpp/locks/sync/operation/acquire_machine.cpp",
        (("answer.ttl > usual;", "answer.ttl < Millis(-1);"),),
        "tests/faults/test_clocks.py::test_a_lease_that_a_server_clock_made_too_long_is_reported",
    ),
    Break(
        ("client-clock-set",),
        "leases are counted on the wall clock",
        "cpp/redis/base/clock.h",
        (("== 0) return CLOCK_BOOTTIME;", "== 0) return CLOCK_REALTIME;"),),
        "tests/faults/test_clocks.py::test_a_step_of_the_clients_wall_clock_changes_nothing",
    ),
    Break(
        ("wrong-release",),
        "the last release does not look whose hold it is",
        "lua/lock/release.lua",
        (
            (
                "if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then",
                "if redis.call('del', KEYS[1]) == 0 then",
            ),
        ),
        "tests/contract/test_release.py::test_a_late_release_leaves_the_new_owner_alone",
    ),
    Break(
        ("expired-on-arrival",),
        "a grant that arrives past its lease is taken",
        "cpp/locks/sync/operation/acquire_machine.cpp",
        (
            (
                "if (now >= trusted_until_) return finish(",
                "if (trusted_until_ == TimePoint{}) return finish(",
            ),
        ),
        "tests/faults/test_network.py::test_a_lease_shorter_than_the_way_is_no_grant",
    ),
    Break(
        ("many-waiters",),
        "a message wakes every waiter",
        "cpp/locks/wait/wait_registry.cpp",
        (
            (
                "if (fairness_yield == TimePoint{}) {\n    calls.signal(waiters.front());",
                "if (fairness_yield == TimePoint{}) {\n"
                "    for (const WaiterPtr& each : waiters) calls.signal(each);",
            ),
        ),
        "tests/contract/test_waiting.py::test_one_message_makes_one_waiter_try",
    ),
    Break(
        ("many-waiters",),
        "each message makes every client try",
        "cpp/locks/sync/recipes/backoff.h",
        (("if (others < kMany) return;", "if (others < 1'000'000) return;"),),
        "tests/contract/test_waiting.py"
        "::test_commands_for_short_holds_do_not_grow_with_the_clients",
    ),
    Break(
        ("forgotten-hold",),
        "a hold that was collected is renewed",
        "python/holdfast/_locks/lock.py",
        (("_core.owner_ended(self._owner,", "_core.owner_ended(2**63,"),),
        "tests/contract/test_hold.py::test_a_collected_hold_expires_with_its_lease",
    ),
    Break(
        ("passed-on-hold",),
        "a hold whose detach has no answer is released under one owner",
        "cpp/locks/lease/releases.cpp",
        (("if (hold.move() != nullptr) plan.other = hold.move()->other;", ""),),
        "tests/faults/test_passing_on.py"
        "::test_a_detach_without_an_answer_leaves_the_hold_to_its_lease",
    ),
    Break(
        ("minimum-hold-time",),
        "a lock is freed before its minimum hold time",
        "cpp/locks/sync/recipes/recipe.cpp",
        (("if (step.stays > Millis(0) &&", "if (step.stays < Millis(0) &&"),),
        "tests/contract/test_at_least.py::test_no_owner_enters_before_the_minimum_is_over",
    ),
    *CALLER_BREAKS,
    *COORDINATION_BREAKS,
    *DEFERRED_BREAKS,
    *FENCING_BREAKS,
    *LEADER_BREAKS,
    *ONCE_BREAKS,
    *LOOP_BREAKS,
    *TRIO_BREAKS,
    *STREAM_BREAKS,
    *RENEWAL_BREAKS,
    *TRACKING_BREAKS,
)


if __name__ == "__main__":
    sys.exit(main(BREAKS))
