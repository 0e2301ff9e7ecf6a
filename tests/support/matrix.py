"""pytest plugin: how many servers, kinds of locks and values a run of the tests goes through.

`pytest` is the quick run, `pytest --matrix full` the full one:

| | quick | full |
|---|---|---|
| a test that uses a server | on one of the installed kinds, chosen by a hash of its id | on each |
| a test for all kinds of locks | the lock by sync and by asyncio, others by one | by both |
| a test for both | a few dozen also by trio; `--flavours trio`: all, by trio alone | |
| `faults`, `deployments`, `@pytest.mark.costly` | by sync or asyncio, chosen by a hash | by both |
| `@pytest.mark.values(…)` | all on the first kind of lock, one on each other | all on each |
| `@pytest.mark.sampled` | each value of each parameter, not each combination | all |
| `@pytest.mark.slow` | not run, unless named as file.py::test | run |

`--servers valkey` runs the tests that allow it on that kind. `--pairing TEXT` gives each test of a
quick run a server by another hash: several runs, as on several Pythons, pair it with several
servers. A kind of server that is not installed is not collected: the header of the run names it,
and how to install it. `-m` replaces the selection by markers of either run.

Servers and Pythons are tested in pairs and not each with each, which would take a day: a fault of a
server shows with any Python, since the engine writes the same bytes, and a fault of a Python with
any server. So each test runs on each server by one Python, and on each Python by some server.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import shells
from tests.support.servers import DEPLOYMENTS, KINDS, REAL_KINDS, how_to_install, why_absent

TESTS = Path(__file__).resolve().parents[1]
_GROUPS = {"all": KINDS, "real": REAL_KINDS}
_EVERY = (*KINDS, *DEPLOYMENTS)
_MATRIX = pytest.StashKey[str]()
_WANTED = pytest.StashKey[tuple[str, ...]]()
QUICK = "not interop and not browser and not frameworks and not slow"
"""What -m selects in a quick run."""
_FULL = "not interop and not browser and not frameworks"
FLAVOURS = ("sync", "asyncio")
TRIO_SHARES = (15, 10)
"""A run tries one of 15 tests for both flavours, and one of 10 of its cases, by trio, too."""
_SHARES = {"fakeredis": 1}
"""Of the items that may run on any kind of server; 3 for the kinds that are not named."""
_COSTLY = {"deployments", "faults"}
"""Folders of tests that wait for servers; what they look at lies below both flavours."""
_NAMED = pytest.StashKey[bool]()
_SPREAD = pytest.StashKey[bool]()
_TAKE_SECONDS = {"running_clusters", "running_groups", "make_service"}
"""Fixtures whose servers take seconds to start: of a file, all items use the same kind."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--servers",
        default="all",
        help="kinds, by comma: fakeredis, redis, valkey, real, all (default), sentinel, cluster",
    )
    parser.addoption(
        "--matrix",
        choices=("quick", "full"),
        default="quick",
        help="quick (default): one server for each test; full: all servers, kinds and values",
    )
    parser.addoption("--flavours", default="", help="trio: its tasks alone; all they can run")
    parser.addoption(
        "--pairing", default="", help="any text: another choice of the servers of a quick run"
    )


def pytest_configure(config: pytest.Config) -> None:
    for line in (
        "servers(*kinds): the kinds of servers that a test needs; it runs on one, or on each",
        "values(names, values, ids=None): as parametrize; in a quick run all on one kind of lock",
        "costly: takes about a second: a quick run tries each case by one of the two clients",
        "sampled: a table: a quick run tries each value of each parameter, not each combination",
    ):
        config.addinivalue_line("markers", line)
    config.stash[_MATRIX] = config.getoption("--matrix")
    config.stash[_NAMED] = bool(config.args) and all("::" in each for each in config.args)
    config.stash[_WANTED] = _expand(config.getoption("--servers").split(","))
    if not config.option.markexpr:
        config.option.markexpr = _FULL if config.stash[_NAMED] or is_full(config) else QUICK


def flavours_of(metafunc: pytest.Metafunc) -> tuple[str, ...]:
    """The flavours that a test runs by."""
    marker = metafunc.definition.get_closest_marker("flavours")
    allowed: tuple[str, ...] = marker.args if marker else (*FLAVOURS, "trio")
    wanted = metafunc.config.getoption("--flavours")
    if wanted:
        return tuple(each for each in allowed if each in wanted.split(","))
    if marker or is_whole(metafunc.config) or _is_tried(metafunc.definition.nodeid, TRIO_SHARES[0]):
        return allowed
    return FLAVOURS


