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
_NOTICE = re.compile(r"I found no answer to this (?:half|part): “[^“”]+”")


@dataclass(frozen=True, slots=True)
class ToldAnswer:
    """What a reader was told in the end, and by whom."""

    answer: Answer
    answerer: str
    claims: tuple[Claimed, ...]
    dropped: tuple[tuple[str, str], ...]


@asynccontextmanager
async def open_library_with_model(
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


async def ask_question(library: Library, question: str, *, scope: Scope | None = None) -> ToldAnswer:
    events = [event async for event in library.stream(question, scope=scope)]
    last = events[-1]
    assert isinstance(last, Answered)
    claims = tuple(event for event in events if isinstance(event, Claimed))
    return ToldAnswer(last.answer, last.answerer, claims, last.dropped)


def find_case(request: ModelRequest) -> int:
    """The number that a question carries, so that one script can serve many questions at once."""
    found = _CASE.search(request.text)
    assert found, "the question does not reach the model"
    return int(found[1])


def strip_markup(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().rstrip(".")


def is_notice(claim: Claimed) -> bool:
    """Whether a line says of nothing but a half of the question that it has no answer."""
    return not claim.citations and _NOTICE.fullmatch(claim.text) is not None


def list_unsupported(said: ToldAnswer) -> list[str]:
    """Published sentences that do not stand, word for word, in what they cite."""
    found = []
    for claim in said.claims:
        if is_notice(claim):
            continue
        snippets = [said.answer.citations[number - 1].content_snippet for number in claim.citations]
        if strip_markup(claim.text) not in strip_markup(" ".join(snippets)):
            found.append(claim.text)
    return found


def assert_true_to_the_book(said: ToldAnswer, texts: Mapping[str, str]) -> None:
    """Every sentence published stands, word for word, in what it cites, and that stands in the book."""
    answer = said.answer
    if answer.refusal is not None:
        assert not said.claims
        assert not answer.citations
        return
    assert not all(map(is_notice, said.claims))
    assert list_unsupported(said) == []
    book = {name: strip_markup(text) for name, text in texts.items()}
    for citation in answer.citations:
        assert any(strip_markup(citation.content_snippet) in text for text in book.values())
    without = re.sub(r"\s*\[\d+\]", "", answer.content)
    assert strip_markup(without).replace(".", "") == strip_markup(
        " ".join(c.text for c in said.claims)
    ).replace(".", "")


def assert_marked(said: ToldAnswer) -> None:
    """The reader learns who answered: the model, or the offline answerer and why."""
    assert said.answerer == MODEL or re.fullmatch(r"offline, because \S.+", said.answerer), said.answerer
