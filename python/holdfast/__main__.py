"""``python -m holdfast`` is the command ``holdfast``."""

from __future__ import annotations

import sys

from holdfast_tools.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
