"""What a direct hand-over must not forget, each forgotten once on purpose.

    python -m tests.faults.direct_breaks
    python -m tests.faults.direct_breaks --folder build/dev

Each break is made in the working copy, a suite of the engine is built, and one of its tests has to
fail. Run nothing else in the working copy meanwhile.
"""

from __future__ import annotations

import os
import sys

from tests.support.breaking import Break, main_of_cpp

MACHINE = "cpp/sync/operation/acquire_machine.cpp"
QUEUE = "cpp/wait/grant.cpp"
HAND_ON = "lua/_direct_lock/hand_on.lua"
IN_LINE = "lua/_direct_lock/wait_in_line.lua"
SCHEDULES = "*RandomSchedules*/direct_*"


def lost(what: str, file: str, old: str, new: str = "", test: str = SCHEDULES) -> Break:
    """A break of one place."""
    return Break((), what, file, ((old, new),), test)


MACHINE_BREAKS = tuple(
    lost(what, MACHINE, old, new, "GrantedByReleaseTest.*")
    for what, old, new in (
        ("a grant of an earlier place is believed", "grant.place == place_ && now", "now"),
        (
            "a grant is trusted from its arrival",
            "trusted_until(attempted_, grant.lease / kLeastPart)",
            "trusted_until(now, grant.lease / kLeastPart)",
        ),
        (
            "a grant is believed until its lease is over",
            "constexpr int kLeastPart = 2;",
            "constexpr int kLeastPart = 1;",
        ),
        (
            "a grant that comes before the reply is forgotten",
            "  if (state_ == State::kTrying) early_ = grant;\n",
            "",
        ),
        (
            "a fixed lease is not set",
            "options_.believes_grants && in_time",
            "in_time",
        ),
        (
            "the next waiter sleeps for a lease that was not given",
            "given_ > Millis(0) ? given_ : options_.lease",
            "options_.lease",
        ),
    )
)
QUEUE_BREAKS = (
    lost(
        "a grant before its waiter has joined is missed",
        QUEUE,
        "  ++found->second.sequence;\n",
        test="GrantsTest.*",
    ),
    lost(
        "grants are not subscribed to",
        QUEUE,
        "  if (grants) subscriptions_.subscribe_grants(channel);\n",
        "  (void)grants;\n",
        test="GrantsTest.*",
    ),
)
KEEPER_BREAKS = (
    lost(
        "the whole lease is trusted",
        "cpp/lease/hold_record.cpp",
        "const Millis given = grant.given > Millis(0) ? grant.given : grant.lease.time",
        "const Millis given = grant.lease.time",
        test="LeaseKeeperTest.*",
    ),
    lost(
        "the whole lease is not set",
        "cpp/lease/attempts.cpp",
        "  if (grant.given > Millis(0)) hold.next_renewal = after(grant.sent, kYoung);\n",
        test="LeaseKeeperTest.*",
    ),
)
SCHEDULE_BREAKS = (
    lost(
        "a waiter that leaves stays in line",
        "cpp/sync/operation/acquire_machine.h",
        "(options_.in_line && contended_) || was_in_line_",
        "options_.in_line && contended_",
    ),
    lost(
        "a shorter lease is not published",
        HAND_ON,
        "if left < 0 or left > tonumber(ARGV[2]) then",
        "if false then",
    ),
    lost(
        "an attempt that wants no place leaves the former one",
        IN_LINE,
        "  redis.call('zrem', KEYS[2], ARGV[1])\n  return {ttl, 0}\n",
        "  return {ttl, 0}\n",
    ),
    lost(
        "a hand-over within the client leaves the place",
        "lua/direct_lock/transfer.lua",
        "redis.call('zrem', KEYS[3], ARGV[2])\n",
        "assert(KEYS[3])\n",
    ),
)
BREAKS = MACHINE_BREAKS + QUEUE_BREAKS + KEEPER_BREAKS + SCHEDULE_BREAKS


if __name__ == "__main__":
    # One schedule in some thousand finds the rarest.
    os.environ.setdefault("HOLDFAST_SIM_COUNT", "6000")
    suites = {
        "test_sync": MACHINE_BREAKS,
        "test_wait": QUEUE_BREAKS,
        "test_lease": KEEPER_BREAKS,
        "test_simulation": SCHEDULE_BREAKS,
    }
    sys.exit(main_of_cpp(suites, __doc__))
