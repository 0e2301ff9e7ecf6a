"""Breaks of what event loops and threads of events promise: see breaks.py."""

from __future__ import annotations

from tests.support.breaking import Break

LOOP_BREAKS = (
    Break(
        ("blocked-loop",),
        "nothing looks whether the loop reads",
        "cpp/redis/client/connection.cpp",
        (("if (now < look_at_) return false;", "return false;"),),
        "tests/contract/process/test_dead_loops.py::test_what_a_stopped_loop_asked_for_is_finished",
    ),
    Break(
        ("due-cancellation",),
        "a task overtakes a callback that is due",
        "cpp/bindings/task_queue.cpp",
        (("  return size != 0;", "  return size < 0;"),),
        "tests/contract/process/test_steps.py::test_a_task_does_not_overtake_a_callback_that_is_due",
    ),
    Break(
        ("idle-loop",),
        "a deferred release is over in the next turn only",
        "cpp/locks/engine/completion_queue.cpp",
        (("if (here && id == beginning_) {", "if (here && id == 0) {"),),
        "tests/contract/process/test_steps.py::test_a_deferred_release_takes_no_turn_of_the_loop",
    ),
    Break(
        ("blocked-handler",),
        "the thread that sorts events calls what is to be called",
        "python/holdfast/_engine/workers.py",
        (("        self._jobs.put(job)\n        self._start()", "        job()"),),
        "tests/contract/process/test_blocking_handlers.py::test_a_handler_of_a_client_delays_no_cancellation",
    ),
    Break(
        ("interrupted-acquire",),
        "a grant that a cancelled task does not know of is kept",
        "cpp/locks/sync/operation/acquire.cpp",
        (("      give_back();  // with `again`, another acquisition does\n", ""),),
        "tests/contract/process/test_cancel.py::test_cancelled_when_it_is_granted_and_does_not_know",
    ),
    Break(
        ("process-limits",),
        "an operation does not start the threads that it needs",
        "cpp/locks/engine/client.cpp",
        (("  mine.start();\n", ""),),
        "tests/faults/test_limits.py"
        "::test_an_acquire_at_a_limit_raises_and_works_once_it_is_lifted",
    ),
    Break(
        ("process-limits",),
        "a descriptor may have the number of a standard stream",
        "cpp/redis/base/descriptor.cpp",
        (("if (fd < 0 || fd > STDERR_FILENO) return fd;", "if (fd < 1024) return fd;"),),
        "tests/faults/test_standard_streams.py"
        "::test_what_it_prints_reaches_no_descriptor_of_the_library",
    ),
    Break(
        ("missing-guard",),
        "a guard that may not fork goes on as a child of the program",
        "cpp/guard/main.cpp",
        (("if (guard != 0) _exit", "if (guard > 0) _exit"),),
        "tests/faults/guard/test_limits.py"
        "::test_a_guard_that_may_not_fork_is_reported_and_the_client_goes_on",
    ),
    Break(
        ("idle-loop",),
        "a task looks for its reply while other callbacks of its loop are due",
        "cpp/bindings/task_queue.cpp",
        (("  if (keeps_order(loop())) return;\n  measured_", "  measured_"),),
        "tests/contract/test_busy_poll.py"
        "::test_a_task_looks_only_while_its_loop_has_nothing_else_to_do",
    ),
    Break(
        ("idle-loop",),
        "a client that may use one CPU looks for its replies",
        "cpp/locks/engine/client.cpp",
        (("options.busy_poll && usable_cpus() > 1;", "options.busy_poll;"),),
        "tests/contract/test_busy_poll.py::test_a_caller_looks_where_it_may",
    ),
)
