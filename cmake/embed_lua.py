"""Turns the scripts of lua/ into one C++ header, after checking that each keeps its word.

A script is `lua/<kind>/<step>.lua`; a folder whose name begins with `_` holds fragments, which a
line `-- @include <path from lua/>` puts in place (each at most once per script). A script begins
with a comment that names what it takes and gives:

    -- KEYS[1]  name: what it is
    -- ARGV[1]  lease: what it is, and its unit
    -- ARGV[2...]  names: one or more, read with an index that is not a number
    -- returns  1: granted

A result is `nil`, `decimal` (a text of digits), `text` (any), `error`, or else a number: `1`,
`>= 0`, `< limit`, `any`; or an array. `{>= 0, decimal}` is what its elements are, of one of several
arrays that the script may return: `{-2, text}` beside it differs by its first element, the tag.
`{text, any, ...}` are these elements any number of times. An array of numbers may have names for
them: `{i, ...}` is some of the places, from 1 on, of what the call is about, in order;
`{left, ...}` a number for each of them, 0 or more; `{left, next}` are two, or three. The engine
takes a reply of no other kind, and out of these ranges, for the script's. What another program can
have written is `text` or `any`: the caller looks at it.

Each index that the code uses is named there, each named one is used, and none is left out. A script
that makes the name of a key begins with the line `--!df flags=allow-undeclared-keys`, by which
Dragonfly allows that, and no other script does. What is embedded is the code alone: no other
comments, no blank lines. Needs nothing but the standard library.

    embed_lua.py lua --header build/lua_scripts.h    for the build: the header
    embed_lua.py lua --json    for the tests: {name: {"sha1", "text", ...}}
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

TOKEN = re.compile(
    r"""(?P<comment>--\[(?P<level>=*)\[.*?\](?P=level)\]|--[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[(?P<depth>=*)\[.*?\](?P=depth)\])""",
    re.DOTALL | re.VERBOSE,
)
INCLUDE = re.compile(r"\s*--\s*@include\s+(?P<path>\S+)\s*")
NAMED = re.compile(r"--\s*(?P<list>KEYS|ARGV)\[(?P<index>[^\]]*)\](?P<rest>.*)")
OPEN_INDEX = re.compile(r"(?P<first>[1-9]\d*)(?P<open>\.\.\.)?")
WHAT = re.compile(r"\s+[a-z][a-z0-9_]*: \S")
RETURNS = re.compile(r"--\s*returns\s+(?P<result>.*)")
RESULT = re.compile(
    r"(?:(?P<kind>nil|decimal|text|error)|(?P<array>\{[^}]*\})"
    r"|any|(?P<number>-?\d+)|(?P<order>[<>]=?) (?:(?P<limit>-?\d+)|[a-z_]+)): \S"
)
ELEMENT = re.compile(
    r"(?P<kind>decimal|text)|any|(?P<number>-?\d+)|(?P<order>[<>]=?) (?P<limit>-?\d+)"
)
# Arrays of numbers that have names: kPlaces and kEach, or kFew.
NAMED_NUMBERS = re.compile(r"\{[a-z]+, \.\.\.\}|\{[-a-z0-9 ]+(, [-a-z0-9 ]+){1,2}\}")
USED = re.compile(r"\b(?P<list>KEYS|ARGV)\b(?:\s*\[\s*(?P<index>\d+)\s*\])?")
CALL = re.compile(r"redis\.p?call\(\s*'(?P<command>\w+)'\s*,\s*(?P<key>[^,()]+\(?)")
LOCAL = re.compile(r"(?m)^\s*local (?P<names>[\w, ]+) = (?P<values>.+)$")
DECLARED = re.compile(r"KEYS\[\d+\]|[A-Za-z_]\w*")
KINDS = {"nil": "kNil", "decimal": "kText", "text": "kText", "error": ""}
REST = "..."
CHANNELS = {"publish", "spublish"}
UNDECLARED = "--!df flags=allow-undeclared-keys"
WORD = re.compile(r"[a-z][a-z0-9_]*")
DELIMITER = "lua"


@dataclass(frozen=True)
class Script:
    """A script as the server gets it: `name` is "<kind>/<step>"."""

    name: str
    text: str
    replies: str = ""  # resp::ReplyKinds, as C++ writes them
    results: tuple[str, ...] = ()  # as the header has them
    keys: int | None = None  # None: any number
    args: int | None = None

    @property
    def sha1(self) -> str:
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    @property
    def identifier(self) -> str:
        return self.name.replace("/", "_")

    @property
    def head(self) -> str:
        """The call by SHA1 up to the first key, in RESP; empty where its length varies."""
        if self.keys is None or self.args is None:
            return ""
        words = ["EVALSHA", self.sha1, str(self.keys)]
        bulks = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
        return f"*{len(words) + self.keys + self.args}\r\n{bulks}"


class ScriptError(Exception):
    """What is wrong with the scripts, one line each, beginning with the file."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(root: Path) -> list[Script]:
    """Returns the scripts below `root`, by name; raises ScriptError with all errors."""
    scripts: dict[str, Script] = {}
    problems: list[str] = []
    for path in sorted(root.rglob("*.lua")):
        if is_fragment(path.relative_to(root)):
            continue
        try:
            script = load_script(root, path)
        except ScriptError as error:
            problems += error.problems
            continue
        twin = scripts.setdefault(script.identifier, script)
        if twin is not script:
            problems.append(f"{path}: its C++ name is that of {twin.name}: {script.identifier}")
    if problems:
        raise ScriptError(problems)
    return sorted(scripts.values(), key=lambda script: script.name)


def is_fragment(relative: Path) -> bool:
    return any(part.startswith("_") for part in relative.parent.parts)


def load_script(root: Path, path: Path) -> Script:
    relative = path.relative_to(root).with_suffix("")
    if len(relative.parts) != 2 or not all(WORD.fullmatch(part) for part in relative.parts):
        raise ScriptError([f"{path}: a script is lua/<kind>/<step>.lua, in small letters"])
    source = path.read_text(encoding="utf-8")
    code = without_comments(path, expand(root, path, set()))
    problems = check_header(source, code) + check_keys(source, code)
    if f'){DELIMITER}"' in code:
        problems.append("the code may not hold the raw string's end")
    if problems:
        raise ScriptError([f"{path}: {problem}" for problem in problems])
    flags = f"{UNDECLARED}\n" if has_flag(source) else ""
    name = relative.as_posix()
    return Script(
        name=name,
        text=flags + code,
        replies=replies_of(source, name),
        results=tuple(named[0].rpartition(":")[0] for named in named_results(source)),
        keys=number_of("KEYS", source),
        args=number_of("ARGV", source),
    )


def assigned(local: re.Match[str]) -> Iterator[tuple[str, str]]:
    """The names of a local statement, with their values, where commas separate these."""
    values = [value.strip() for value in local["values"].split(",")]
    yield from zip((name.strip() for name in local["names"].split(",")), values, strict=False)


def has_flag(source: str) -> bool:
    return source.startswith(f"{UNDECLARED}\n")


def check_keys(source: str, code: str) -> list[str]:
    """Whether the script has the flag for names of keys that it makes, and needs it."""
    made = made_keys(code)
    if made and not has_flag(source):
        return [f"no key of KEYS: {made[0]}; begin with the line {UNDECLARED}"]
    if has_flag(source) and not made:
        return [f"makes no name of a key: leave the line {UNDECLARED} out"]
    return []


def made_keys(code: str) -> list[str]:
    """The keys of its commands that are neither of KEYS nor parameters of its functions."""
    values = dict(pair for local in LOCAL.finditer(code) for pair in assigned(local))
    used = [call["key"].strip() for call in CALL.finditer(code) if call["command"] not in CHANNELS]
    return [key for key in used if not DECLARED.fullmatch(values.get(key, key))]


def expand(root: Path, path: Path, included: set[Path]) -> str:
    """Returns the text of `path` with its includes in place; `included` grows by them."""
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        include = INCLUDE.fullmatch(line)
        if include is None:
            lines.append(line)
            continue
        relative = Path(include["path"])
        fragment = root / relative
        if not is_fragment(relative) or ".." in relative.parts or not fragment.is_file():
            raise ScriptError([f"{path}:{number}: no fragment {relative} (lua/_*/*.lua)"])
        if fragment not in included:
            included.add(fragment)
            lines.append(expand(root, fragment, included))
    return "\n".join(lines)


def without_comments(path: Path, source: str) -> str:
    """Returns `source` without comments, blank lines and spaces at the ends of lines."""

    def replace(token: re.Match[str]) -> str:
        if token["comment"] is not None:
            return " "
        if "\n" in token["string"]:
            raise ScriptError([f"{path}: a string may not span lines: {token['string']!r}"])
        return token["string"]

    lines = (line.rstrip() for line in TOKEN.sub(replace, source).splitlines())
    return "\n".join(line for line in lines if line)


def check_header(source: str, code: str) -> list[str]:
    """Compares what the header of `source` names with what `code` uses; returns what differs."""
    header = header_lines(source)
    problems = [] if header else ["the first line is no comment"]
    results = results_of(header)
    if not results:
        problems.append("the header names no result (-- returns  ...)")
    problems += check_results(results)
    named: dict[str, dict[int, bool]] = {"KEYS": {}, "ARGV": {}}
    for line in header:
        problems += note_named(line, named)
    bare = TOKEN.sub("''", code)
    for array, indexes in named.items():
        uses = [use["index"] for use in USED.finditer(bare) if use["list"] == array]
        problems += compare(array, indexes, uses)
    return problems


def header_lines(source: str) -> list[str]:
    lines = []
    for line in source.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line)
    return lines


