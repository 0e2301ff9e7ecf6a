"""What an acquisition, a release or a query must not forget, each forgotten once on purpose.

    python -m tests.faults.first_step_breaks
    python -m tests.faults.first_step_breaks --folder build/dev

Each break is made in the working copy, test_sync is built, and a test of the calls has to fail.
Run nothing else in the working copy meanwhile.
"""

from __future__ import annotations

import sys

from tests.support.breaking import Break, main_of_cpp

ACQUIRE = "cpp/locks/sync/operation/acquire.cpp"
CONTENDED = "cpp/locks/sync/operation/contended.cpp"
RELEASE = "cpp/locks/sync/operation/hold_release.cpp"
PENDING = "cpp/locks/sync/operation/release.cpp"
OPERATION = "cpp/locks/sync/operation/operation.cpp"
QUERY = "cpp/locks/sync/operation/query_operation.cpp"
TESTS = (
    "*CallTest*:*QueryTest*:*DeferredReleaseTest*:*UnwrittenReleaseTest*:SeveralPermitsTest.*"
    ":*AcquireLife*:*AcquireByItsOwner*:AcquireAfterAReleaseTest.*:AcquireOfAThreadTest.*"
)


def lost(what: str, file: str, old: str, new: str = "") -> Break:
    """A break of one place, which one of the suites of calls finds."""
    return Break((), what, file, ((old, new),), TESTS)


