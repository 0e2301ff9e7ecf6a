"""The tools of operators beside the library: the command ``holdfast``, and what it shows.

They use the public interface of ``holdfast`` only.
"""

from __future__ import annotations

__all__ = ["version_line"]


def version_line() -> str:
    """The versions of the package and of the libraries in its engine."""
    from holdfast import __version__
    from holdfast.integration import versions

    hiredis, openssl = versions()
    tls = f"OpenSSL {openssl}" if openssl else "without TLS"
    return f"holdfast {__version__} (engine {__version__}, hiredis {hiredis}, {tls})"
