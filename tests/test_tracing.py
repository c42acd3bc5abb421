"""Spans of questions: off unless asked for, and then numbers and ids without a word of the book."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from octavo.errors import ModelError
from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import Claims, ScriptedModel, TinyEmbedder
from octavo.tracing import select_attributes
from tests.support.answerers import FailingAnswerer, add_tides

LOST = "How many boats were lost in the storm?"
STAGES = ("interpret", "scope", "retrieve", "answer", "verify", "record")


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    kept = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):  # a process has one, for good
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return kept


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


def everything(span: ReadableSpan) -> str:
    return str(span.to_json())


async def test_a_question_becomes_a_span_with_one_below_it_for_each_stage(
    data: Path, spans: InMemorySpanExporter
) -> None:
    script = Claims([("Seven boats were lost with all their nets.", ["s2"])])
    async with ScriptedModel(script) as model:
        settings = Settings(data=data, model="some-model", model_url=model.url, tracing=True, risk=0.9)
        async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
            answer = await library.ask(LOST)
    *stages, whole = spans.get_finished_spans()
    assert [span.name for span in stages] == [f"octavo.{stage}" for stage in STAGES]
    assert whole.name == "octavo.ask"
    assert all(span.parent and span.parent.span_id == whole.context.span_id for span in stages)
    told = dict(whole.attributes or {})
    assert told["octavo.answer_id"] == answer.id
    assert told["octavo.question_id"] == answer.question_id
    assert (told["octavo.model.name"], told["octavo.model.failed"]) == ("some-model", False)
    assert (told["octavo.model.calls"], told["octavo.claims"]) == (1, 1)
    for span in (*stages, whole):
        assert not any(word in everything(span) for word in ("boats", "storm", "nets", "Tides"))


async def test_a_failure_is_a_span_with_the_kind_of_the_failure(
    data: Path, spans: InMemorySpanExporter
) -> None:
    settings = Settings(data=data, tracing=True)
    async with Library.open(
        settings=settings, embedder=TinyEmbedder(), answerer=FailingAnswerer()
    ) as library:
        with pytest.raises(ModelError):
            await library.ask(LOST)
    whole = spans.get_finished_spans()[-1]
    assert (whole.status.status_code, whole.status.description) == (trace.StatusCode.ERROR, "ModelError")


async def test_without_the_setting_there_are_no_spans(data: Path, spans: InMemorySpanExporter) -> None:
    async with Library.open(settings=Settings(data=data), embedder=TinyEmbedder()) as library:
        await library.ask(LOST)
    assert spans.get_finished_spans() == ()


def test_of_a_receipt_only_numbers_and_ids_are_told() -> None:
    receipt = {
        "interpreted": LOST,
        "scope": "The Tides",
        "claims": [["Seven boats.", ["s1"]]],
        "confidence": 0.5,
        "model": {"name": "m", "failed": "it cannot be reached", "tokens_in": 3},
    }
    assert select_attributes(receipt, {"question_id": "q", "answer_id": ""}) == {
        "octavo.confidence": 0.5,
        "octavo.claims": 1,
        "octavo.model.name": "m",
        "octavo.model.tokens_in": 3,
        "octavo.model.failed": True,
        "octavo.question_id": "q",
    }
