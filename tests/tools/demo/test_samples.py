"""The samples of the README and of the documentation do what they show, against a real server.

The `python` blocks of a page are run one after the other as one program, with `redis://127.0.0.1:6379/0`
replaced by the URL of the test's server.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.frameworks.test_guides import ELSEWHERE, NEEDS, examples
from tests.support.servers import Server
from tools.lint.tree import ROOT

# Indented ones are in a tab of the site.
SAMPLE = re.compile(r"^( *)```python\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
URL = "redis://127.0.0.1:6379/0"


# Need the packages of frameworks: tests/frameworks runs them.
FRAMEWORKS = {Path("docs/guides") / f"{name}.md" for name in [*NEEDS, *ELSEWHERE]}


def pages() -> list[Path]:
    """The pages with samples, relative to the checkout."""
    texts = [ROOT / "README.md", ROOT / "python/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [path.relative_to(ROOT) for path in texts if samples(path)]
    return [path for path in found if path not in FRAMEWORKS]


def samples(path: Path) -> list[str]:
    found = SAMPLE.findall(path.read_text(encoding="utf-8"))
    return [textwrap.dedent(sample) for _, sample in found]


def test_the_pages_that_users_copy_from_have_samples() -> None:
    assert {"README.md", "docs/start.md", "docs/synchronizers/lock.md"} <= set(map(str, pages()))


def test_every_example_of_every_guide_runs() -> None:
    """Here, in tests/frameworks, or, those of pytest's page, in tests/frameworks/contrib."""
    guides = sorted((ROOT / "docs/guides").glob("*.md"))
    here = {ROOT / page for page in pages()}
    for guide in guides:
        text = guide.read_text(encoding="utf-8")
        begun = len(re.findall(r"^ *```py", text, re.MULTILINE))
        assert begun > 0, guide
        if guide.stem == "pytest":
            assert begun == 2
        elif guide in here:
            assert len(samples(guide)) == begun, guide
        else:
            assert len(examples(guide.stem, URL)) == begun, guide
    for module in ELSEWHERE.values():
        assert (ROOT / "tests/frameworks" / module).exists()


@pytest.mark.servers("redis", "valkey")
@pytest.mark.parametrize("page", pages(), ids=str)
def test_the_samples_of_a_page_run(page: Path, server: Server) -> None:
    """They raise nothing, warn of nothing, and leave no key but tokens and answers that expire."""
    if page.stem in {"gevent", "trio"}:
        pytest.importorskip(page.stem, reason=f"{page.stem} is not installed")
    program = "\n".join(samples(ROOT / page)).replace(URL, server.url)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "HOLDFAST_URL": server.url,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    # A sample that shows a loss has it logged.
    errors = [line for line in run.stderr.splitlines() if not line.startswith("the hold on ")]
    assert (run.returncode, errors) == (0, [])
    assert server.url in program
    assert {key for key in server.keys() if not stays(server, key)} == set()  # noqa: SIM118


def stays(server: Server, key: bytes) -> bool:
    """What is there by design.

    A token, an answer, the number and tokens of slots, the counter of a barrier for a while, and
    the rest of a minimum hold time: its owner's number is 0.
    """
    if key.startswith((b"redisson_lock_token:", b"redisson_request:", b"holdfast_slots:")):
        return True
    if server.inspect.type(key) == b"string":
        of_slots = server.inspect.exists(b"holdfast_slots:{" + key + b"}")
        return bool(of_slots) or server.inspect.pttl(key) > 0
    owners = server.inspect.hkeys(key) if server.inspect.type(key) == b"hash" else []
    return bool(owners) and all(owner.endswith(b":0") for owner in owners)


def test_the_documentation_names_no_missing_file() -> None:
    """Every path of the checkout that a page mentions is there."""
    named = re.compile(r"`((?:cpp|python|lua|tests|tools|cmake)/[\w./-]+\.\w+)`")
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in texts
        for name in named.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    ]
    assert missing == []