def _is_tried(key: str, share: int) -> bool:
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % share == 0


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Reads no folder of which a run has no test, unless an argument names it, or a part of it.

    The rules of the checkout are a step of the lint: python -m tools.lint project.
    """
    if collection_path.parent != TESTS:
        return None
    folder = collection_path.name
    left_out = ["project", *["interop"] * ("not interop" in config.option.markexpr)]
    named = any(folder in Path(each.partition("::")[0]).parts for each in config.args)
    return True if folder in left_out and not named else None


def pytest_report_header(config: pytest.Config) -> list[str]:
    wanted = config.stash[_WANTED]
    installed = [kind for kind in wanted if why_absent(kind) is None]
    absent = [kind for kind in wanted if kind not in installed]
    servers = f"servers: {', '.join(installed) or 'none'}"
    if absent:
        missing = (f"{kind} ({how_to_install(kind)})" for kind in absent)
        servers += f"; not installed, so not tested: {', '.join(missing)}"
    return [
        servers,
        shells.report(),
        f"matrix: {config.stash[_MATRIX]}, -m '{config.option.markexpr}'",
    ]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many tests ran on which kind of server."""
    reports = [each for each in terminalreporter.stats.get("passed", ()) if each.when == "call"]
    kinds = Counter(dict(each.user_properties).get("server", "none") for each in reports)
    shares = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
    terminalreporter.write_line(f"passed by server: {shares}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if is_full(metafunc.config) and "server_kind" in metafunc.fixturenames:
        kinds = _allowed(metafunc.definition)
        metafunc.parametrize("server_kind", kinds, indirect=True)
    if not metafunc.definition.stash.get(_SPREAD, False):
        for mark in metafunc.definition.iter_markers("values"):
            metafunc.parametrize(*mark.args, **mark.kwargs)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drop the items that no installed kind of server fits, and what a quick run leaves out."""
    kept = [item for item in items if _fits(item)]
    if not is_whole(config):
        kept = [item for item in kept if not _is_left_out(item)]
        beside = _beside_the_samples(kept)
        kept = [item for item in kept if item not in beside]
    config.hook.pytest_deselected(items=[*set(items).difference(kept)])
    items[:] = kept


def _fits(item: pytest.Item) -> bool:
    if "server_kind" not in _fixtures(item) and item.get_closest_marker("servers") is None:
        return True
    chosen = params_of(item).get("server_kind")
    kinds = server_kinds(item)
    return chosen in kinds if chosen else bool(kinds)


def _is_left_out(item: pytest.Item) -> bool:
    """Whether a quick run tries this kind of lock, or this case, by the other flavour only."""
    params = params_of(item)
    kind, flavour = params.get("kind"), params.get("flavour")
    if flavour is None or item.get_closest_marker("flavours") is not None:
        return False
    if item.config.getoption("--flavours"):
        return False
    if flavour == "trio":
        return not _is_tried(item.nodeid, TRIO_SHARES[1])
    if getattr(kind, "one_flavour_is_enough", False):
        return flavour != choose(FLAVOURS, f"{_name(item)} {kind}")
    costly = item.get_closest_marker("costly") is not None or _folder(item) in _COSTLY
    if not costly or item.get_closest_marker("values") is not None:
        return False
    _, _, case = item.nodeid.partition("[")
    others = [word for word in re.split(r"[-\]]", case) if word not in FLAVOURS]
    pairing = item.config.getoption("--pairing")
    return flavour != choose(FLAVOURS, f"{_name(item)} {'-'.join(others)}{pairing}")


def _beside_the_samples(items: list[pytest.Item]) -> set[pytest.Item]:
    """What a quick run leaves out of tables: items whose values are all in others that it takes."""
    tables = [item for item in items if item.get_closest_marker("sampled") is not None]
    covered: set[tuple[str, str, str]] = set()
    beside = set()
    for item in sorted(tables, key=lambda item: hashlib.sha256(item.nodeid.encode()).digest()):
        values = {(_name(item), name, repr(value)) for name, value in params_of(item).items()}
        if values and values <= covered:
            beside.add(item)
        covered |= values
    return beside


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def is_full(config: pytest.Config) -> bool:
    """Whether this run tries everything on everything."""
    return config.stash[_MATRIX] == "full"


def is_whole(config: pytest.Config) -> bool:
    """Whether this run leaves out no item and no case of the tests that it runs."""
    return is_full(config) or config.stash[_NAMED]


def server_kinds(item: pytest.Item) -> list[str]:
    """The installed kinds of servers that a test can run on."""
    too_fast = any(getattr(value, "hurried", False) for value in params_of(item).values())
    return [kind for kind in _allowed(item) if not (too_fast and kind == "fakeredis")]


def choose_server(item: pytest.Item) -> str:
    """The kind of server that a test runs on in a quick run; the same each time."""
    by_file = _TAKE_SECONDS.intersection(_fixtures(item))
    key = item.nodeid.partition("::")[0] if by_file else item.nodeid
    key += item.config.getoption("--pairing")
    places = [f"{kind} {n}" for kind in server_kinds(item) for n in range(_SHARES.get(kind, 3))]
    return choose(places, key).partition(" ")[0]


def choose(choices: Sequence[str], key: str) -> str:
    """One of `choices` by a hash of `key`; a further choice moves only the keys that get it."""
    return max(choices, key=lambda choice: hashlib.sha256(f"{choice}|{key}".encode()).digest())


def spread(metafunc: pytest.Metafunc, fixture: str, rows: Iterable[Any]) -> None:
    """Parametrize `fixture` by `rows`, and by the test's `values` unless another fixture took them.

    Not where a module or a test has its own. A row leaves out the tests that it names in
    `differs`, if it has such a member.
    """
    test = metafunc.definition
    if fixture not in metafunc.fixturenames or _has_own(metafunc, fixture):
        return
    rows = [row for row in rows if test.name not in getattr(row, "differs", ())]
    names, cells = _take_values(test)
    params = []
    for position, row in enumerate(rows):
        whole = position == 0 or is_full(metafunc.config)
        words = cells if whole else [choose([*cells], f"{test.name} {row}")]
        for word in words:
            label = f"{row}-{word}" if word else str(row)
            params.append(pytest.param(row, *cells[word], id=label))
    metafunc.parametrize([fixture, *names], params, indirect=[fixture])


def _has_own(metafunc: pytest.Metafunc, fixture: str) -> bool:
    marks = metafunc.definition.iter_markers("parametrize")
    return hasattr(metafunc.module, fixture) or any(fixture in mark.args[0] for mark in marks)


def _take_values(test: Any) -> tuple[list[str], dict[str, tuple[Any, ...]]]:
    """The names that a test's `values` are for, and every combination of their values by its id.

    One combination without values when there are none, or when another fixture took them.
    """
    marks = [] if test.stash.get(_SPREAD, False) else [*test.iter_markers("values")]
    test.stash[_SPREAD] = True
    lists = [_Values(*mark.args, **mark.kwargs) for mark in marks]
    names = [name for each in lists for name in each.names]
    return names, dict(_joined(cell) for cell in itertools.product(*(each.cells for each in lists)))


class _Values:
    """The arguments of one `values` mark: `cells` are pairs of an id and values for `names`."""

    def __init__(
        self,
        names: str | Sequence[str],
        values: Iterable[Any],
        ids: Callable[[Any], object] | Iterable[str] = str,
    ) -> None:
        self.names = [names] if isinstance(names, str) else [*names]
        lists = [(value,) if isinstance(names, str) else tuple(value) for value in values]
        if callable(ids):
            words = ["-".join(str(ids(value)) for value in each) for each in lists]
        else:
            words = [*ids]
        self.cells = [*zip(words, lists, strict=True)]


def _joined(cell: Iterable[tuple[str, tuple[Any, ...]]]) -> tuple[str, tuple[Any, ...]]:
    """The ids and the values of one cell of several lists, as if it were of one."""
    words, values = [*zip(*cell, strict=True)] or [(), ()]
    return "-".join(words), tuple(itertools.chain(*values))


def _allowed(node: Any) -> list[str]:
    marker = node.get_closest_marker("servers")
    allowed = set(_expand(marker.args) if marker else _EVERY)
    if "start_server" in _fixtures(node):
        allowed &= set(REAL_KINDS)
    wanted = node.config.stash[_WANTED]
    return [kind for kind in wanted if kind in allowed and why_absent(kind) is None]


def _fixtures(node: Any) -> Sequence[str]:
    return getattr(node, "fixturenames", ())


def params_of(item: pytest.Item) -> dict[str, Any]:
    """The parameters of a test by their names; none where it has no parameters."""
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec is not None else {}


def _expand(words: Iterable[str]) -> tuple[str, ...]:
    kinds: set[str] = set()
    for word in words:
        kinds.update(_GROUPS.get(word, (word,)))
    unknown = kinds - set(_EVERY)
    if unknown:
        raise pytest.UsageError(f"unknown kinds of servers: {sorted(unknown)}")
    return tuple(kind for kind in _EVERY if kind in kinds)
