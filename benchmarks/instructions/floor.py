"""The least program of trio that sends the commands of a pair and waits for each reply.

One system task waits until the socket is readable, and continues the task that waits. It knows no
owner, lease, loss, time-out or cancellation; what a pair takes more is the price of those.
"""

from __future__ import annotations

import hashlib
import socket
from urllib.parse import urlsplit

import outcome
import trio

#: As the library's, in number and size of their arguments.
ACQUIRE = (
    "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1) "
    "redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])"
)
RELEASE = (
    "if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end "
    "redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], ARGV[1]) return 1"
)
OWNER = "8743c9c0-0795-4907-87fd-6c719a6b4586:1"
CHANNEL = "redisson_lock__channel:{instructions}"


def words(*parts: str) -> bytes:
    """A command of RESP."""
    text = "".join(f"${len(part)}\r\n{part}\r\n" for part in parts)
    return f"*{len(parts)}\r\n{text}".encode()


def pairs(url: str, amount: int) -> int:
    """Do it so often."""
    address = urlsplit(url)
    connection = socket.create_connection((address.hostname or "", address.port or 0))
    for script in (ACQUIRE, RELEASE):
        connection.sendall(words("SCRIPT", "LOAD", script))
        connection.recv(4096)
    connection.setblocking(False)
    sha1, sha2 = (hashlib.sha1(text.encode()).hexdigest() for text in (ACQUIRE, RELEASE))
    waiting: list[trio.lowlevel.Task] = []

    async def read() -> None:
        while True:
            await trio.lowlevel.wait_readable(connection)
            trio.lowlevel.reschedule(waiting.pop(), outcome.Value(connection.recv(4096)))

    async def ask(command: bytes) -> bytes:
        connection.send(command)
        waiting.append(trio.lowlevel.current_task())
        reply: bytes = await trio.lowlevel.wait_task_rescheduled(
            lambda _: trio.lowlevel.Abort.FAILED
        )
        return reply

    async def main() -> None:
        trio.lowlevel.spawn_system_task(read)
        for _ in range(amount):
            await ask(words("EVALSHA", sha1, "2", "instructions", CHANNEL, "30000", OWNER))
            await ask(words("EVALSHA", sha2, "2", "instructions", CHANNEL, "0", OWNER))

    trio.run(main)
    connection.close()
    return amount
