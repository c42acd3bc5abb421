"""Libraries that ask a scripted model, and what must be true of every answer whatever that model does."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from octavo.events import Answered, Claimed
from octavo.library import Library
from octavo.limits import AgentLimits
from octavo.settings import Settings
from octavo.testing import ModelRequest, ScriptedModel, TinyEmbedder
from octavo.types import Answer, Scope
from tests.support.patience import PATIENCE

MODEL = "scripted-1"
_CASE = re.compile(r"\bcase (\d+)\b")


@dataclass(frozen=True, slots=True)
class Told:
    """What a reader was told in the end, and by whom."""

    answer: Answer
    answerer: str
    claims: tuple[Claimed, ...]
    dropped: tuple[tuple[str, str], ...]


@asynccontextmanager
async def asking(
    data: Path, model: ScriptedModel, *, mode: str = "auto", api: str = "chat", **limits: Any
) -> AsyncIterator[Library]:
    """A library whose answers come from the scripted model.

    It never leaves the model alone, and publishes whatever is not unsupported.
    """
    allowed = {
        "call_seconds": PATIENCE,
        "seconds": PATIENCE,
        "tool_seconds": PATIENCE,
        "retries": 1,
        "failures": 100_000,
        **limits,
    }
    settings = Settings(
        data=data,
        model=MODEL,
        model_url=model.url,
        model_key="sk-test",
        model_mode=mode,
        model_api=api,
        risk=0.99,
        agent=AgentLimits(**allowed),
    )
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        yield library


async def told(library: Library, question: str, *, scope: Scope | None = None) -> Told:
    events = [event async for event in library.stream(question, scope=scope)]
    last = events[-1]
    assert isinstance(last, Answered)
    claims = tuple(event for event in events if isinstance(event, Claimed))
    return Told(last.answer, last.answerer, claims, last.dropped)


def case_of(request: ModelRequest) -> int:
    """The number that a question carries, so that one script can serve many questions at once."""
    found = _CASE.search(request.text)
    assert found, "the question does not reach the model"
    return int(found[1])


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().rstrip(".")


def unsupported(said: Told) -> list[str]:
    """Published sentences that do not stand, word for word, in what they cite."""
    found = []
    for claim in said.claims:
        snippets = [said.answer.citations[number - 1].content_snippet for number in claim.citations]
        if plain(claim.text) not in plain(" ".join(snippets)):
            found.append(claim.text)
    return found


def assert_true_to_the_book(said: Told, texts: Mapping[str, str]) -> None:
    """Every sentence published stands, word for word, in what it cites, and that stands in the book."""
    answer = said.answer
    if answer.refusal is not None:
        assert not said.claims
        assert not answer.citations
        return
    assert said.claims
    assert unsupported(said) == []
    book = {name: plain(text) for name, text in texts.items()}
    for citation in answer.citations:
        assert any(plain(citation.content_snippet) in text for text in book.values())
    without = re.sub(r"\s*\[\d+\]", "", answer.content)
    assert plain(without).replace(".", "") == plain(" ".join(c.text for c in said.claims)).replace(".", "")


def assert_marked(said: Told) -> None:
    """The reader learns who answered: the model, or the offline answerer and why."""
    assert said.answerer == MODEL or re.fullmatch(r"offline, because \S.+", said.answerer), said.answerer
