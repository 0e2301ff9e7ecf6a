"""What passes the proxy: the commands in a request, and the messages in what a server sends."""

from __future__ import annotations

from collections.abc import Iterator

MESSAGE = b"3\r\n$7\r\nmessage\r\n"
"""The beginning of a message, but for the first byte, which tells RESP2 from RESP3."""


def commands_in(request: bytes) -> Iterator[bytes]:
    """The names of the commands in a request, as far as they are complete."""
    at = 0
    while request[at : at + 1] == b"*":
        words, at = _count(request, at)
        for word in range(words):
            length, at = _count(request, at)
            if at + length > len(request):
                return
            if word == 0:
                yield request[at : at + length].upper()
            at += length + 2


def around_message(data: bytes) -> tuple[bytes, bytes]:
    """What comes before the first message, and behind it."""
    start = data.index(MESSAGE)
    end = start + len(MESSAGE)
    for _ in ("channel", "payload"):
        length, end = _count(data, end)
        end += length + 2
    return data[: start - 1], data[end:]  # its first byte tells RESP2 from RESP3


def _count(request: bytes, at: int) -> tuple[int, int]:
    """The number in the line at `at` (of a line that is cut off more than can follow), its end."""
    end = request.find(b"\r\n", at)
    return (int(request[at + 1 : end]), end + 2) if end > 0 else (len(request), len(request))
