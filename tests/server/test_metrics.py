"""Metrics: every number in its place, and no word of a book, a question or a key among them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from octavo.errors import ModelError
from octavo.events import Answered, Asked, AskEvent, Embedding, Published, Retrieved, Scoped
from octavo.library import Library
from octavo.records.jobs import JobState
from octavo.server.metrics import STAGES, Metrics
from octavo.testing import Fault, FaultKind, ScriptedModel, TinyEmbedder
from tests.support.answerers import add_tides
from tests.support.book_service import Service, serve_books
from tests.support.builders import make_book, make_question
from tests.support.model_answers import open_library_with_model
from tests.support.obedient_model import ObedientModel

TIDES = b"# Secret Tides\n\nSeven boats were lost in the storm, with all their nets."


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serve_books(tmp_path_factory.mktemp("metrics") / "library") as made:
        assert made.taken_in(TIDES, name="secret-tides.md")["state"] == "done"
        made.taken_in(b"%PDF-1.4 cut off", name="cut.pdf")
        yield made


def numbers(service: Service) -> dict[str, float]:
    got = service.get("/metrics")
    assert got.status == 200
    assert got.headers["content-type"].startswith("text/plain")
    lines = (line for line in got.body.decode().splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_requests_are_counted_by_route_and_status_not_by_path(service: Service) -> None:
    for name in ("one", "two", "three"):
        assert service.get(f"/v1/books/{name}").status == 404
    found = numbers(service)
    assert found['octavo_requests_total{method="GET",route="/v1/books/{book_id}",status="404"}'] == 3
    assert found['octavo_request_seconds_count{route="/v1/books/{book_id}"}'] == 3


def test_paths_that_are_no_routes_share_one_name(service: Service) -> None:
    before = numbers(service).get('octavo_requests_total{method="GET",route="unknown",status="404"}', 0)
    for number in range(5):
        service.get(f"/no/such/{number}")
    assert numbers(service)['octavo_requests_total{method="GET",route="unknown",status="404"}'] == before + 5


def test_the_stages_of_a_question_are_timed(service: Service) -> None:
    before = numbers(service)
    assert service.post("/v1/ask", {"question": "How many boats were lost?"}).status == 200
    after = numbers(service)
    for stage in STAGES:
        name = f'octavo_stage_seconds_count{{stage="{stage}"}}'
        assert after[name] == before[name] + 1
    assert after['octavo_answers_total{status="answered"}'] == 1


def test_a_question_by_the_old_contract_counts_too(service: Service) -> None:
    before = numbers(service)['octavo_stage_seconds_count{stage="record"}']
    assert service.post("/query", {"question": "How many boats were lost?", "top_k": 3}).status == 200
    assert numbers(service)['octavo_stage_seconds_count{stage="record"}'] == before + 1


def test_jobs_and_what_was_taken_in_are_counted(service: Service) -> None:
    found = numbers(service)
    assert found['octavo_jobs{state="done"}'] == 1
    assert found['octavo_jobs{state="failed"}'] == 1
    assert found['octavo_jobs{state="queued"}'] == 0
    assert found['octavo_ingested_books_total{result="published"}'] == 1
    assert found["octavo_ingested_passages_total"] == 1


def test_nothing_that_was_said_is_in_a_label(service: Service) -> None:
    service.post("/v1/ask", {"question": "What is the password of the harbour?", "book_id": "secret-tides"})
    text = service.get("/metrics").body.decode().lower()
    assert not re.search("secret|tides|harbour|password|boats", text)


def test_metrics_are_for_administrators(tmp_path_factory: pytest.TempPathFactory) -> None:
    with serve_books(tmp_path_factory.mktemp("closed") / "library", keys=True) as closed:
        assert closed.get("/metrics").status == 401


async def events(*made: AskEvent, error: Exception | None = None) -> AsyncGenerator[AskEvent, None]:
    for event in made:
        yield event
    if error:
        raise error


async def test_an_error_on_the_way_is_counted_by_its_code(tmp_path: Path) -> None:
    metrics, question = Metrics(), make_question()
    way = (Asked(question, "why"), Scoped("the book"), Retrieved(()))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        with pytest.raises(ModelError):
            _ = [e async for e in metrics.watch(events(*way, error=ModelError("no")), library.conversations)]
    text = metrics.render().decode()
    assert "octavo_model_failures_total 1.0" in text
    assert 'octavo_errors_total{code="model_error"} 1.0' in text
    assert 'octavo_stage_seconds_count{stage="scope"} 1.0' in text
    assert 'octavo_stage_seconds_count{stage="record"} 0.0' in text


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return add_tides(tmp_path)


async def test_what_a_model_reads_and_writes_is_counted_and_so_is_its_failure(data: Path) -> None:
    metrics = Metrics()

    async def asked(library: Library) -> Answered:
        stream = library.stream("How many boats were lost?")
        events = [event async for event in metrics.watch(stream, library.conversations)]
        assert isinstance(events[-1], Answered)
        return events[-1]

    async with ScriptedModel(ObedientModel()) as model, open_library_with_model(data, model) as library:
        receipt = (await library.conversations.find_exchange((await asked(library)).answer.id)).receipt
    spent = receipt["model"]
    assert isinstance(spent, dict)
    assert spent["tokens_in"] > 0
    text = metrics.render().decode()
    assert f'octavo_tokens_total{{direction="in"}} {float(spent["tokens_in"])}' in text
    assert f'octavo_tokens_total{{direction="out"}} {float(spent["tokens_out"])}' in text
    assert "octavo_model_failures_total 0.0" in text
    async with (
        ScriptedModel(Fault(FaultKind.UNAUTHORIZED)) as model,
        open_library_with_model(data, model) as library,
    ):
        assert (await asked(library)).answerer.startswith("offline, because")
    assert "octavo_model_failures_total 1.0" in metrics.render().decode()


def test_passages_are_counted_once_however_many_books_come() -> None:
    metrics = Metrics()
    count = metrics.make_ingest_counter()
    for event in (Embedding(64, 100), Embedding(100, 100), Published(make_book()), Embedding(5, 5)):
        count(event)
    count(Published(make_book(), unchanged=True))
    text = metrics.render().decode()
    assert "octavo_ingested_passages_total 105.0" in text
    assert 'octavo_ingested_books_total{result="unchanged"} 1.0' in text


def test_a_method_that_nobody_knows_makes_no_new_label() -> None:
    metrics = Metrics()
    metrics.count_request(method="X" * 1_000, route="unknown", status=405, seconds=0.1)
    assert (
        'octavo_requests_total{method="other",route="unknown",status="405"} 1.0' in metrics.render().decode()
    )


def test_two_services_in_one_process_count_apart() -> None:
    first, second = Metrics(), Metrics()
    first.set_jobs({JobState.QUEUED: 3})
    assert 'octavo_jobs{state="queued"} 3.0' in first.render().decode()
    assert 'octavo_jobs{state="queued"}' not in second.render().decode()
