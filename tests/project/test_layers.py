"""The layer rule of cpp/, and that the check which holds it can see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.lint import layers

ALLOWED = [
    ("client", '#include "base/status.h"'),
    ("client", '#include "client/reconnecting_stream.h"'),
    ("sync/recipes", '#include "lua_scripts.h"'),
    ("sync/quorum", '#include "sync/operation/operation.h"'),
    ("sync/operation", "#include <vector>"),
    ("resp", "#include <hiredis/hiredis.h>"),
    ("net", "#include <sys/epoll.h>"),
    ("client", "#include <poll.h>"),
    ("bindings", "#include <pybind11/pybind11.h>"),
]
FORBIDDEN = [
    ("base", '#include "net/endpoint.h"', "net/ does not lie below it"),
    ("net", '  #  include "resp/reply.h"', "resp/ does not lie below it"),
    ("lease", '#include "wait/registry.h"', "wait/ does not lie below it"),
    (
        "sync/recipes",
        '#include "sync/operation/acquire.h"',
        "sync/operation/ does not lie below it",
    ),
    ("sync/operation", '#include "sync/quorum/gather.h"', "sync/quorum/ does not lie below it"),
    ("client", '#include "lua_scripts.h"', "script/ does not lie below it"),
    ("engine", "#include <pybind11/pybind11.h>", "only bindings/ may include"),
    ("engine", "#include <Python.h>", "only bindings/ may include"),
    ("client", "#include <hiredis/hiredis.h>", "only resp/ may include"),
    ("client", "#include <sys/epoll.h>", "which is Linux's"),
    ("engine", "#include <linux/futex.h>", "which is Linux's"),
    ("client", '#include "link.h"', "names no layer"),
    ("extras", "#include <vector>", "extras is no layer"),
]


def tree_with(root: Path, layer: str, line: str) -> Path:
    folder = root / "cpp" / layer
    folder.mkdir(parents=True)
    (folder / "file.h").write_text(f"#pragma once\n{line}\n")
    return root


def test_no_layer_includes_what_lies_above_it() -> None:
    assert layers.check() == []


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
