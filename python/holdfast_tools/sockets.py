"""Bare sockets to a server, without the library's engine."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.servers import Deployment, Tls

__all__ = ["connect", "connect_to", "with_tls"]

#: Seconds.
TIMEOUT = 5.0


def connect(host: str, port: int) -> socket.socket:
    """A socket with ``TCP_NODELAY``."""
    stream = socket.create_connection((host, port), TIMEOUT)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def connect_to(deployment: Deployment) -> socket.socket:
    """A socket to one of a client's primaries, with its TLS settings; nothing is sent on it."""
    path, tls = deployment.addresses[0][2], deployment.tls
    if path:
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(TIMEOUT)
        stream.connect(path)
        return stream
    host, port = deployment.primary_addresses()[0]
    plain = connect(host, port)
    return plain if tls is None else with_tls(plain, host, _context(tls))


def with_tls(plain: socket.socket, host: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    """The socket with TLS, after the handshake; where that fails it is closed."""
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def _context(tls: Tls) -> ssl.SSLContext:
    """The TLS settings of a client's connections."""
    directory = bool(tls.ca) and Path(tls.ca).is_dir()
    context = ssl.create_default_context(
        cafile=None if directory else tls.ca or None, capath=tls.ca if directory else None
    )
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        context.load_cert_chain(tls.certificate, tls.key or None)
    return context
