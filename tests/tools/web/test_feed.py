"""The feed of the pages, from a reading that is the test's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import HoldfastError

pytest.importorskip("starlette", reason="the inspector needs the extra web")

from holdfast_tools.web import feed as feeds


def test_a_reading_that_fails_by_any_error_ends_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "PERIOD", 0.01)
    failing = True

    def read() -> list[dict[str, Any]]:
        if failing:
            raise OverflowError("of one key")
        return []

    async def watch() -> None:
        nonlocal failing
        feed = feeds.Feed(read)
        with pytest.raises(HoldfastError, match="OverflowError: of one key"):
            await feed.locks()
        stream = feed.stream()
        told = await asyncio.wait_for(anext(stream), 30)
        assert b"event: server" in told
        assert b'"up":false' in told
        failing = False
        told = await asyncio.wait_for(anext(stream), 30)
        assert b'"up":true' in told
        feed.close()
        await stream.aclose()

    asyncio.run(watch())
