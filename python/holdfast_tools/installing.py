"""How an extra is installed: from where this package came from."""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

__all__ = ["install_line"]

DISTRIBUTION: Final = "holdfast-locks"


def install_line(extra: str) -> str:
    """The command that installs an extra of this package.

    It names the clone, the archive or the repository that the package was installed from. Only a
    package that came from an index, of which pip keeps no record, is named as that index does.
    """
    record = _record()
    url = str(record.get("url", ""))
    if not url:
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    if "vcs_info" in record:
        vcs = record["vcs_info"]
        return f"pip install '{DISTRIBUTION}[{extra}] @ {vcs['vcs']}+{url}@{vcs['commit_id']}'"
    parts = urlsplit(url)
    if parts.scheme != "file":
        return f"pip install '{DISTRIBUTION}[{extra}] @ {url}'"
    path = Path(url2pathname(parts.path))
    editable = "-e " if record.get("dir_info", {}).get("editable") else ""
    place = "." if path == Path.cwd() else str(path)
    return f"pip install {editable}{shlex.quote(f'{place}[{extra}]')}"


def _record() -> dict[str, Any]:
    """What pip wrote of the origin (PEP 610); empty for a package of an index."""
    try:
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, Any] = json.loads(text) if text else {}
    return found