def results_of(header: list[str]) -> list[str]:
    return [entry["result"] for line in header if (entry := RETURNS.match(line))]


def check_results(results: list[str]) -> list[str]:
    problems = [f"not a result: {result}" for result in results if not is_result(result)]
    arrays = [entry["array"] for result in results if (entry := RESULT.match(result))]
    if len({array_of(array, "") for array in arrays if array}) > 1:
        problems.append("arrays of numbers with names, and others: describe the elements of all")
    return problems


def is_result(result: str) -> bool:
    named = RESULT.match(result)
    if named is None or not named["array"]:
        return named is not None
    return is_shaped(named["array"]) or bool(NAMED_NUMBERS.fullmatch(named["array"]))


def elements_of(array: str) -> list[str]:
    """What stands in the braces, without the dots at the end."""
    return array[1:-1].removesuffix(f", {REST}").split(", ")


def is_shaped(array: str) -> bool:
    """Whether it says what each element is, rather than names numbers."""
    return all(ELEMENT.fullmatch(element) for element in elements_of(array))


def replies_of(source: str, name: str) -> str:
    """The replies that the header of `source` names, as C++ writes resp::ReplyKinds."""
    results = named_results(source)
    kinds = sorted({kind for named in results if (kind := kind_of(named))})
    allowed = " | ".join(f"resp::ReplyKind::{kind}" for kind in kinds) or "resp::ReplyKind::kNil"
    text = f"resp::ReplyKinds({allowed})" + within(*numbers_of(source))
    if "decimal" in {named["kind"] for named in results}:
        text += ".decimal()"
    arrays = {array_of(named["array"], name) for named in results if named["array"]}
    return text + "".join(f".arrays_of({each})" for each in sorted(arrays))