BREAKS = (
    # Acquire: begin, encode, granted, complete, cancel, stopped_by
    lost(
        "an attempt goes before other waiters of its client",
        ACQUIRE,
        "                     !request_.synchronizer->idle(context(), request_.owner, now) ||\n",
    ),
    lost(
        "an attempt does not ask whether its owner is acquiring",
        ACQUIRE,
        "  if (waits || plan_.verdict != lease::AttemptPlan::Verdict::kBegun) {\n",
        "  if (waits) {\n",
    ),
    lost(
        "a nested attempt asks for the first hold",
        ACQUIRE,
        "  count_ = request_.again ? std::max(plan_.count - 1, 1) : plan_.count;\n",
    ),
    lost(
        "a nested attempt is written as the first one",
        ACQUIRE,
        "request().step(context(), count_));",
        "request().step(context(), 1));",
    ),
    lost(
        "a request for several permits is written as one for one",
        "cpp/locks/sync/operation/acquire_request.h",
        "slot ? lease.time : Millis(0), amount};",
        "slot ? lease.time : Millis(0), 1};",
    ),
    lost(
        "a caller that does not wait waits for a server out of reach",
        ACQUIRE,
        "  connect_deadline = request_.connect_deadline.value_or(time_.connect_deadline());\n",
    ),
    lost(
        "a refusal is taken for a grant",
        ACQUIRE,
        "  if (answer.kind != Answer::Kind::kGranted) return false;\n",
    ),
    lost(
        "a grant after its lease is kept",
        ACQUIRE,
        "  const bool late = recipe().grants_end() && ",
        "  const bool late = !recipe().grants_end() && ",
    ),
    lost(
        "an attempt does not end with its grant",
        ACQUIRE,
        "  attempt_.end();\n",
    ),
    lost(
        "a grant is not among the figures",
        ACQUIRE,
        "  AcquireStats(*context().stats, request_.stats()).granted(now - begun_);\n",
    ),
    lost(
        "a sent attempt goes on as one that was not sent",
        ACQUIRE,
        "std::make_unique<Contended>(*this, attempt_.under_way())",
        "std::make_unique<Contended>(*this, false)",
    ),
    lost(
        "a grant that its caller will not see is kept",
        ACQUIRE,
        "      give_back();  // with `again`, another acquisition does\n",
    ),
    lost(
        "a grant is given back each time that it is cancelled",
        ACQUIRE,
        "!std::exchange(given_back_, true)",
        "!std::exchange(given_back_, false)",
    ),
    lost(
        "the reply to an attempt whose caller has left is its grant",
        ACQUIRE,
        "    if (!contended_ && reply.ok() && granted(reply.value(), sent)) return;\n",
        "    if (reply.ok() && granted(reply.value(), sent)) return;\n",
    ),
    lost(
        "a cancelled attempt that is on its way is not taken back",
        ACQUIRE,
        "    const bool begun = contended_ || attempt_.under_way();\n",
        "    const bool begun = contended_ != nullptr;\n",
    ),
    lost(
        "a signal handler uses the grant of the acquire that it interrupts",
        ACQUIRE,
        "  call.begin_beside();\n",
    ),
    lost(
        "a grant of a closed client is reported",
        ACQUIRE,
        "  if (late || !keep({count_, sent.last, answer.value, now})) return false;\n",
        "  if (late) return false;\n  (void)keep({count_, sent.last, answer.value, now});\n",
    ),
    lost(
        "a thread that waits for a message leaves the calls of others unread",
        OPERATION,
        "in_line && !control().serves(now())",
        "in_line && control().done.load()",
    ),
    # Contended: begin, complete, conclude
    lost(
        "a second acquisition of an owner begins",
        CONTENDED,
        "    refused = acquire_.attempt_.begin()\n",
        "    refused = acquire_.attempt_.begin() || true\n",
    ),
    lost(
        "a refusal does not settle the release that the attempt overtook",
        CONTENDED,
        "  if (action.settles) keeper.attempts().answered(acquire_.name(), request().owner);\n",
    ),
    lost(
        "an attempt that may have been granted is not taken back",
        CONTENDED,
        "  acquire_.abandon();\n  if (action.give_back) acquire_.take_back(action.count - 1);\n",
        "  acquire_.abandon();\n",
    ),
    lost(
        "an attempt whose caller has left is sent again",
        CONTENDED,
        "  acquire_.abandon();\n",
    ),
    lost(
        "a failed acquisition still excludes its owner",
        CONTENDED,
        "  acquire_.attempt_.end();\n",
    ),
    # HoldRelease: begin, write, answered_here, released, defer
    lost(
        "a release goes on without a plan",
        RELEASE,
        "  awaits_login = !is(Plan::Verdict::kPartial);\n",
        "  awaits_login = is(Plan::Verdict::kFinal);\n",
    ),
    lost(
        "a nested release is written as the last one",
        RELEASE,
        "{context().client_id, owner_}, plan_.remaining};",
        "{context().client_id, owner_}, 0};",
    ),
    lost(
        "a release is done whatever the reply",
        RELEASE,
        "  if (reply.is_nil() && !done_before()) {\n",
        "  if (reply.is_nil() && !done_before() && !recipe_.holding()) {\n",
    ),
    lost(
        "a release that is done stays pending",
        RELEASE,
        "  report_done();\n  // Without waiters",
        "  // Without waiters",
    ),
    lost(
        "a release does not say how many waiters have heard of it",
        RELEASE,
        "  const std::int64_t received = reply.integer();\n",
        "  const std::int64_t received = reply.integer() > 0 ? 1 : 0;\n",
    ),
    lost(
        "a deferred release is not deferred in the ledger",
        RELEASE,
        "  if (!context().keeper->releases().defer(name(), owner_, plan_)) return;\n",
    ),
    # Release: each way on
    lost(
        "a release whose caller got an error is not sent again",
        PENDING,
        ' in the background")});\n  go_on();\n',
        ' in the background")});\n',
    ),
    lost(
        "the answer to a release that goes on without a caller is not believed",
        PENDING,
        "  context().keeper->releases().ended(name(), owner_, this, how, why);\n",
        "  context().keeper->releases().ended(name(), owner_, nullptr, how, why);\n",
    ),
    lost(
        "the answer to any command is that of the newest release",
        "cpp/locks/lease/holds.h",
        "      return release == Release::kOpen && command.get() == by;\n",
        "      return release == Release::kOpen && (by != nullptr || command);\n",
    ),
    # QueryOperation: begin, complete
    lost(
        "a return is not in the ledger",
        PENDING,
        "  (void)context().keeper->releases().take_back("
        "name(), owner_, shared_from_this(), until_);\n",
    ),
    lost(
        "an error is taken for an answer",
        QUERY,
        "  if (refusal) return refused(reply.value().text());\n",
    ),
    lost(
        "a return that is done stays pending",
        PENDING,
        "  ended(End::kDone);\n  std::optional",
        "  std::optional",
    ),
    lost(
        "an answer is not corrected",
        QUERY,
        "  if (query_.answered) query_.answered(value, sent);\n",
        "  (void)sent;\n",
    ),
    lost(
        "a deferred release waits for its reply",
        RELEASE,
        "    defer_if_written(true);\n",
        "    defer_if_written(false);\n",
    ),
    lost(
        "a command that is written later is waited for",
        RELEASE,
        "defer_if_written(writing_.exchange(Writing::kAwaited) == Writing::kDone);",
        "defer_if_written(writing_.exchange(Writing::kAwaited) == Writing::kAwaited);",
    ),
)


if __name__ == "__main__":
    sys.exit(main_of_cpp({"test_sync": BREAKS}, __doc__))
