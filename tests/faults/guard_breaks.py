"""What the guard and its page must not forget, each forgotten once on purpose.

    python -m tests.faults.guard_breaks
    python -m tests.faults.guard_breaks --folder build/dev

Each break is made in the working copy, test_lease or test_guard is built, and a test of it has to
fail. Run nothing else in the working copy meanwhile.
"""

from __future__ import annotations

import sys

from tests.support.breaking import Break, main_of_cpp

ATTEMPTS = "cpp/locks/lease/attempts.cpp"
BOOK = "cpp/locks/lease/hold_book.cpp"
RELEASES = "cpp/locks/lease/releases.cpp"
KEEPER = "cpp/locks/lease/lease_keeper.cpp"
PAGE = "cpp/guard/held_page.cpp"
OF_GUARD = "cpp/guard/releases.cpp"
MAIN = "cpp/guard/main.cpp"


def recorded(what: str, file: str, old: str, new: str = "") -> Break:
    """A break of what the keeper records."""
    return Break((), what, file, ((old, new),), "*HeldRecordsTest*")


def guarded(what: str, file: str, old: str, new: str = "") -> Break:
    """A break of the page or of the process."""
    return Break((), what, file, ((old, new),), "*")


RECORDS = (
    recorded(
        "an attempt is not recorded",
        ATTEMPTS,
        "    if (!known) record = book_.records->add(*attempt.name_, owner, kind, until);\n",
        "    (void)known;\n    (void)kind;\n",
    ),
    recorded(
        "of several permits only the first is recorded",
        ATTEMPTS,
        "  attempt.records_.resize(static_cast<std::size_t>(amount));\n",
        "  (void)amount;\n  attempt.records_.resize(1);\n",
    ),
    recorded(
        "a grant of several permits is recorded twice",
        ATTEMPTS,
        "return at < records.size() ? records[at] : 0;",
        "return at == 0 && !records.empty() ? records[at] : 0;",
    ),
    recorded(
        "an attempt without an answer is not recorded any more",
        ATTEMPTS,
        "  attempt.records_.clear();\n",
        "  (void)attempt;\n",
    ),
    recorded(
        "an attempt that has ended stays recorded",
        ATTEMPTS,
        "  for (HeldRecords::Id& record : attempt.records_) book_.end_record(record);\n",
    ),
    recorded(
        "a moved attempt leaves its record behind",
        "cpp/locks/lease/attempts.h",
        ",\n        records_(std::move(other.records_)) {}",
        " {}",
    ),
    recorded(
        "the attempt of a nested hold leaves its record behind",
        BOOK,
        "    records->remove(granted);\n",
        "    (void)granted;\n",
    ),
    recorded(
        "a release is not waited for",
        RELEASES,
        "  book_.holds.leave(entry);\n",
        "  book_.holds.leave(entry);\n  book_.end_record(hold.record);\n",
    ),
    recorded(
        "what has been released stays recorded",
        RELEASES,
        "    if (settled.hold) book_.end_record(settled.hold->record);\n",
    ),
    recorded(
        "a lost hold stays recorded",
        BOOK,
        "  end_record(hold.record);\n  end_note(hold);\n  hold.extras().reason",
        "  end_note(hold);\n  hold.extras().reason",
    ),
    recorded(
        "a detached hold stays recorded",
        RELEASES,
        "  book_.end_record(hold->record);\n  book_.end_note(*hold);\n  book_.holds.end(*entry);\n"
        "  return true;\n",
        "  book_.end_note(*hold);\n  book_.holds.end(*entry);\n  return true;\n",
    ),
    recorded(
        "an extension does not count",
        KEEPER,
        "  book_->renew_record(*hold);\n",
    ),
    recorded(
        "a renewal does not count",
        "cpp/locks/lease/watchdog.cpp",
        "      book_->renew_record(hold);\n",
    ),
)

PROCESS = (
    guarded(
        "a record that is half written is read",
        PAGE,
        "before % 2 != 0 || ",
    ),
    guarded(
        "the next record in a slot is taken for the last",
        PAGE,
        "  return record.sequence.load(std::memory_order_relaxed) == id >> kSlotBits &&\n"
        "         record.deadline",
        "  (void)id;\n  return record.deadline",
    ),
    guarded(
        "a hold whose lease is over is released",
        PAGE,
        "if (record && record->deadline > now) ",
        "(void)now;\n    if (record) ",
    ),
    guarded(
        "settings are written over those that the guard has",
        PAGE,
        "PageSettings& into = layout_->settings[number % 2];",
        "PageSettings& into = layout_->settings[0];",
    ),
    guarded(
        "the other side of a lock is released",
        OF_GUARD,
        "  const LockName name(record.name, kind.side);\n  kind.recipe().release(",
        "  const LockName name(record.name, record.kind == 5 ? Side::kRead : kind.side);\n"
        "  sync::kLockKinds.at(record.kind == 5 ? 4 : record.kind).recipe().release(",
    ),
    guarded(
        "a permit is taken for a record of no known kind",
        OF_GUARD,
        "  return is_permit(record) || record.kind",
        "  return record.kind",
    ),
    guarded(
        "an acquire that arrives late is left",
        OF_GUARD,
        "sent >= late_",
        "sent != TimePoint()",
    ),
    guarded(
        "the program's connection stays open",
        OF_GUARD,
        "closing(settings.connections)",
        "closing({})",
    ),
    guarded(
        "a connection is closed that has the number only",
        OF_GUARD,
        ', number, "ADDR", address}',
        ", number}",
    ),
    Break(
        (),
        "a server out of reach is given up",
        OF_GUARD,
        (
            ("    persistent = true;\n", "    impatient = true;\n"),
            ("if (!reply.ok() || pace", "if (reply.ok() && pace"),
            ("(sent >= late_)", "(sent >= late_ || !reply.ok())"),
        ),
        "*",
    ),
    guarded(
        "a server that refuses for a while is given up",
        OF_GUARD,
        "if (!reply.ok() || pace != resp::Pace::kNever) {",
        "if (!reply.ok()) {",
    ),
    guarded(
        "what a pipe keeps is released",
        OF_GUARD,
        "keeping_(keeper_->open()),",
        "keeping_(false),",
    ),
    guarded(
        "what a pipe has kept is not released",
        OF_GUARD,
        "    if (keeping_ && !keeper_->open()) keep_no_more();\n",
    ),
    guarded(
        "the end of the socket is taken for a death",
        MAIN,
        "waited[1].fd = -1;\n",
        "return true;\n",
    ),
    guarded(
        "the guard outlives its last client",
        MAIN,
        "  if (joined_ && pages_.empty()) return true;\n",
    ),
)

if __name__ == "__main__":
    sys.exit(main_of_cpp({"test_lease": RECORDS, "test_guard": PROCESS}, __doc__))
