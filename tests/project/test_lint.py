"""The lint's own rules: each one sees what it is there for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.lint import descriptors, errors, exchanges, names, pages, texts
from tools.lint.tree import ROOT

# In two halves, so that the lint does not find them here.
FORBIDDEN = [
    ("a path of one machine", "cd /ro", "ot/checkout"),
    ("a path of one machine", "open('/ho", "me/me/file')"),
    ("the host of a package index", "https://files.python", "hosted.org/packages"),
    ("the host of a package index", "https://repo1.maven", ".apache.org/maven2"),
    ("an unfinished place", "// TO", "DO: later"),
    ("a number in the tracker", "see iss", "ue 12"),
    ("a number in the tracker", "fixed (#", "12)"),
]
HARMLESS = [
    "#include <sys/socket.h>",
    "redis://127.0.0.1:6379/0",
    "color: #123456",
    "https://docs.python.org/3/library/threading.html",
    "self.registry.add(proxy.go)",
    "lib/work/file",
]


@pytest.mark.parametrize(("what", "first", "second"), FORBIDDEN)
def test_a_forbidden_text_is_named_with_its_place(
    tmp_path: Path, what: str, first: str, second: str
) -> None:
    (tmp_path / "notes.md").write_text(f"# Notes\n{first}{second}\n")
    [problem] = texts.check(tmp_path)
    assert problem.startswith(f"notes.md:2: {what}: ")


@pytest.mark.parametrize("line", HARMLESS)
def test_a_harmless_text_passes(tmp_path: Path, line: str) -> None:
    (tmp_path / "notes.md").write_text(line)
    assert texts.check(tmp_path) == []


# In two halves, too.
RIDDLES = ["who+ever", "who+m", "no+body", "no+ught", "so +many", "is +told", "are +told"]
RIDDLES += ["was +told", "had +from", "of its +own", "of their +own", "of +ours", "be +told"]
RIDDLES += ["is not +told"]
RIDDLES += ["who+everHoldsIt", "test_no+body_waits", "so_+many_at_once", "IsOf+ItsOwn"]


def test_words_that_are_not_plain_english_are_named_in_a_plain_folder(tmp_path: Path) -> None:
    words = [riddle.replace("+", "") for riddle in RIDDLES]
    for name in ("docs/synchronizers/lock.md", "data/sample.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("".join(f"It holds, {word}.\n" for word in words))
    problems = texts.check(tmp_path)
    assert len(problems) == len(words)
    for number, word in enumerate(words, start=1):
        place = f"docs/synchronizers/lock.md:{number}: not plain English, "
        assert problems[number - 1].startswith(place)
        assert problems[number - 1].split("'")[1] in word


def test_words_that_contain_a_riddle_pass(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("_some_body() so manyfold, its own, told, ours, whole")
    assert texts.check(tmp_path) == []


# In two halves, too: as words, and as parts of identifiers.
OLD_WORDS = ["it te+lls", "kTo+ld", "kPa+tience", "SlotsQu+estions", "_ow+ed", "re+sts"]
KEPT = ["std::adopt_lock", "the rest of it", "interest", "arrest", "unheard", "followed"]


def test_replaced_words_of_the_engine_are_named_there_and_only_there(tmp_path: Path) -> None:
    words = [word.replace("+", "") for word in OLD_WORDS]
    for name in (
        "cpp/locks/wait/queue.h",
        "tests/cpp/locks/wait/queue_test.cpp",
        "lua/lock/a.lua",
        "docs/a.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("".join(f"{word}\n" for word in (*words, *KEPT)))
    problems = texts.check(tmp_path)
    assert len(problems) == 3 * len(words)
    for folder in ("cpp/", "lua/", "tests/cpp/"):
        found = [problem for problem in problems if problem.startswith(folder)]
        assert [int(problem.split(":")[1]) for problem in found] == list(range(1, len(words) + 1))
        assert all("was replaced by: " in problem for problem in found)


@pytest.mark.parametrize(
    ("file", "line", "problems"),
    [
        ("redis/client/stream.cpp", 'if (word == "LOADING") again();', 1),
        ("redis/client/stream.cpp", 'if (text.find("-READONLY ") == 0) again();', 1),
        ("locks/lease/watchdog.cpp", 'text.substr(0, 8) == "NOSCRIPT"', 1),
        ("locks/lease/watchdog.cpp", "if (resp::is_unknown_script(text)) again();", 1),
        ("redis/client/request_queue.cpp", "if (resp::is_unknown_script(text)) again();", 0),
        ("locks/sync/operation.cpp", 'Hint{"LOADING", "the server is starting"}', 0),
        ("redis/resp/error_reply.cpp", 'word == "NOSCRIPT"', 0),
        ("redis/client/stream.cpp", 'say("BUSYNESS");', 0),
    ],
)
def test_a_second_place_that_knows_an_error_is_named(
    tmp_path: Path, file: str, line: str, problems: int
) -> None:
    path = tmp_path / "cpp" / file
    path.parent.mkdir(parents=True)
    path.write_text(f"{line}\n")
    assert len(errors.check(tmp_path)) == problems


@pytest.mark.parametrize(
    ("quoted", "known"),
    [
        ("net/loop.{h,cpp}", True),
        ("net/loop.{h,py}", False),
        ("loop.cpp", True),
        ("Loop::drive()", True),
        ("Loop::steer()", False),
        ("Loop.dri...", True),
        ("Loop.ste...", False),
        ("pip install", True),
    ],
)
def test_a_page_about_the_code_names_what_is_there(
    tmp_path: Path, quoted: str, known: bool
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/architecture.md").write_text(f"Here is `{quoted}`.\n")
    (tmp_path / "cpp/redis/net").mkdir(parents=True)
    for name in ("loop.h", "loop.cpp"):
        (tmp_path / "cpp/redis/net" / name).write_text("class Loop { void drive(); };\n")
    place = f"docs/architecture.md:1: {quoted!r} is not in the tree"
    assert names.check(tmp_path) == ([] if known else [place])


@pytest.mark.parametrize(("lines", "problems"), [(600, 0), (601, 1)])
def test_a_file_has_at_most_600_lines(tmp_path: Path, lines: int, problems: int) -> None:
    (tmp_path / "long.cpp").write_text("\n" * lines)
    assert len(texts.check(tmp_path)) == problems


DECISION = "# 1. One\n\nStatus: accepted\nDate: 2026-01-31\n\nText.\n"
ROW = "| 1 | [One](0001-one.md) | accepted | 2026-01-31 |\n"


@pytest.mark.parametrize(
    ("page", "index", "problem"),
    [
        (DECISION, ROW, None),
        (DECISION.replace("Status: accepted\n", ""), ROW, "must begin with"),
        (DECISION.replace("# 1.", "# 2."), ROW, "must begin with"),
        (DECISION.replace("Date: 2026-01-31", "Date: soon"), ROW, "must begin with"),
        (DECISION, "", "needs the row | 1 | [One]"),
        (DECISION, ROW.replace("2026", "2025"), "needs the row | 1 | [One]"),
    ],
)
def test_a_decision_has_status_and_date(
    tmp_path: Path, page: str, index: str, problem: str | None
) -> None:
    folder = tmp_path / "docs" / "decisions"
    folder.mkdir(parents=True)
    (folder / "0001-one.md").write_text(page)
    (folder / "index.md").write_text(index)
    found = pages.check_decisions(tmp_path)
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]


@pytest.mark.parametrize(
    ("name", "text", "problems"),
    [
        ("+a_lock.added.md", "One paragraph\nof two lines.\n", 0),
        ("+a_lock.new.md", "Unknown kind.\n", 1),
        ("a_lock.added.md", "Without a plus.\n", 1),
        ("+a_lock.added.md", "Two.\n\nParagraphs.\n", 1),
        ("+a_lock.added.md", "", 1),
    ],
)
def test_a_change_note_is_one_paragraph_of_a_known_kind(
    tmp_path: Path, name: str, text: str, problems: int
) -> None:
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / name).write_text(text)
    assert len(pages.check_changes(tmp_path)) == problems


def test_a_page_that_loads_from_another_host_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="canonical" href="https://one.example/page.html">'
        '<a href="https://two.example/">a link</a><script src="assets/own.js"></script>'
        '<script defer src="https://three.example/x.js"></script>'
        '<link rel="stylesheet" href="//four.example/x.css">',
        encoding="utf-8",
    )
    (tmp_path / "style.css").write_text("@import 'https://five.example/font.css';", "utf-8")
    found = [line.rpartition(" ")[2] for line in pages.loaded_from_others(tmp_path)]
    assert found == [
        "https://three.example/x.js",
        "//four.example/x.css",
        "https://five.example/font.css",
    ]


@pytest.mark.parametrize(
    ("shown", "problems"),
    [
        ("<td><code>+client|id</code></td>", 0),
        (r"<td><code>+client\|id</code></td>", 1),
        ("<p>| a | b |</p>", 1),
        (r"<p>grep 'a\|b'</p>", 0),
    ],
)
def test_a_page_with_a_broken_table_is_found(tmp_path: Path, shown: str, problems: int) -> None:
    (tmp_path / "page.html").write_text(shown, encoding="utf-8")
    assert len(pages.broken_cells(tmp_path)) == problems


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("const int fd = ::socket(family, SOCK_STREAM, 0);", ["socket"]),
        ("if (::open(path, O_RDONLY) < 0) return;", ["open"]),
        ("int moved(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }", ["F_DUPFD_CLOEXEC"]),
        ("const auto process = syscall(SYS_pidfd_open, pid, 0U);", ["SYS_pidfd_open"]),
        ("socket_ = Descriptor(::socket(family, SOCK_STREAM, 0));", []),
        ("net::Descriptor page(\n    memfd_create(name, MFD_CLOEXEC));", []),
        ("entries_.open(entry); // as ::open(path, O_RDONLY)", []),
    ],
)
def test_a_bare_descriptor_is_named(tmp_path: Path, line: str, found: list[str]) -> None:
    (tmp_path / "cpp").mkdir()
    (tmp_path / "cpp" / "sample.cpp").write_text(f"void f();\n{line}\n")
    assert [problem.split()[1] for problem in descriptors.check(tmp_path)] == found


def test_the_exceptions_are_still_there() -> None:
    for path, name in descriptors.EXCEPTIONS:
        assert name in [each for _, each in descriptors.bare((ROOT / path).read_text())]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("_core.step_of(core, b'key', time)", 1),
        ("holdfast._core.keeping(grant)", 1),
        ("from holdfast._core import commands_of", 1),
        ("_core.shown(name)", 0),
        ("self._core.release(owner, True)", 0),
    ],
)
def test_an_exchange_that_is_made_elsewhere_is_named(tmp_path: Path, text: str, found: int) -> None:
    for path, content in (
        (exchanges.STUB, (ROOT / exchanges.STUB).read_text()),
        (exchanges.MAKER, text),
        (Path("python/holdfast/_locks/new.py"), text),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    problems = exchanges.check(tmp_path)
    assert len(problems) == found
    assert all(problem.startswith("python/holdfast/_locks/new.py:1: ") for problem in problems)


def test_the_functions_that_make_exchanges_are_found_in_the_stub() -> None:
    made = exchanges.making(ast.parse((ROOT / exchanges.STUB).read_text()))
    assert {"commands_of", "lasting_step_of", "step_of", "keeping", "granting"} <= made
