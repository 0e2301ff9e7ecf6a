"""Deliberate breaks of what follows a service or a cluster, and the tests that find them.

    python -m tests.deployments.breaks --build "ninja -C build/dev" all --servers redis

As tests.faults.breaks, whose faults are those of docs/faults.md.
"""

from __future__ import annotations

import sys

from tests.support.breaking import Break, main

FAILOVERS = "tests/deployments/test_sentinel_failover.py"
CLUSTER_FAILOVERS = "tests/deployments/test_cluster_failover.py"
SLOTS = "tests/deployments/test_cluster_slots.py"
SENTINELS = "tests/deployments/test_sentinels.py"
REPLICAS = "tests/deployments/test_replicas.py"
FORK = "tests/deployments/test_fork.py"
GUARD = "tests/deployments/test_guard.py"
MANAGED = "tests/deployments/test_managed.py"
REPLACED = "tests/deployments/test_replaced_node.py"

BREAKS = (
    Break(
        ("failover-with-lock",),
        "what the sentinels announce is not heard",
        "cpp/redis/topology/sentinel_stream.cpp",
        (('if (reply.text_at(0) == "message" && ours)', "if (service_.empty() && ours)"),),
        f"{FAILOVERS}::test_a_hold_and_a_waiter_survive",
    ),
    Break(
        ("killed-process",),
        "a guard does not look for the primary",
        "cpp/guard/releases.cpp",
        (
            ("setup.endpoint = endpoint;", "setup.endpoint.addresses = endpoint.addresses;"),
            ("= endpoint.addresses.front()", "= *settings.primary"),
        ),
        f"{GUARD}::test_it_finds_the_primary_of_a_failover_that_the_program_did_not_see",
    ),
    Break(
        ("killed-process",),
        "a guard knows no seeds of a cluster",
        "cpp/guard/enrolment.cpp",
        (("servers.insert(servers.begin(), first.begin(), first.end());", "servers = first;"),),
        f"{GUARD}::test_it_finds_the_primary_that_follows_one_of_a_cluster_that_ended_with_the_program",
    ),
    Break(
        ("hidden-failover",),
        "a refusal is no sign of another server",
        "cpp/redis/topology/server_links.cpp",
        (
            (
                "is_sign = resp::says_readonly;",
                "is_sign = [](std::string_view) { return false; };",
            ),
        ),
        f"{MANAGED}::test_a_lock_is_acquired_and_released",
    ),
    Break(
        ("hidden-failover",),
        "the server is not asked whether it is a replica",
        "cpp/redis/client/stream_reader.cpp",
        (("if (of_replica && pipe.role == Role::kPrimary) {", "if (pipe.given_up()) {"),),
        f"{MANAGED}::test_one_refusal_of_a_proxy_costs_no_connection",
    ),
    Break(
        ("replaced-node",),
        "a redirection to where it was asked is followed",
        "cpp/redis/topology/cluster_node.cpp",
        (("return to_itself || ", "return "),),
        f"{REPLACED}::test_a_release_reaches_the_new_node",
    ),
    Break(
        ("several-addresses",),
        "the next address is tried when the first has failed only",
        "cpp/redis/net/socket_transport.cpp",
        (
            (
                "(race_.empty() || SystemClock().now() >= next_at_)) begin_next();",
                "race_.empty()) begin_next();",
            ),
        ),
        "tests/faults/test_addresses.py::test_the_second_address_is_used_while_the_first_is_silent",
    ),
    Break(
        ("restart-without-data",),
        "a waiter for permits sleeps as long as the lease that it knows",
        "cpp/locks/sync/operation/acquire_request.cpp",
        (("request.setup != nullptr", "false"),),
        "tests/faults/test_lost_permits.py::test_a_waiter_of_another_client_is_granted_one",
    ),
    Break(
        ("failover-without-lock",),
        "holds are not verified after a reconnect",
        "cpp/locks/engine/client.cpp",
        (("strong->watchdog().verify();", "(void)strong;"),),
        f"{FAILOVERS}::test_a_failover_that_loses_the_lock_is_reported_to_its_owner",
    ),
    Break(
        ("old-primary",),
        "once named, a primary stays",
        "cpp/redis/topology/sentinel_machine.cpp",
        (("if (settled && believed->epoch <= epoch_) return;", "if (settled) return;"),),
        f"{FAILOVERS}::test_a_primary_that_was_cut_off_is_left_though_it_still_answers",
    ),
    Break(
        ("old-primary",),
        "a move verifies nothing",
        "cpp/redis/topology/server_links.cpp",
        (("if (verify) verify();", "(void)verify;"),),
        f"{SENTINELS}::test_what_was_missed_while_no_sentinel_could_be_reached_is_made_good",
    ),
    Break(
        ("passing-refusal",),
        "READONLY is an answer",
        "cpp/redis/client/stream_reader.cpp",
        (("if (must_be_primary && of", "if (must_be_primary && now == kNever && of"),),
        f"{FAILOVERS}::test_a_demoted_primary_is_not_written_to",
    ),
    Break(
        ("passing-refusal",),
        "a replica is taken for a primary",
        "cpp/redis/client/greeting.cpp",
        (("if (role_ == Role::kReplica", "if (role_ == Role::kUnknown"),),
        f"{FAILOVERS}::test_a_demoted_primary_is_not_written_to",
    ),
    Break(
        ("failover-with-lock",),
        "a primary that cannot be reached is no reason to ask",
        "cpp/redis/topology/sentinel.cpp",
        (("strong->doubt();", "(void)strong;"),),
        f"{SENTINELS}::test_a_failover_is_followed_though_its_messages_are_lost",
    ),
    Break(
        ("failover-with-lock",),
        "further sentinels are not learnt",
        "cpp/redis/topology/sentinel_machine.cpp",
        (
            (
                "  learn(std::vector<net::Address>(sentinel->opinion.others), actions);\n",
                "  if (doubt_) learn(sentinel->opinion.others, actions);\n",
            ),
        ),
        f"{SENTINELS}::test_one_sentinel_leads_to_all",
    ),
    Break(
        ("lasting-refusal",),
        "sentinels are sent the servers' password",
        "cpp/redis/topology/sentinel.cpp",
        (("setup.endpoint.sentinel_credentials", "setup.endpoint.credentials"),),
        f"{SENTINELS}::test_sentinels_have_a_separate_password",
    ),
    Break(
        ("failover-with-lock",),
        "a closed client goes on watching",
        "cpp/redis/topology/sentinel.cpp",
        (("  watch_->close();\n", ""),),
        f"{SENTINELS}::test_a_closed_client_leaves_the_sentinels",
    ),
    Break(
        ("moved-slot",),
        "the end of a subscription is not noticed",
        "cpp/redis/client/subscription_stream.cpp",
        (("    sink.on_redirected(channel, {});\n", ""),),
        f"{SLOTS}::test_a_waiter_is_woken_from_the_new_server",
    ),
    Break(
        ("moved-slot",),
        "MOVED is an answer",
        "cpp/redis/topology/cluster.cpp",
        (
            (
                "if (to.kind == Kind::kNone) return false;\n  Deliveries",
                "if (true) return false;\n  Deliveries",
            ),
        ),
        f"{SLOTS}::test_a_holder_follows_its_slot",
    ),
    Break(
        ("moved-slot",),
        "ASKING is left out",
        "cpp/redis/topology/cluster.cpp",
        (("there.asking = asking;", "there.asking = false;"),),
        f"{SLOTS}::test_a_key_that_has_gone_ahead_is_asked_for",
    ),
    Break(
        ("failover-with-lock",),
        "a server out of reach is no reason to ask around",
        "cpp/redis/topology/cluster.cpp",
        (("  refresh_.want_after_trouble(clock_.now());\n", ""),),
        f"{CLUSTER_FAILOVERS}::test_a_hold_survives_the_death_of_its_primary",
    ),
    Break(
        ("failover-without-lock",),
        "what a cluster has lost is not looked after",
        "cpp/redis/topology/cluster.cpp",
        (
            ("  if (setup_.on_lost) setup_.on_lost();\n}", "}"),
            ("if (changed && setup_.on_lost) setup_.on_lost();", "(void)changed;"),
        ),
        f"{CLUSTER_FAILOVERS}::test_a_hold_that_was_not_copied_is_reported_lost",
    ),
    Break(
        ("moved-slot",),
        "a write that is sent on leaves its WAIT behind",
        "cpp/redis/topology/cluster.cpp",
        (("  if (follow_up) (void)connection.resubmit({follow_up});", "  (void)follow_up;"),),
        f"{REPLICAS}::test_a_slot_that_moves_can_be_granted",
    ),
    Break(
        ("moved-slot",),
        "a server that is met on the way is spoken to without TLS",
        "cpp/redis/topology/cluster_node.cpp",
        (
            (
                "  setup.link.address = address;\n",
                "  setup.link.address = address;\n  setup.link.tls = {};\n",
            ),
        ),
        "tests/deployments/test_cluster_tls.py::test_holder_and_waiter_follow_a_slot_over_tls",
    ),
    Break(
        ("moved-slot",),
        "what could not be given back at once is left to its lease",
        "cpp/locks/sync/operation/release.cpp",
        (
            (
                "  if (pace == resp::Pace::kNever) return refused_for_good(why);",
                "  if (life_ == Life::kPending) return refused_for_good(why);",
            ),
        ),
        f"{REPLICAS}::test_what_a_slot_that_moves_cannot_give_back_is_given_back_later",
    ),
    Break(
        ("moved-slot",),
        "what is given back late takes what its owner has now",
        "cpp/locks/lease/holds.cpp",
        (
            ("  entry.command->revoke();\n", ""),
            ("  if (entry.command->persistent) entry.command->abandon();\n", ""),
        ),
        f"{REPLICAS}::test_what_is_asked_for_again_is_not_given_back_any_more",
    ),
    Break(
        ("moved-slot",),
        "messages go to all servers whatever their channel",
        "cpp/redis/topology/topology.h",
        (('return "spublish";', 'return "publish";'),),
        "tests/wire/test_replay_deployments.py::test_in_a_cluster",
    ),
    Break(
        ("forked-process",),
        "a child of fork goes on with its parent's connections",
        "cpp/redis/base/process.cpp",
        (("g_epoch.fetch_add(1, ", "g_epoch.fetch_add(0, "),),
        f"{FORK}::test_a_cluster_client_is_forked_while_it_holds",
    ),
    Break(
        ("moved-slot",),
        "names of two slots are taken",
        "cpp/locks/engine/client.cpp",
        (("if (together) return {};", "if (together || !latch) return {};"),),
        "tests/deployments/test_cluster.py::test_a_name_of_two_slots_is_refused",
    ),
)

if __name__ == "__main__":
    sys.exit(main(BREAKS))
