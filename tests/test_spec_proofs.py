"""The rules of the source documents that no value can hold alone, each proved by a call.

`tests.support.spec.ELSEWHERE` names for each rule the function here that proves it, on a real library and a
real service, or a test elsewhere that does.
"""

from __future__ import annotations

import ast
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from octavo.errors import BadBook, NotFound
from octavo.events import Answered, AskEvent
from octavo.settings import Settings
from octavo.store.base import build_payload
from octavo.sync import Library
from octavo.testing import TinyEmbedder
from octavo.types import COLLECTION, EMBEDDING_SIZE, QueryContext, Scope, ScopeType
from octavo.validation import AnswerState, EvidenceState, QuestionStatus
from tests.support import small_books, spec
from tests.support.answerers import AllSentencesAnswerer
from tests.support.book_service import Service, serve_books

LOST = "How many boats were lost?"
HARBOUR = Scope(type=ScopeType.SECTION, identifier="Harbour")
ROOT = Path(__file__).parent.parent


@dataclass
class World:
    """A library with a book and one answered question, and a service with the same book."""

    library: Library
    service: Service
    folder: Path
    events: list[AskEvent]

    @property
    def done(self) -> Answered:
        last = self.events[-1]
        assert isinstance(last, Answered)
        return last

    def break_rule(self, statement: str) -> None:
        """Change the records in a way that they must refuse."""
        with sqlite3.connect(self.library.settings.data / "records.sqlite") as records:
            records.execute("PRAGMA foreign_keys = ON")
            with pytest.raises(sqlite3.IntegrityError):
                records.execute(statement)
        records.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("spec")
    book = small_books.write_markdown(folder / "tides.md")
    settings = Settings(data=folder / "library", risk=0.9)
    with (
        Library.open(settings=settings, embedder=TinyEmbedder()) as library,
        serve_books(folder / "served") as service,
    ):
        library.add(book)
        service.taken_in(book.read_bytes())
        yield World(library, service, folder, list(library.stream(LOST)))


def prove_chunks_belong_to_books(world: World) -> None:
    books = {book.id for book in world.library.books()}
    assert {item.chunk.book_id for item in world.done.answer.evidence} <= books
    world.break_rule("UPDATE chunks SET book_id = 'nothing'")


def prove_answers_belong_to_questions(world: World) -> None:
    assert world.done.answer.question_id == world.done.question.id
    world.break_rule("UPDATE answers SET question_id = 'nothing'")


def prove_references_point_to_chunks(world: World) -> None:
    found = {item.id: item.chunk for item in world.done.answer.evidence}
    for citation in world.done.answer.citations:
        assert found[citation.retrieved_content_id].id == citation.chunk_id


def prove_one_answer_for_a_question(world: World) -> None:
    columns = "question_id, state, content, confidence, processing_time_ms, timestamp, citations, evidence"
    columns += ", refusal, trace, receipt"
    world.break_rule(f"INSERT INTO answers (id, {columns}) SELECT 'second', {columns} FROM answers")


def prove_answers_are_grounded(world: World) -> None:
    answer = world.done.answer
    retrieved = {item.id: item.chunk for item in answer.retrieved_chunks}
    assert answer.citations
    for citation in answer.citations:
        chunk = retrieved[citation.retrieved_content_id]
        assert citation.content_snippet in chunk.content
        assert chunk.content.strip()
        assert (chunk.url, chunk.source_title) == (citation.url, citation.title)


def prove_quotations_are_in_the_book(world: World) -> None:
    verdicts = world.library.verify(world.done.answer.id)
    assert verdicts
    assert all(verdict.true for verdict in verdicts)


def prove_the_flow_in_order(world: World) -> None:
    assert [event.kind for event in world.events] == ["asked", "scoped", "retrieved", "claimed", "answered"]


def prove_sentences_are_cited(world: World) -> None:
    assert world.done.claims
    assert all(claim.citations for claim in world.done.claims)


def prove_scope_comes_before_retrieval(world: World) -> None:
    events = world.library.stream(LOST, scope=Scope(type=ScopeType.SECTION, identifier="Nowhere"))
    assert next(events).kind == "asked"
    with pytest.raises(NotFound):
        next(events)


