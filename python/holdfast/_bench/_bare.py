"""A bare socket to one server: the lower bound for any client."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast import _core
from holdfast._errors import ConnectionError, ServerError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Bare"]

TIMEOUT: Final = 5.0
PIECE: Final = 1 << 16
END: Final = b"\r\n"


class Bare:
    """Sends commands that were encoded beforehand, and only counts the lines of the replies."""

    def __init__(self, endpoint: _core.Endpoint, address: tuple[str, int, str]) -> None:
        try:
            self._stream = _connected(endpoint, address)
        except OSError as error:
            msg = f"cannot connect to {address[0] or address[2]}: {error}"
            raise ConnectionError(msg) from error
        if endpoint.password:
            user = (endpoint.username,) if endpoint.username else ()
            self._ask(encoded("AUTH", *user, endpoint.password), "AUTH")
        if _core.database_of(endpoint):
            self._ask(encoded("SELECT", str(_core.database_of(endpoint))), "SELECT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def call(self, commands: bytes, lines: int) -> bytes:
        """Send encoded commands; the replies, which have ``lines`` lines."""
        self._stream.sendall(commands)
        return self.receive(lines)

    def receive(self, lines: int) -> bytes:
        """The bytes received until they have ``lines`` lines."""
        pieces = [self._stream.recv(PIECE)]
        seen = pieces[0].count(END)
        while seen < lines:
            piece = self._stream.recv(PIECE)
            if not piece:
                msg = "the server closed the connection"
                raise ConnectionError(msg)
            # An end of a line may have been cut in two.
            seen += (pieces[-1][-1:] + piece).count(END) - pieces[-1][-1:].count(END)
            pieces.append(piece)
        return b"".join(pieces)

    def _ask(self, command: bytes, what: str) -> None:
        reply = self.call(command, 1)
        if reply.startswith(b"-"):
            text = reply[1:].decode(errors="backslashreplace").strip()
            # An unknown AUTH is repeated with its arguments.
            msg = f"{what} was refused: {text.partition(', with args beginning with')[0]}"
            raise ServerError(msg)


def encoded(*words: str) -> bytes:
    """One command in RESP."""
    parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
    return f"*{len(words)}\r\n{''.join(parts)}".encode()


def _connected(endpoint: _core.Endpoint, address: tuple[str, int, str]) -> socket.socket:
    host, port, path = address
    if path:
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(TIMEOUT)
        stream.connect(path)
        return stream
    plain = socket.create_connection((host, port), TIMEOUT)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _context(endpoint).wrap_socket(plain, server_hostname=host) if endpoint.tls else plain


def _context(endpoint: _core.Endpoint) -> ssl.SSLContext:
    """The TLS settings of the client's connections."""
    verify, authority, certificate, key = _core.tls_options(endpoint)
    directory = bool(authority) and Path(authority).is_dir()
    context = ssl.create_default_context(
        cafile=None if directory else authority or None, capath=authority if directory else None
    )
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key or None)
    return context
