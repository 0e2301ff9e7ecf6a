"""Breaks of what a connection believes of the bytes that come."""

from __future__ import annotations

from tests.support.breaking import Break

STREAM_BREAKS = (
    Break(
        (17,),
        "a command that was sent again, and answered, is not reported",
        "cpp/client/request_queue.cpp",
        (("entries_[i].what.sent.repeated = true;", "entries_[i].what.sent.repeated = false;"),),
        "tests/faults/test_lost_replies.py"
        "::test_the_log_names_lock_and_server_of_each_lost_reply_once",
    ),
    Break(
        (60,),
        "a reply that no command asked for is dropped",
        "cpp/client/send_buffer.h",
        (("return !line.awaits_replies() && stream_->has_input();", "return false;"),),
        "tests/faults/test_protocol_errors.py"
        "::test_a_reply_that_no_command_asked_for_grants_nothing",
    ),
    Break(
        (60,),
        "a reply of any kind is taken",
        "cpp/client/request_queue.cpp",
        (("  if (!entry.replies.allow(reply)) return Taken::kMismatched;\n", ""),),
        "tests/faults/test_protocol_errors.py"
        "::test_a_reply_of_a_kind_that_the_command_cannot_have_is_not_believed",
    ),
)
