"""Breaks of what a connection believes of the bytes that come."""

from __future__ import annotations

from tests.support.breaking import Break

_SHAPES = "tests/faults/test_shapes.py::"

STREAM_BREAKS = (
    Break(
        ("lasting-refusal", "stray-bytes"),
        "a refusal that a connection begins with is taken for a reply",
        "cpp/redis/resp/error_reply.cpp",
        (
            (
                "return error_word(text) == kDenied ? Refusal::kProtected : Refusal::kOther;",
                "return Refusal::kOther;",
            ),
        ),
        "tests/faults/test_protocol_errors.py"
        "::test_a_server_in_protected_mode_is_an_error_with_its_words",
    ),
    Break(
        ("stray-bytes",),
        "a command whose reply never fits is sent again and again",
        "cpp/redis/client/request_queue.cpp",
        (("  if (++entry.what.misfits < kMost) return;\n", "  if (kMost > 0) return;\n"),),
        "tests/faults/test_protocol_errors.py::test_a_command_whose_reply_never_fits_is_sent_twice",
    ),
    Break(
        ("lost-reply",),
        "a command that was sent again, and answered, is not reported",
        "cpp/redis/client/request_queue.cpp",
        (("entries_[i].what.sent.repeated = true;", "entries_[i].what.sent.repeated = false;"),),
        "tests/faults/test_lost_replies.py"
        "::test_the_log_names_lock_and_server_of_each_lost_reply_once",
    ),
    Break(
        ("stray-bytes",),
        "a reply that no command asked for is dropped",
        "cpp/redis/client/send_buffer.h",
        (("return !line.awaits_replies() && stream_->has_input();", "return false;"),),
        "tests/faults/test_protocol_errors.py"
        "::test_a_reply_that_no_command_asked_for_grants_nothing",
    ),
    Break(
        ("stray-bytes",),
        "a reply of any kind is taken",
        "cpp/redis/client/request_queue.cpp",
        (("  if (!entry.replies.allow(reply)) {\n", "  if (sent_ == 0) {\n"),),
        "tests/faults/test_protocol_errors.py"
        "::test_a_reply_of_a_kind_that_the_command_cannot_have_is_not_believed",
    ),
    Break(
        ("stray-bytes",),
        "an array of any elements is taken for that of a script",
        "cpp/redis/resp/reply.cpp",
        (("array_ == Array::kAny || allow_shaped", "true || allow_shaped"),),
        f"{_SHAPES}test_a_reply_that_a_script_cannot_give_ends_the_connection",
    ),
    Break(
        ("stray-bytes",),
        "any reply to a plain command is taken",
        "cpp/locks/sync/operation/command_operation.h",
        (("script::replies_to(commands_[i])", "resp::ReplyKinds::any()"),),
        f"{_SHAPES}test_a_reply_that_a_command_cannot_have_ends_the_connection",
    ),
)
