"""What errors say of an extra works: it is installed from where the package came from."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest

from holdfast_tools.installing import install_line

if TYPE_CHECKING:
    from pathlib import Path

ARCHIVE = "file:///srv/holdfast_locks-0.1.0-cp311-cp311-linux_x86_64.whl"


@pytest.fixture
def came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs a distribution of that name, with pip's record of its origin, before all others."""

    def install(record: dict[str, Any] | None) -> None:
        folder = tmp_path / "site" / "holdfast_locks-0.1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: holdfast-locks\n")
        if record is not None:
            (folder / "direct_url.json").write_text(json.dumps(record))
        monkeypatch.syspath_prepend(str(folder.parent))
        assert metadata.distribution("holdfast-locks").files is None

    return install


def test_a_package_of_an_index_is_named_as_there(came_from: Any) -> None:
    came_from(None)
    assert install_line("cli") == "pip install 'holdfast-locks[cli]'"


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (
            {"url": "file:///srv/a%20clone", "dir_info": {}},
            "pip install '/srv/a clone[cli]'",
        ),
        (
            {"url": "file:///srv/clone", "dir_info": {"editable": True}},
            "pip install -e '/srv/clone[cli]'",
        ),
        (
            {"url": ARCHIVE, "archive_info": {}},
            f"pip install '{ARCHIVE.removeprefix('file://')}[cli]'",
        ),
        (
            {"url": "https://example.org/holdfast.whl", "archive_info": {}},
            "pip install 'holdfast-locks[cli] @ https://example.org/holdfast.whl'",
        ),
        (
            {"url": "https://example.org/h.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}},
            "pip install 'holdfast-locks[cli] @ git+https://example.org/h.git@ab12'",
        ),
    ],
    ids=["clone", "editable", "archive", "web", "repository"],
)
def test_a_package_of_no_index_is_never_sought_there(
    record: dict[str, Any], line: str, came_from: Any
) -> None:
    came_from(record)
    assert install_line("cli") == line


def test_in_the_clone_the_line_is_that_of_the_readme(
    tmp_path: Path, came_from: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_from({"url": tmp_path.as_uri(), "dir_info": {}})
    monkeypatch.chdir(tmp_path)
    assert install_line("cli") == "pip install '.[cli]'"


def test_pip_takes_the_line(tmp_path: Path, came_from: Any) -> None:
    """Of a folder whose name has a space, as pip itself reads it; nothing is installed."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "backend.py").write_text(
        "from pathlib import Path\n"
        "def prepare_metadata_for_build_wheel(folder, settings=None):\n"
        "    to = Path(folder, 'holdfast_locks-0.1.0.dist-info')\n"
        "    to.mkdir()\n"
        "    text = 'Metadata-Version: 2.1\\nName: holdfast-locks\\nVersion: 0.1.0\\n'\n"
        "    (to / 'METADATA').write_text(text + 'Provides-Extra: cli\\n')\n"
        "    return to.name\n"
    )
    came_from({"url": folder.as_uri(), "dir_info": {}})
    pip, *words = shlex.split(install_line("cli"))
    assert pip == "pip"
    command = [sys.executable, "-m", "pip", *words, "--dry-run", "--no-index", "--no-deps"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Would install holdfast-locks-0.1.0" in done.stdout
    assert "does not provide the extra" not in done.stderr
