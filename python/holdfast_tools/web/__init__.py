"""``holdfast inspect``: the locks of a server as a live web page.

The page shows what ``holdfast.inspect`` reads. Needs the extra ``web``.
"""

from __future__ import annotations

from .serving import CannotListenError, Options, serve

__all__ = ["CannotListenError", "Options", "serve"]