def shape_of(script: Script) -> list[str]:
    """The arrays whose elements the header describes, as C++ declares resp::ArrayShape."""
    arrays = [each for each in script.results if each.startswith("{") and is_shaped(each)]
    if not arrays:
        return []
    elements: list[str] = []
    rows: list[str] = []
    for array in arrays:
        size = len(elements_of(array))
        repeated = size if array.endswith(f"{REST}}}") else 0
        rows.append(f"{{{script.identifier}_elements + {len(elements)}, {size}, {repeated}}}")
        elements += [f"    {element_of(element)}," for element in elements_of(array)]
    return [
        f"inline constexpr resp::ReplyKinds {script.identifier}_elements[] = {{",
        *elements,
        "};",
        f"inline constexpr resp::ArrayRow {script.identifier}_rows[] = {{{', '.join(rows)}}};",
        f"inline constexpr resp::ArrayShape {shape_name(script.name)}{{{script.identifier}_rows}};",
    ]


def element_of(text: str) -> str:
    """An element, as C++ writes resp::ReplyKinds."""
    named = ELEMENT.fullmatch(text)
    if named is None:
        raise ValueError(text)
    if named["kind"]:
        of_digits = ".decimal()" if named["kind"] == "decimal" else ""
        return f"resp::ReplyKinds(resp::ReplyKind::kText){of_digits}"
    integer = "resp::ReplyKinds(resp::ReplyKind::kInteger)"
    return integer + within(least_of(named), most_of(named))


def named_results(source: str) -> list[re.Match[str]]:
    results = results_of(header_lines(source))
    return [named for each in results if (named := RESULT.match(each))]


def within(least: int | None, most: int | None) -> str:
    low = "resp::ReplyKinds::kLeast" if least is None else least
    high = "resp::ReplyKinds::kMost" if most is None else most
    return "" if least is most is None else f".within({low}, {high})"


def numbers_of(source: str) -> tuple[int | None, int | None]:
    """The range of the numbers among the replies."""
    numbers = [named for named in named_results(source) if kind_of(named) == "kInteger"]
    return bound(map(least_of, numbers), min), bound(map(most_of, numbers), max)


def bound(limits: Iterable[int | None], choose: Callable[[list[int]], int]) -> int | None:
    limits = list(limits)
    known = [limit for limit in limits if limit is not None]
    return choose(known) if known and len(known) == len(limits) else None


def least_of(number: re.Match[str]) -> int | None:
    """The least number that a result allows; None: there is no limit."""
    if number["number"]:
        return int(number["number"])
    if not number["limit"] or number["order"].startswith("<"):
        return None
    return int(number["limit"]) + (number["order"] == ">")


