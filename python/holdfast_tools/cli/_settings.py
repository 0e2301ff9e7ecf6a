"""Shared by all commands: the client, the types of arguments, the option ``--json``."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from holdfast import Client, HoldfastError, inspect, servers

if TYPE_CHECKING:
    from collections.abc import Callable

    BytesType = click.ParamType[bytes]
else:
    BytesType = click.ParamType  # not generic in older versions

__all__ = ["NAME", "SecondsType", "Settings", "as_json", "json_option", "written"]

#: A byte as ``ls`` writes it.
BYTE: Final = re.compile(rb"\\x([0-9a-f]{2})")

#: How a shell asks for completions: it waits for them.
HASTE: Final[dict[str, Any]] = {"connect_timeout": 0.5, "command_timeout": 1.0, "retries": 0}


@dataclass(frozen=True)
class Settings:
    """The options before the command; a context's ``obj``."""

    url: str | None

    def client(self, **options: Any) -> Client:
        """A client for the command, to be closed by it."""
        return Client(self.url, **options)


class SecondsType(click.FloatRange):
    """A number of seconds; not NaN, which lies in every range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail("it must be a number", param, ctx)
        return seconds


class NameType(BytesType):
    """A name or a pattern: the bytes of the command line."""

    name = "name"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        encoded = value if isinstance(value, bytes) else os.fsencode(value)
        if not encoded:
            self.fail("it must not be empty", param, ctx)
        return encoded

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names of held locks; empty if the server does not answer at once.

        Names that no person could type, as they are not shown as they are, are left out, and so
        are those that look like options, or like a home directory, which fish does not quote.
        """
        url = ctx.find_root().params.get("url") or os.environ.get("HOLDFAST_URL")
        pattern = inspect.escaped(os.fsencode(incomplete)) + b"*"
        try:
            with Client(url, **HASTE) as client:
                found = inspect.locks(client, pattern)
        except (HoldfastError, ValueError):
            return []
        names = [(info.name, os.fsdecode(info.raw_name)) for info in found]
        return [
            CompletionItem(name) for shown, name in names if shown == name and name[0] not in "-~"
        ]


NAME = NameType()


def written(client: Client, name: bytes, *, beside: str | None = None) -> bytes:
    r"""A name that may be written as ``ls`` does, with ``\xNN`` for bytes that cannot be shown.

    It is taken as it is where a key has it, or none has the other one. ``beside``: the name of the
    key beside it that is looked for, as ``servers.key_beside`` has it; ``None``: its own.
    """
    raw = BYTE.sub(lambda byte: bytes.fromhex(byte[1].decode()), name)
    if raw == name or _is_there(client, name, beside) or not _is_there(client, raw, beside):
        return name
    return raw


def _is_there(client: Client, name: bytes, beside: str | None) -> bool:
    full = client.name_prefix + name
    key = full if beside is None else servers.key_beside(beside, full)
    [reply] = servers.send(client, full, [(b"EXISTS", key)])
    if isinstance(reply, Exception):
        raise reply
    return bool(reply)


json_option: Callable[[Any], Any] = click.option(
    "--json", "wants_json", is_flag=True, help="Print JSON and nothing else."
)


def as_json(value: Any) -> str:
    """The text that ``--json`` prints."""
    return json.dumps(value)
