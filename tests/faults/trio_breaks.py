"""Breaks of what connects the engine to trio: see breaks.py."""

from __future__ import annotations

from tests.support.breaking import Break

RUN = "python/holdfast/_engine/trio_run.py"
TESTS = "tests/contract/process/test_trio.py::"

TRIO_BREAKS = (
    Break(
        ("interrupted-acquire",),
        "a cancelled wait of a task of trio is left under way",
        RUN,
        (("            self._queue.cancel(number)\n", ""),),
        TESTS + "test_what_a_cancelled_acquire_was_granted_is_given_back",
    ),
    Break(
        ("interrupted-release",),
        "a cancellation takes the place of an error of the block",
        RUN,
        (
            (
                "REPEATED: tuple[type[BaseException], ...] = (trio.Cancelled,)",
                "REPEATED: tuple[type[BaseException], ...] = ()",
            ),
        ),
        TESTS + "test_a_release_that_a_cancelled_scope_meets_goes_on",
    ),
    Break(
        ("idle-loop",),
        "the task of a run outlives its last client",
        RUN,
        (
            (
                "            self._reader.cancel()\n            self._reader = None\n",
                "            pass\n",
            ),
        ),
        TESTS + "test_waits_have_one_descriptor_and_one_task_of_the_run",
    ),
    Break(
        ("interrupted-release",),
        "at the end of a run no shielded call gets its answer",
        RUN,
        (("                while self._waiting:\n", "                while False:\n"),),
        TESTS + "test_a_shielded_call_goes_on_after_the_main_task",
    ),
    Break(
        ("ended-owner",),
        "a task of trio that is done keeps its holds",
        RUN,
        (("        self.task_done(task)\n", "        pass\n"),),
        TESTS + "test_the_holds_of_a_task_that_is_done_are_abandoned",
    ),
    Break(
        ("changed-key",),
        "a loss cancels no block of trio",
        RUN,
        (("        self._scope.cancel()\n", "        pass\n"),),
        TESTS + "test_a_loss_cancels_the_block_and_comes_out_as_its_error",
    ),
    Break(
        ("blocked-handler",),
        "an on_lost that raises ends the run",
        RUN,
        (
            (
                "subject, context=copy_context())\n    except BaseException as error:",
                "subject, context=copy_context())\n    except ValueError as error:",
            ),
        ),
        TESTS + "test_what_on_lost_raises_is_logged_and_the_run_goes_on",
    ),
    Break(
        ("idle-loop",),
        "a call of trio that sends nothing is no checkpoint",
        "python/holdfast/_locks/task_steps.py",
        (("        await of._loops.checkpoint()\n", ""),),
        TESTS + "test_every_call_is_a_checkpoint",
    ),
)