def most_of(number: re.Match[str]) -> int | None:
    """The same of the highest."""
    if number["number"]:
        return int(number["number"])
    if not number["limit"] or number["order"].startswith(">"):
        return None
    return int(number["limit"]) - (number["order"] == "<")


def kind_of(named: re.Match[str]) -> str:
    """The kind of a result, as resp::ReplyKind has it; empty for an error."""
    if named["array"]:
        return "kArray"
    return KINDS.get(named["kind"], "kInteger")


def array_of(text: str, name: str) -> str:
    """What an array is, as C++ writes the argument of resp::ReplyKinds::arrays_of()."""
    if is_shaped(text):
        return shape_name(name)
    if REST not in text:
        return "resp::ReplyKinds::Array::kFew"
    return f"resp::ReplyKinds::Array::{'kPlaces' if text.startswith('{i,') else 'kEach'}"


def shape_name(name: str) -> str:
    return f"{name.replace('/', '_')}_arrays"


def note_named(line: str, named: dict[str, dict[int, bool]]) -> list[str]:
    """Adds what a header line names to `named`: array -> index -> whether open-ended."""
    entry = NAMED.match(line)
    if entry is None:
        return []
    index = OPEN_INDEX.fullmatch(entry["index"])
    if index is None or not WHAT.match(entry["rest"]):
        return [f"not of the form '-- {entry['list']}[n]  name: what': {line}"]
    number = int(index["first"])
    if number in named[entry["list"]]:
        return [f"{entry['list']}[{number}] is named twice"]
    named[entry["list"]][number] = index["open"] is not None
    return []


def number_of(array: str, source: str) -> int | None:
    """How many of `array` the script takes; None where it takes any number."""
    named = [entry for line in header_lines(source) if (entry := NAMED.match(line))]
    indexes = [entry["index"] for entry in named if entry["list"] == array]
    return None if any(index.endswith("...") for index in indexes) else len(indexes)


def compare(array: str, named: dict[int, bool], uses: list[str | None]) -> list[str]:
    """Compares the named indexes with the uses (None: by an index that is no number)."""
    rest = next((index for index, is_open in named.items() if is_open), None)
    single = named.keys() - {rest}
    used = {int(use) for use in uses if use is not None}
    if rest is not None:
        used -= {index for index in used if index >= rest}
    problems = differences(array, single, used)
    if sorted(named) != list(range(1, len(named) + 1)):
        problems.append(f"the named {array} are not 1 to {len(named)}")
    if (None in uses) != (rest is not None):
        problems.append(f"{array}[n...] is for what is read by more than numbers, and only that")
    return problems


def differences(array: str, named: set[int], used: set[int]) -> list[str]:
    return [
        *(f"{array}[{index}] is used but not named" for index in sorted(used - named)),
        *(f"{array}[{index}] is named but not used" for index in sorted(named - used)),
    ]


def header_text(scripts: list[Script]) -> str:
    """Returns the C++ header that declares `scripts` in holdfast::script::lua."""
    parts = [
        "// Made by cmake/embed_lua.py from lua/; changes belong there.",
        "#pragma once",
        "",
        '#include "redis/script/writer.h"',
        "",
        "namespace holdfast::script::lua {",
    ]
    for script in scripts:
        parts += [
            "",
            *shape_of(script),
            f"inline constexpr Script {script.identifier}{{",
            f'    "{script.name}",',
            f'    "{script.sha1}",',
            f'    R"{DELIMITER}({script.text}){DELIMITER}",',
            f"    {script.replies},",
            f"    {script.keys or 0}, {script.args or 0}, {json.dumps(script.head)}}};",
        ]
    every = ", ".join(f"&{script.identifier}" for script in scripts)
    parts += ["", f"inline constexpr const Script* all[] = {{{every}}};"]
    parts += ["", "}  // namespace holdfast::script::lua", ""]
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Embeds the Lua scripts.")
    parser.add_argument("root", type=Path, help="the folder lua/")
    output = parser.add_mutually_exclusive_group(required=True)
    output.add_argument("--header", type=Path, help="the C++ header to write")
    output.add_argument("--json", action="store_true", help="print the scripts as JSON")
    options = parser.parse_args()
    try:
        scripts = load(options.root)
    except ScriptError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        json.dump({script.name: entry_of(script) for script in scripts}, sys.stdout)
    else:
        write_header(options.header, header_text(scripts))
    return 0


def entry_of(script: Script) -> dict[str, object]:
    return {
        "sha1": script.sha1,
        "text": script.text,
        "results": script.results,
        "keys": script.keys,
        "args": script.args,
    }


def write_header(path: Path, text: str) -> None:
    """Leaves a header that is right as it is, so that what includes it is not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
