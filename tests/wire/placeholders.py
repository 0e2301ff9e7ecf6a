"""What the placeholders of a recording stand for when a scenario is played."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.wire.recordings import Key

PLACEHOLDER = re.compile(r"<[AB]>:<t\d+>|<(id|token)\d+>")
PERMIT = re.compile(r"[0-9a-f]{32}")


class Placeholders:
    """Owners are said beforehand; permits and tokens are learned where they are first seen."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}

    def __setitem__(self, part: str, field: str) -> None:
        """Say what field the owner has who plays this part, e.g. `A:t1`."""
        client, owner = part.split(":")
        self._real[f"<{client}>:<{owner}>"] = field

    def expect(self, recorded: Any, there: Any) -> Any:
        """What was recorded, with what its placeholders stand for; `there` is what they meet.

        A placeholder that is met for the first time stands for what is there, if that can be: no
        permit is given twice, and every new token is greater than all before it.
        """
        if isinstance(recorded, str):
            self._learn([recorded], [there])
            return self._with_real(recorded)
        if isinstance(recorded, Key):
            value = there.value if isinstance(there, Key) else None
            return replace(recorded, value=self.expect(recorded.value, value))
        if isinstance(recorded, dict):
            return self._expect_dict(recorded, there if isinstance(there, dict) else {})
        if isinstance(recorded, (list, tuple)):
            return type(recorded)(self.expect(each, None) for each in recorded)
        return recorded

    def _expect_dict(self, recorded: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
        self._learn(recorded, there)
        real = {name: self._with_real(name) for name in recorded}
        return {real[n]: self.expect(value, there.get(real[n])) for n, value in recorded.items()}

    def _with_real(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda found: self._real.get(found[0], found[0]), text)

    def _learn(self, recorded: Iterable[str], there: Iterable[Any]) -> None:
        """If one that is not known meets one that is new, that is it."""
        for word, is_new in (("id", self._is_new_permit), ("token", self._is_new_token)):
            unknown = [each for each in recorded if re.fullmatch(rf"<{word}\d+>", each)]
            unknown = [each for each in unknown if each not in self._real]
            new = [each for each in there if isinstance(each, str) and is_new(each)]
            if len(unknown) == len(new) == 1:
                self._real[unknown[0]] = new[0]

    def _is_new_permit(self, text: str) -> bool:
        return bool(PERMIT.fullmatch(text)) and text not in self._real.values()

    def _is_new_token(self, text: str) -> bool:
        before = [int(real) for name, real in self._real.items() if name.startswith("<token")]
        return text.isdigit() and int(text) > max(before, default=0)
