"""What must hold of every answer, whichever language model gives it: here two real ones.

Not part of the ordinary tests, because a gigabyte is fetched and the questions take minutes: `make test-llm`
runs it, by the name of the file. The table of what was right, refused and dropped is printed (`-s`). It
depends on the model; nothing here asks that a model be clever.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks import real_model
from benchmarks.real_model import Heard
from benchmarks.real_server import run_server
from benchmarks.real_weights import MODELS, QWEN, Weights, cache, fetch, server_code
from octavo.library import Library
from octavo.llm.prompts import TOOL_NAMES
from octavo.types import RefusalReason
from octavo.validation import QuestionStatus
from octavo.verification.check import check as borne_out

THREADS, SECONDS = int(os.environ.get("OCTAVO_TEST_THREADS", "1")), 180.0


@dataclass(frozen=True, slots=True)
class Session:
    """The twenty questions, as one model answered them, and the library that they are on record in."""

    weights: Weights
    data: Path
    heard: list[Heard]


@pytest.fixture(scope="module", params=MODELS)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Session:
    faulthandler.cancel_dump_traceback_later()  # twenty questions take longer than a test that hangs
    weights, folder, data = MODELS[request.param], cache(), tmp_path_factory.mktemp(request.param)
    with run_server(server_code(folder), fetch(weights, folder), threads=THREADS) as url:
        questions = real_model.hear_all(data, weights, url, real_model.QUESTIONS, seconds=SECONDS)
        heard = asyncio.run(questions)
    print(f"\n{real_model.table(weights.name, heard)}\n")
    return Session(weights, data, heard)


def test_every_question_ends_in_an_answer_or_in_a_refusal_of_a_known_kind(session: Session) -> None:
    assert len(session.heard) == len(real_model.QUESTIONS) == 20
    for heard in session.heard:
        refusal = heard.answer.refusal
        if refusal is None:
            assert heard.claims
            assert heard.answer.citations
        else:
            assert refusal.reason in RefusalReason
            assert not heard.claims
            assert not heard.answer.citations


def test_every_published_sentence_is_borne_out_by_what_it_cites(session: Session) -> None:
    for heard in session.heard:
        for claim in heard.claims:
            quoted = [heard.answer.citations[number - 1] for number in claim.citations]
            assert quoted, claim.text
            passages = [f"{' . '.join(c.chunk.heading_path)} . {c.chunk.content}" for c in quoted]
            assert borne_out(claim.text, passages).supported, (claim.text, passages)
            quotations = " ".join(citation.content_snippet for citation in quoted)
            assert _long_numbers(claim.text) <= _long_numbers(quotations), claim.text


def _long_numbers(text: str) -> set[str]:
    """Those that nobody writes in words."""
    return set(re.findall(r"\d{3,}", text.replace(",", "")))


def test_no_id_mark_link_or_tool_reaches_the_reader(session: Session) -> None:
    for heard in session.heard:
        for claim in heard.claims:
            shown = " ".join(heard.answer.citations[n - 1].content_snippet for n in claim.citations)
            for found in re.findall(r"\bs\d+\b|https?://\S+|<<<|\{\"|【", claim.text):
                assert found in shown, claim.text
            assert not [name for name in TOOL_NAMES if name in claim.text and name not in shown]


async def test_every_citation_is_true_to_the_letter_and_every_question_is_on_record(session: Session) -> None:
    async with Library.open(session.data) as library:
        verdicts = await library.verify()
        for heard in session.heard:
            entry = await library.conversations.find_exchange(heard.answer.id)
            answered = heard.answer.refusal is None
            assert entry.question.status is (
                QuestionStatus.COMPLETED if answered else QuestionStatus.INSUFFICIENT_DATA
            )
    assert len(verdicts) == sum(len(heard.answer.citations) for heard in session.heard)
    assert all(verdict.true for verdict in verdicts)


def test_the_reader_learns_who_answered_and_what_it_cost(session: Session) -> None:
    for heard in session.heard:
        assert heard.answerer == session.weights.name or heard.fell_back, heard.answerer
        assert 1 <= heard.spent("turns") <= 4  # a model that takes too long has no tokens on its bill
        for text, why in heard.dropped:
            assert text
            assert why


def test_the_model_was_heard_and_not_only_the_offline_answerer(session: Session) -> None:
    """Of a model that writes well, at least; the other is there for what a verifier is for."""
    by_model = [heard for heard in session.heard if not heard.fell_back]
    dropped = [why for heard in session.heard for _, why in heard.dropped]
    assert by_model if session.weights is QWEN else dropped
