"""A question's events: `last` runs them to their end."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from octavo.events import Asked, AskEvent, Scoped, last
from tests.support.builders import make_question


async def replay(*events: AskEvent, closed: list[str] | None = None) -> AsyncGenerator[AskEvent, None]:
    try:
        for event in events:
            yield event
    finally:
        if closed is not None:
            closed.append("closed")


async def test_the_last_event_is_returned_and_every_event_is_reported() -> None:
    first, second = Asked(make_question(), "What?"), Scoped("the whole library")
    seen: list[AskEvent] = []

    async def note(event: AskEvent) -> None:
        seen.append(event)

    assert await last(replay(first, second), on_event=note) is second  # type: ignore[comparison-overlap]
    assert seen == [first, second]


async def test_a_stream_without_events_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="without an answer"):
        await last(replay())


async def test_the_stream_is_closed_when_whoever_watches_it_fails() -> None:
    closed: list[str] = []

    async def fail(event: AskEvent) -> None:
        raise ValueError(event.kind)

    with pytest.raises(ValueError, match="scoped"):
        await last(replay(Scoped("here"), Scoped("there"), closed=closed), on_event=fail)
    assert closed == ["closed"]
