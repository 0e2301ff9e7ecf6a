"""The build's Lua tool: what it embeds, and that a script which breaks its word fails the build."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.lint.tree import ROOT

TOOL = ROOT / "cmake" / "embed_lua.py"
HEADER = "-- Gives it.\n-- KEYS[1]  name: the hash\n-- ARGV[1]  lease: ms\n-- returns  1: given\n"
BODY = "return redis.call('pexpire', KEYS[1], ARGV[1])\n"


def embed(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(TOOL), str(root), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write(root: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def embedded(root: Path, name: str = "lock/give") -> str:
    run = embed(root, "--json")
    assert run.stderr == ""
    return str(json.loads(run.stdout)[name]["text"])


def refusal(root: Path) -> str:
    run = embed(root, "--header", str(root / "scripts.h"))
    assert run.returncode == 1
    assert not (root / "scripts.h").exists()
    return run.stderr


def test_our_scripts_keep_their_word() -> None:
    assert embed(ROOT / "lua", "--json").stderr == ""


def test_only_code_is_embedded(tmp_path: Path) -> None:
    body = "local a = '--x' -- says\n\n  --[[ long\n comment ]]\nreturn KEYS[1] .. ARGV[1] .. a\n"
    root = write(tmp_path, {"lock/give.lua": HEADER + body})
    assert embedded(root) == "local a = '--x'\nreturn KEYS[1] .. ARGV[1] .. a"


@pytest.mark.parametrize(
    ("result", "replies"),
    [
        ("decimal", "resp::ReplyKinds(resp::ReplyKind::kText).decimal()"),
        ("text", "resp::ReplyKinds(resp::ReplyKind::kText)"),
        (
            "{i, ...}",
            "resp::ReplyKinds(resp::ReplyKind::kArray).arrays_of(resp::ReplyKinds::Array::kPlaces)",
        ),
        (
            "{left, next}",
            "resp::ReplyKinds(resp::ReplyKind::kArray).arrays_of(resp::ReplyKinds::Array::kFew)",
        ),
        (
            "{>= 0, decimal}",
            "resp::ReplyKinds(resp::ReplyKind::kArray).arrays_of(lock_give_arrays)",
        ),
    ],
)
def test_the_header_has_the_replies_that_the_script_names(
    tmp_path: Path, result: str, replies: str
) -> None:
    head = HEADER.replace("returns  1:", f"returns  {result}:")
    root = write(tmp_path, {"lock/give.lua": head + BODY})
    assert embed(root, "--header", str(root / "scripts.h")).returncode == 0
    assert f" {replies},\n" in (root / "scripts.h").read_text()


def test_arrays_that_differ_by_their_tag_become_the_rows_of_a_table(tmp_path: Path) -> None:
    results = ["{>= 0, decimal}", "{-2, text}", "{-3, 0}", "{any, text, ...}"]
    head = HEADER + "".join(f"-- returns  {result}: so\n" for result in results)
    root = write(tmp_path, {"lock/give.lua": head + BODY})
    assert embed(root, "--header", str(root / "scripts.h")).returncode == 0
    number, text = "resp::ReplyKinds(resp::ReplyKind::kInteger)", "(resp::ReplyKind::kText)"
    assert (
        "inline constexpr resp::ReplyKinds lock_give_elements[] = {\n"
        f"    {number}.within(0, resp::ReplyKinds::kMost),\n"
        f"    resp::ReplyKinds{text}.decimal(),\n"
        f"    {number}.within(-2, -2),\n"
        f"    resp::ReplyKinds{text},\n"
        f"    {number}.within(-3, -3),\n"
        f"    {number}.within(0, 0),\n"
        f"    {number},\n"
        f"    resp::ReplyKinds{text},\n"
        "};\n"
        "inline constexpr resp::ArrayRow lock_give_rows[] = {{lock_give_elements + 0, 2, 0}, "
        "{lock_give_elements + 2, 2, 0}, {lock_give_elements + 4, 2, 0}, "
        "{lock_give_elements + 6, 2, 2}};\n"
        "inline constexpr resp::ArrayShape lock_give_arrays{lock_give_rows};\n"
    ) in (root / "scripts.h").read_text()


FLAG = "--!df flags=allow-undeclared-keys\n"
MADE = [
    "return redis.call('pexpire', KEYS[1] .. ':x', ARGV[1])\n",
    "return redis.call('pexpire', made(KEYS[1]), ARGV[1])\n",
    "return redis.call('pexpire', ARGV[1], KEYS[1])\n",
    "local key, lease = 'x' .. KEYS[1], ARGV[1]\nreturn redis.call('pexpire', key, lease)\n",
]


@pytest.mark.parametrize("body", MADE)
def test_a_script_that_makes_the_name_of_a_key_says_so(tmp_path: Path, body: str) -> None:
    """Dragonfly refuses it without, and finds the flag in the text that the server gets."""
    root = write(tmp_path, {"lock/give.lua": HEADER + body})
    assert "no key of KEYS" in refusal(root)
    write(root, {"lock/give.lua": FLAG + HEADER + body})
    assert embedded(root) == FLAG + body.rstrip()


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        "local key, lease = KEYS[1], ARGV[1]\nreturn redis.call('pexpire', key, lease)\n",
        "return redis.call('publish', KEYS[1] .. ':x', ARGV[1])\n",
    ],
)
def test_a_script_without_such_a_name_has_no_flag(tmp_path: Path, body: str) -> None:
    root = write(tmp_path, {"lock/give.lua": HEADER + body})
    assert embedded(root) == body.rstrip()
    write(root, {"lock/give.lua": FLAG + HEADER + body})
    assert "leave the line" in refusal(root)


def test_the_header_declares_name_hash_and_text(tmp_path: Path) -> None:
    root = write(tmp_path, {"lock/give.lua": HEADER + BODY})
    run = embed(root, "--header", str(root / "made" / "scripts.h"))
    text = BODY.rstrip()
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    declared = (root / "made" / "scripts.h").read_text()
    assert run.returncode == 0
    assert "namespace holdfast::script::lua {" in declared
    assert "inline constexpr Script lock_give{" in declared
    assert "all[] = {&lock_give};" in declared
    assert f'"lock/give",\n    "{digest}",\n    R"lua({text})lua"' in declared


def test_a_header_that_is_right_is_not_written_again(tmp_path: Path) -> None:
    root, header = write(tmp_path / "lua", {"lock/give.lua": HEADER + BODY}), tmp_path / "scripts.h"
    embed(root, "--header", str(header))
    os.utime(header, (1, 1))
    embed(root, "--header", str(header))
    assert header.stat().st_mtime == 1
    write(root, {"lock/give.lua": HEADER + BODY.replace("pexpire", "expire")})
    embed(root, "--header", str(header))
    assert header.stat().st_mtime > 1
    assert "'expire'" in header.read_text()


def test_a_fragment_is_put_in_place_once(tmp_path: Path) -> None:
    parts = {
        "_shared/a.lua": "-- @include _shared/b.lua\nlocal a = b",
        "_shared/b.lua": "local b = KEYS[1]",
        "lock/give.lua": HEADER + "-- @include _shared/a.lua\n-- @include _shared/b.lua\n" + BODY,
    }
    root = write(tmp_path, parts)
    assert embedded(root) == "local b = KEYS[1]\nlocal a = b\n" + BODY.rstrip()


def test_a_list_of_arguments_has_an_open_index(tmp_path: Path) -> None:
    header = HEADER.replace("ARGV[1]  lease", "ARGV[1...]  leases")
    body = "return #ARGV + tonumber(KEYS[1])\n"
    root = write(tmp_path, {"lock/give.lua": header + body})
    assert embedded(root) == body.rstrip()


BROKEN = {
    "no header": (BODY, "the first line is no comment"),
    "no result": (HEADER.replace("-- returns", "-- gives") + BODY, "names no result"),
    "a list of anything": (HEADER.replace("  1:", "  list:") + BODY, "not a result: list"),
    "an element that is none": (
        HEADER.replace("  1:", "  {>= 0, digits}:") + BODY,
        "not a result: {>= 0, digits}",
    ),
    "numbers with names, and tags": (
        HEADER.replace("  1:", "  {left, next}:") + "-- returns  {-1, text}: none\n" + BODY,
        "arrays of numbers with names, and others",
    ),
    "unused": (HEADER + "return KEYS[1]\n", "ARGV[1] is named but not used"),
    "used in a string only": (HEADER + "return KEYS[1] .. 'ARGV[1]'\n", "ARGV[1] is named but"),
    "used in a comment only": (HEADER + "return KEYS[1] -- ARGV[1]\n", "ARGV[1] is named but"),
    "unnamed": (HEADER + BODY + "local x = KEYS[2]\n", "KEYS[2] is used but not named"),
    "a gap": (
        HEADER.replace("ARGV[1]", "ARGV[2]") + BODY.replace("ARGV[1]", "ARGV[2]"),
        "the named ARGV are not 1 to 1",
    ),
    "twice": (HEADER + "-- KEYS[1]  key: again\n" + BODY, "KEYS[1] is named twice"),
    "another form": (HEADER.replace("lease: ms", "the lease") + BODY, "not of the form"),
    "an open list unnamed": (HEADER + BODY + "local n = #ARGV\n", "more than numbers"),
    "an open list unused": (HEADER.replace("ARGV[1]", "ARGV[1...]") + BODY, "only that"),
    "a string over lines": (HEADER + BODY + "local x = [[a\nb]]\n", "may not span lines"),
    "a missing fragment": (HEADER + "-- @include _shared/no.lua\n" + BODY, "no fragment"),
    "a script as a fragment": (HEADER + "-- @include lock/give.lua\n" + BODY, "no fragment"),
}


@pytest.mark.parametrize(("source", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_a_script_that_breaks_its_word_is_refused(tmp_path: Path, source: str, reason: str) -> None:
    message = refusal(write(tmp_path, {"lock/give.lua": source}))
    assert reason in message
    assert "lock/give.lua" in message


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    message = refusal(write(tmp_path, {"lock/give.lua": BODY, "lock/take.lua": BODY}))
    assert "lock/give.lua" in message
    assert "lock/take.lua" in message


@pytest.mark.parametrize("name", ["give.lua", "lock/deep/give.lua", "Lock/give.lua"])
def test_a_script_lies_in_a_folder_of_its_kind(tmp_path: Path, name: str) -> None:
    assert "lua/<kind>/<step>.lua" in refusal(write(tmp_path, {name: HEADER + BODY}))


def test_two_scripts_never_share_a_name_in_cpp(tmp_path: Path) -> None:
    scripts = {"fair/lock_take.lua": HEADER + BODY, "fair_lock/take.lua": HEADER + BODY}
    assert "fair_lock_take" in refusal(write(tmp_path, scripts))