def prove_query_requests_are_checked(world: World) -> None:
    def status(**body: object) -> int:
        return world.service.post("/query", body).status

    assert [status(question=q) for q in ("", "  ", "x" * 1001)] == [422, 422, 422]
    assert [status(question=LOST, top_k=k) for k in (0, 21)] == [422, 422]
    assert [status(question=LOST, top_k=k) for k in (1, 20)] == [200, 200]
    schema = world.service.get("/openapi.json").json["components"]["schemas"]["QueryBody"]
    assert schema["properties"]["top_k"]["default"] == 5
    assert status(question=LOST, book_id="the-tides", session_id="talk", filters={"section": "Storm"}) == 200
    refused = world.service.post("/query", {"question": LOST, "filters": {"language": "fr"}})
    assert (refused.status, refused.json["citations"]) == (200, [])
    assert refused.json["answer"].strip()


def prove_query_response(world: World) -> None:
    got = world.service.post("/query", {"question": LOST}).json
    assert set(got) == {"answer", "citations", "confidence", "processing_time_ms"}
    assert got["citations"]
    for citation in got["citations"]:
        assert set(citation) == {"text", "url", "similarity_score", "chunk_id", "source_title"}
        assert isinstance(citation["chunk_id"], int)
        assert citation["chunk_id"] > 0
        assert 0 <= citation["similarity_score"] <= 1
    assert 0 <= got["confidence"] <= 1
    assert got["processing_time_ms"] > 0


def prove_delivery_is_traced(world: World) -> None:
    steps = world.library.ask(LOST).trace.steps
    assert [str(step) for step, _ in steps] == [
        "received", "processing", "validated", "formatted", "delivered",
    ]  # fmt: skip
    assert [at for _, at in steps] == sorted(at for _, at in steps)


def prove_sessions_are_in_order(world: World) -> None:
    session = world.library.session()
    for question in (LOST, "Who trimmed the lamp?"):
        world.library.ask(question, session_id=session.session_id)
    found = world.library.session(session.session_id)
    assert found.query_count == 2
    assert [q.content for q in found.questions] == [LOST, "Who trimmed the lamp?"]
    assert [m.role for m in found.messages] == ["user", "assistant", "user", "assistant"]
    assert [a.question_id for a in found.answers] == [q.id for q in found.questions]


def prove_payload_has_the_four_keys(world: World) -> None:
    payload = build_payload(world.done.answer.evidence[0].chunk, edition=1)
    assert {"url", "text", "chunk_id", "source_title"} <= set(payload)
    assert COLLECTION == "ai_book_embedding"


def prove_retrieve(world: World) -> None:
    found = world.library.retrieve(LOST, QueryContext(), top_k=3, embeddings=True)
    assert len(found) == 3
    for item in found:
        assert item.content
        assert item.source_file == "tides.md"
        assert item.source_location.startswith("The Tides › ")
        assert 0 <= item.relevance_score <= 1
        assert len(item.embedding_vector or ()) == EMBEDDING_SIZE
        assert item.state is EvidenceState.RETRIEVED


def prove_selected_text_limits_the_search(world: World) -> None:
    chosen = {"selected_text": "The harbour master counted the ships at dawn."}
    assert {item.chunk.section for item in world.library.retrieve(LOST, chosen)} == {"Harbour"}


def prove_history_completes_the_query(world: World) -> None:
    history = [
        {"role": "user", "content": "Is the lamp bright?"},
        {"role": "assistant", "content": "The lamp is bright."},
    ]
    found = world.library.retrieve("Why?", {"conversation_history": history})
    assert found.interpreted == "Why is the lamp bright?"


def prove_filters_apply(world: World) -> None:
    found = world.library.retrieve(LOST, {"filters": {"section": "Harbour"}})
    assert {item.chunk.section for item in found} == {"Harbour"}
    answer = world.library.ask(LOST, scope=HARBOUR)
    assert all(citation.section == "Harbour" for citation in answer.citations)


def prove_preferences_shape_the_order(world: World) -> None:
    def order(**preferences: object) -> list[str]:
        return [e.chunk.section for e in world.library.retrieve("the", {"user_preferences": preferences})]

    last = order()[-1]
    assert order(sections=[last]).index(last) < len(order()) - 1


def prove_source_files_are_of_the_book(world: World) -> None:
    files = {section.source_file for section in world.library.contents("the-tides")}
    assert {item.source_file for item in world.done.answer.evidence} <= files
    (world.folder / "no-book.pdf").write_bytes(b"\x00\x01\x02")
    with pytest.raises(BadBook):
        world.library.add(world.folder / "no-book.pdf")


