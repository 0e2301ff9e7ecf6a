"""Makes the half for tasks of that for threads: `python -m tools.tasks` writes it.

The client for tasks is made whole. In a module `_locks/task_….py`, and in `_locks/tasks.py`, stands
by hand what tasks do otherwise, and a line that begins as one of these, where the rest is made:

    # Made by tools/tasks.py: Parties, once_each        these classes and functions, whole
        # Made by tools/tasks.py, with _watch           the rest of the class of the same name

The rest of a class is each public method that is neither there nor native, and those that the line
names. Of a native method the checks of its arguments are made, after which `_<method>` does it.
What is made ends with its class, or with the line `# By hand:`. The lint compares what is committed
with what this makes, and bounds the lines that are written by hand in both halves.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import textwrap
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.lint.tree import ROOT
from tools.tasks_rules import (
    AT_ONCE,
    CANCELLED,
    CANCELLING,
    CLIENT,
    IMPORTS,
    LINES,
    NAMES,
    SAID,
    TALK,
)

PACKAGE = Path("python/holdfast")
THREADS = PACKAGE / "_clients/threads.py"
TASKS = PACKAGE / "_clients/tasks.py"
FOLDER = PACKAGE / "_locks"
#: Lines of code that stand by hand in both halves, but for imports: `written_twice()`.
MOST_TWICE = 150
MADE = "# Made by tools/tasks.py"
WHOLE = rf"(?P<whole>{MADE}: .*\n(?:#   .*\n)*)(?:.*\n)*?(?=# By hand:|\Z)"
REST = rf"(?P<rest>    {MADE}.*\n)(?:(?!\S).*\n)*"
REGION = re.compile(rf"^(?:{WHOLE}|{REST})", re.MULTILINE)
#: The modules for tasks whose twins do not have the same name.
TWINS = {"tasks": ["threads"], "task_semaphores": ["base", "semaphores", "permit_semaphore"]}
IMPORTED = (ast.Import, ast.ImportFrom)
#: Of a line.
WIDTH = 100
PARAGRAPH = re.compile(r'(?m)^(?P<indent>(?: {4}){1,2})(?!""")\S.*\n(?:(?P=indent)(?!""")\S.*\n)*')


# ---- the client


def client() -> str:
    """The client for tasks."""
    source = (ROOT / THREADS).read_text()
    built = "|".join(
        word
        for word in re.findall(r'Late\("holdfast\._locks\.(\w+)"\)', source)
        if (ROOT / FOLDER / f"task_{word}.py").is_file()
    )
    for pattern, text in CLIENT:
        flags = re.DOTALL if ".*?" in pattern else 0
        source = re.sub(pattern.replace("BUILT", built), text, source, flags=flags)
    for name in CANCELLED:
        begin = source.index(f"    def {name}(")
        end = source.index("\n    def ", begin)
        source = source[:begin] + cancelling(source[begin:end]) + source[end:]
    source = source.replace(
        "from holdfast._locks.base import", IMPORTS + "from holdfast._locks.base import", 1
    )
    return wrapped(formatted(source))


def cancelling(method: str) -> str:
    """The method with the option that only tasks have."""
    for pattern, text in CANCELLING:
        method = re.sub(pattern, text, method)
    return method


# ---- the synchronizers


def module(path: Path) -> str:
    """A module for tasks, with what is made of its twins as they are now."""
    source = (ROOT / path).read_text()
    twins = [(ROOT / twin).read_text() for twin in twins_of(path)]
    for region in reversed([*REGION.finditer(source)]):
        if region["whole"]:
            line = region["whole"]
            names = re.findall(r"\w+", line.removeprefix(MADE))
            made = "\n\n".join(whole(twins, name) for name in names)
        else:
            line, before = region["rest"], source[: region.start()]
            owner = [*re.finditer(r"^class (\w+)", before, re.MULTILINE)][-1]
            there = set(re.findall(r"def (\w+)\(", before[owner.start() :]))
            wanted = set(re.findall(r"\b_\w+", line.removeprefix(f"    {MADE}")))
            made = "\n".join(rest(twins, owner[1], there, wanted))
        source = f"{source[: region.start()]}{line}\n{made}\n\n{source[region.end() :]}"
    return wrapped(formatted(source))


def twins_of(path: Path) -> list[Path]:
    """The modules for threads."""
    stems = TWINS.get(path.stem) or [path.stem.removeprefix("task_")]
    return [path.with_name(f"{stem}.py") for stem in stems]


def found(twins: list[str], name: str) -> tuple[str, Any]:
    """The text of a class or function for threads, and its syntax."""
    name = {tasks: threads for threads, tasks in NAMES.items()}.get(name, name)
    for text in twins:
        for node in ast.parse(text).body:
            if getattr(node, "name", "") == name:
                return text_of(text, node), node
    raise KeyError(name)


def text_of(text: str, node: Any) -> str:
    """The text of a node with its decorators."""
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return "".join(text.splitlines(keepends=True)[first - 1 : node.end_lineno])


def whole(twins: list[str], name: str) -> str:
    """A class or function for tasks."""
    text, node = found(twins, name)
    if isinstance(node, ast.FunctionDef):
        return for_tasks(name, name, text)
    [shifted] = ast.parse(text).body
    assert isinstance(shifted, ast.ClassDef)
    methods = [each for each in shifted.body if isinstance(each, ast.FunctionDef)]
    for method in reversed(methods):
        old = text_of(text, method)
        text = text.replace(old, for_tasks(name, method.name, old))
    for pattern, words in TALK:
        text = re.sub(pattern, words, text)
    return with_names(said(name, text))


def rest(twins: list[str], owner: str, there: set[str], wanted: set[str]) -> Iterator[str]:
    """The methods of a class that are not there, for tasks."""
    text, _ = found(twins, owner)
    [node] = ast.parse(text).body
    assert isinstance(node, ast.ClassDef)
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    checks = {title_of(each): each for each in methods.values() if title_of(each)}
    for name, method in methods.items():
        made = name.replace("__en", "__aen").replace("__ex", "__aex")
        if made in there or not (name in wanted or made in wanted or name[0] != "_"):
            continue
        if not any("native" in ast.unparse(each) for each in method.decorator_list):
            yield with_names(for_tasks(owner, name, text_of(text, method)))
        elif name in checks:
            native = text_of(text, method)
            yield with_names(
                for_tasks(owner, name, after_checks(native, method, text, checks[name]))
            )


def title_of(method: ast.FunctionDef) -> str:
    """The native method whose arguments this one checks."""
    for each in method.decorator_list:
        if isinstance(each, ast.Call) and len(each.args) == 2:
            return str(ast.literal_eval(each.args[1]))
    return ""


def after_checks(native: str, method: ast.FunctionDef, text: str, checks: ast.FunctionDef) -> str:
    """A native method with a body: the checks of its arguments, and what does it afterwards."""
    lines = native.splitlines(keepends=True)
    begin = 1 + next(place for place, line in enumerate(lines) if line.startswith("    @native"))
    declared = method.body[0]
    assert declared.end_lineno is not None
    first = min(each.lineno for each in method.decorator_list)
    head = lines[begin : declared.end_lineno - first + 1]
    *checking, end = checks.body[1:]
    assert isinstance(end, ast.Return)
    assert isinstance(end.value, ast.Tuple)
    source = text.splitlines(keepends=True)
    kept = [line for each in checking for line in source[each.lineno - 1 : each.end_lineno]]
    arguments = ", ".join(ast.unparse(each) for each in end.value.elts)
    [decorator] = [each for each in checks.decorator_list if isinstance(each, ast.Call)]
    refused = f"    @instead_of({ast.unparse(decorator.args[0])})\n"
    result = f"self._{method.name}({arguments})\n"
    returns = method.returns is not None and ast.unparse(method.returns) != "None"
    result = f"        return await {result}" if returns else f"        await {result}"
    return "".join([refused if "{}" not in refused else "", *head, *kept, result])


def for_tasks(owner: str, name: str, method: str) -> str:
    """The method of a class, of that for threads."""
    method = said(f"{owner}.{name}", method)
    if name not in AT_ONCE:
        method = re.sub(r"(?m)^( *)def ", r"\1async def ", method, count=1)
    for pattern, text in LINES:
        method = re.sub(pattern, text, method)
    return cancelling(method) if owner == "RedLock" and name == "__init__" else method


def said(what: str, text: str) -> str:
    """With what only is said of tasks."""
    words = SAID.get(what, ())
    for old, new in zip(words[::2], words[1::2], strict=True):
        assert old in text, f"{what} has no {old!r}"
        text = text.replace(old, new)
    return text


def with_names(text: str) -> str:
    """With the names that are others for tasks."""
    for threads, tasks in NAMES.items():
        text = re.sub(rf"\b{threads}\b", tasks, text)
    return text.replace("  # type: ignore[misc]", "")


# ---- both


def wrapped(source: str) -> str:
    """The same with the paragraphs of docstrings wrapped where a line has become too long."""

    def wrap(paragraph: re.Match[str]) -> str:
        text, indent = paragraph[0], paragraph["indent"]
        if max(map(len, text.splitlines())) <= WIDTH:
            return text
        words = " ".join(text.split())
        lines = textwrap.wrap(
            words,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        return "\n".join(lines) + "\n"

    return PARAGRAPH.sub(wrap, source)


def formatted(source: str) -> str:
    for command in (["ruff", "check", "--fix-only", "-q"], ["ruff", "format", "-q"]):
        words = [*command, "--stdin-filename", str(TASKS), "-"]
        source = subprocess.run(
            words, input=source, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return source


def made() -> Iterator[tuple[Path, str]]:
    """What is made, with what it should be."""
    yield TASKS, client()
    for path in modules():
        yield path, module(path)


def modules() -> list[Path]:
    """The modules with a line of `MADE`."""
    files = sorted((ROOT / FOLDER).glob("task*.py"))
    return [path.relative_to(ROOT) for path in files if MADE in path.read_text()]


# ---- what is written twice


def written_twice() -> dict[str, int]:
    """By module for tasks: its lines by hand that its twins have, too, each as often as there."""
    files = sorted((ROOT / FOLDER).glob("task*.py"))
    counts: dict[str, int] = {}
    for path in files:
        own = Counter(code(REGION.sub("", path.read_text())))
        theirs = Counter(line for twin in twins_of(path) for line in code(twin.read_text()))
        counts[path.stem] = (own & theirs).total()
    return counts


def code(text: str) -> list[str]:
    """Lines of code, without imports, docstrings, comments, and what tells tasks from threads."""
    tree, kept = ast.parse(text), set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string.strip() and token.type != tokenize.COMMENT:
            kept.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and (said or isinstance(node, IMPORTED)):
            kept.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = text.splitlines()
    return [plain(lines[number - 1]) for number in sorted(kept)]


def plain(line: str) -> str:
    line = re.sub(r"\basync |\bawait ", "", line.strip())
    line = re.sub(r"\brequest\((?:\w+\.)*\w+, (.*)\)", r"\1.wait()", line).replace("__a", "__")
    return re.sub(r"\bdrive\((?:\w+\.)*\w+, ", "run(", line)


def check() -> list[str]:
    """Returns a line for each module that is another one, and for too much that is there twice."""
    wrong = [path for path, text in made() if text != (ROOT / path).read_text()]
    problems = [f"{path}: its twin has changed: run python -m tools.tasks" for path in wrong]
    counts = written_twice()
    if sum(counts.values()) > MOST_TWICE:
        problems.append(f"lines by hand in both halves: {counts}, at most {MOST_TWICE} in all")
    return problems


if __name__ == "__main__":
    for each, text in [*made()]:
        (ROOT / each).write_text(text)
    print(written_twice())
