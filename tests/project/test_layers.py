"""The layer rule of cpp/, and that the check which holds it can see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.lint import layers

ALLOWED = [
    ("redis/client", '#include "redis/base/status.h"'),
    ("redis/client", '#include "redis/client/reconnecting_stream.h"'),
    ("locks/sync/recipes", '#include "lua_scripts.h"'),
    ("locks/sync/quorum", '#include "locks/sync/operation/operation.h"'),
    ("locks/sync/operation", "#include <vector>"),
    ("redis/resp", "#include <hiredis/hiredis.h>"),
    ("redis/net", "#include <sys/epoll.h>"),
    ("redis/client", "#include <poll.h>"),
    ("redis/client", "void release(Threshold by);  // its owner's lease"),
    ("locks/lease", "class Watchdog;"),
    ("bindings", "#include <pybind11/pybind11.h>"),
]
FORBIDDEN = [
    ("redis/base", '#include "redis/net/endpoint.h"', "redis/net/ does not lie below it"),
    ("redis/net", '  #  include "redis/resp/reply.h"', "redis/resp/ does not lie below it"),
    ("locks/lease", '#include "locks/wait/registry.h"', "locks/wait/ does not lie below it"),
    (
        "locks/sync/recipes",
        '#include "locks/sync/operation/acquire.h"',
        "locks/sync/operation/ does not lie below it",
    ),
    (
        "locks/sync/operation",
        '#include "locks/sync/quorum/gather.h"',
        "locks/sync/quorum/ does not lie below it",
    ),
    ("redis/topology", '#include "locks/lease/hold.h"', "locks/lease/ does not lie below it"),
    ("redis/script", '#include "lua_scripts.h"', "locks/base/ does not lie below it"),
    ("locks/engine", "#include <pybind11/pybind11.h>", "only bindings/ may include"),
    ("locks/engine", "#include <Python.h>", "only bindings/ may include"),
    ("redis/client", "#include <hiredis/hiredis.h>", "only redis/resp/ may include"),
    ("redis/client", "#include <sys/epoll.h>", "which is Linux's"),
    ("locks/lease", '#include "redis/client/connection.h"', 'connection.h" is not public'),
    ("bindings", '#include "locks/lease/watchdog.h"', 'watchdog.h" is not public'),
    ("redis/client", "class ReaderLease;", "ReaderLease: a word of locks"),
    ("redis/topology", "ServerNumber owner_of(Slot);", "owner_of: a word of locks"),
    ("locks/engine", "#include <linux/futex.h>", "which is Linux's"),
    ("redis/client", '#include "link.h"', "names no layer"),
    ("extras", "#include <vector>", "extras is no layer"),
]


def tree_with(root: Path, layer: str, line: str) -> Path:
    folder = root / "cpp" / layer
    folder.mkdir(parents=True)
    (folder / "file.h").write_text(f"#pragma once\n{line}\n")
    return root


@pytest.mark.parametrize(("layer", "line"), ALLOWED)
def test_what_lies_below_may_be_included(tmp_path: Path, layer: str, line: str) -> None:
    assert layers.check(tree_with(tmp_path, layer, line)) == []


@pytest.mark.parametrize(("layer", "line", "reason"), FORBIDDEN)
def test_a_breach_is_named_with_its_place(
    tmp_path: Path, layer: str, line: str, reason: str
) -> None:
    [problem] = layers.check(tree_with(tmp_path, layer, line))
    assert problem.startswith(f"cpp/{layer}/file.h:2: ")
    assert reason in problem