def prove_a_query_is_processed(world: World) -> None:
    asked = world.events[0].question  # type: ignore[union-attr]
    assert asked.states == ("pending", "received")
    assert "processed" in world.done.question.states
    assert "processed" in world.library.retrieve(LOST).query.states


def prove_only_used_evidence_is_validated(world: World) -> None:
    quoted = {citation.chunk_id for citation in world.done.answer.citations}
    for item in world.done.answer.evidence:
        assert (item.state is EvidenceState.VALIDATED) == (item.chunk.id in quoted)
        assert "retrieved" in item.states


def prove_answers_are_published(world: World) -> None:
    assert world.done.answer.state is AnswerState.PUBLISHED
    assert "completed" in world.done.answer.states


def prove_ids_are_stable(world: World) -> None:
    other = world.service.post("/v1/search", {"query": LOST, "top_k": 4}).json["results"]
    here = {item.chunk.id: item.chunk.chunk_id for item in world.library.search(LOST, top_k=4)}
    assert {item["id"]: item["chunk_id"] for item in other} == here


def prove_refusals_are_insufficient_data(world: World) -> None:
    with Library.open(world.folder / "empty", embedder=TinyEmbedder()) as empty:
        *_, last = empty.stream(LOST)
    assert isinstance(last, Answered)
    assert last.question.status is QuestionStatus.INSUFFICIENT_DATA
    assert last.answer.refusal is not None


def prove_many_references(world: World) -> None:
    book = small_books.write_markdown(world.folder / "many.md")
    everything = AllSentencesAnswerer()
    with Library.open(world.folder / "many", embedder=TinyEmbedder(), answerer=everything) as library:
        library.add(book)
        first, second = library.ask(LOST), library.ask("Who counted the ships?")
    assert len(first.evidence) > 1
    chunks = [citation.chunk_id for citation in first.citations]
    assert len(set(chunks)) > 1
    assert len(chunks) > len(set(chunks))
    assert {c.chunk_id for c in second.citations} & set(chunks)
    shown = [int(number) for number in re.findall(r"\[(\d+)\]", first.content)]
    assert list(dict.fromkeys(shown)) == [c.number for c in first.citations]
    assert shown[0] == 1


def prove_citations_are_in_the_store(world: World) -> None:
    found = {item.chunk.chunk_id: item.chunk for item in world.library.search(LOST, top_k=20)}
    for citation in world.done.answer.citations:
        assert citation.content_snippet in found[citation.chunk_number].content


def prove_a_query_has_its_context(world: World) -> None:
    chosen = QueryContext(selected_text="The harbour master counted the ships at dawn.")
    assert world.library.retrieve(LOST, chosen).query.context == chosen


def prove_messages_have_sources(world: World) -> None:
    answer = world.library.ask(LOST, session_id="with-sources")
    asked, answered = world.library.session("with-sources").messages
    assert answered.source_references == answer.citations
    assert asked.source_references == ()
    assert answered.query_id == answer.question_id


def prove_addresses(world: World) -> None:
    for item in world.library.search(LOST, top_k=4):
        chunk = item.chunk
        assert chunk.url.startswith("book://the-tides/")
        assert chunk.source_location == f"The Tides › {chunk.section}"


def prove_offsets(world: World) -> None:
    texts = {section.id: section.text for section in world.library.contents("the-tides")}
    for item in world.library.search(LOST, top_k=4):
        assert texts[item.chunk.section_id][item.chunk.start : item.chunk.end] == item.chunk.content
    for citation in world.done.answer.citations:
        text = texts[citation.chunk.section_id]
        assert text[citation.start : citation.end] == citation.content_snippet


def rules() -> list[Any]:
    rows = (line.split(" :: ") for line in spec.ELSEWHERE.strip().splitlines())
    return [pytest.param(proof, id=words.replace(" ", "-")) for words, proof in rows]


@pytest.mark.parametrize("proof", rules())
def test_every_rule_is_proved_by_a_call(proof: str, world: World) -> None:
    path, _, name = proof.partition("::")
    if name:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        assert name in {node.name for node in tree.body if isinstance(node, kinds)}
        return
    prove: Callable[[World], None] = globals()[proof]
    prove(world)


def test_every_proof_is_used() -> None:
    proofs = {name for name in globals() if name.startswith("prove_")}
    assert proofs <= set(json.dumps(spec.ELSEWHERE).replace("\\n", " ").split())
