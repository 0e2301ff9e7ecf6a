"""What the inspector is expected to see of recorded keys."""

from __future__ import annotations

import time
from typing import Any

from tests.wire.recordings import NEVER, Key

CLIENTS = {
    "<A>": "5921d8b5-5d8d-4a2b-800b-a469f20f66c2",
    "<B>": "0f66c2a4-2b5d-4d8d-8a2b-80b5a469f259",
}


def spelled(text: str) -> str:
    """A recorded text with ids in the place of its placeholders."""
    for placeholder, client in CLIENTS.items():
        text = text.replace(placeholder, client)
    return text.replace("<t", "").replace("<token", "").replace("<head>", "").replace(">", "")


def permit(placeholder: str) -> bytes:
    return placeholder.encode().ljust(16, b"\x00")[:16]


def put(connection: Any, name: str, key: Key) -> None:
    """Make the key as it was recorded."""
    name = spelled(name)
    if key.kind == "hash":
        connection.hset(name, mapping={spelled(f): v for f, v in key.value.items()})
    elif key.kind == "list":
        connection.rpush(name, *map(spelled, key.value))
    elif key.kind == "zset":
        connection.zadd(name, {_member(m): _score(s) for m, s in key.value.items()})
    else:
        connection.set(name, spelled(str(key.value)))
    if key.ttl is not None:
        connection.pexpire(name, _ahead(key.ttl.expected))


def _member(text: str) -> bytes:
    return permit(text) if text.startswith("<id") else spelled(text).encode()


def _score(score: Any) -> int:
    """Recorded as a number of itself, or as a time from now."""
    return (
        int(score) if isinstance(score, float) else int(time.time() * 1000) + _ahead(score.expected)
    )


def _ahead(recorded: float) -> int:
    """Milliseconds from now: what was not over when it was recorded is not over in a minute."""
    return int(recorded if recorded <= 0 else max(recorded, 60_000))


def expected(keys: dict[str, Key]) -> dict[str, Any]:
    """By name: the kind, and id, holds and mode of each owner."""
    found: dict[str, Any] = {}
    for name, key in keys.items():
        if key.kind == "hash":
            queue = keys.get(f"redisson_lock_queue:{{{name}}}")
            living = [field for field in key.value if _is_alive(keys, name, field)]
            found[name] = (_kind(key, queue), sorted(_owner(key, field) for field in living))
        elif name.endswith(":timeout"):
            out = sorted((permit(member).hex(), 1, "") for member in _living(key))
            if out:
                found[name[1:].removesuffix("}:timeout")] = ("permit_semaphore", out)
    return found


def _is_alive(keys: dict[str, Key], name: str, field: str) -> bool:
    """A reader of several whose timeout keys are gone holds nothing any more."""
    if field == "mode":
        return False
    fields = keys[name].value
    if "mode" not in fields or field.endswith(":write") or len(fields) == 2:
        return True
    return any(key.startswith(f"{{{name}}}:{field}:rwlock_timeout:") for key in keys)


def _kind(key: Key, queue: Key | None) -> str:
    if "mode" in key.value:
        return "read_write_lock"
    return "lock" if queue is None else "fair_lock"


def _owner(key: Key, field: str) -> tuple[str, int, str]:
    owner = spelled(field)
    mode = "write" if owner.endswith(":write") else "read"
    return owner.removesuffix(":write"), int(key.value[field]), mode if "mode" in key.value else ""


def _living(key: Key) -> list[str]:
    return [
        m for m, score in key.value.items() if score == NEVER or _score(score) > time.time() * 1000
    ]
