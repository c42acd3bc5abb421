"""A language model answers, over real HTTP; what the book does not carry is not published."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from octavo.answers.workspace import number_sentences
from octavo.events import Answered, Asked, Claimed, Retrieved, Scoped, Working
from octavo.library import Library
from octavo.limits import AgentLimits
from octavo.llm.agent import _ClaimChecker
from octavo.llm.prompts import ModelClaim
from octavo.schemas import AnsweredJson
from octavo.search.scope import bound_by_books
from octavo.settings import Settings
from octavo.testing import (
    Call,
    Claims,
    Fault,
    FaultKind,
    ModelRequest,
    Reply,
    Say,
    ScriptedModel,
    TinyEmbedder,
)
from octavo.types import RefusalReason, Scope, ScopeType
from octavo.verification.claims import Sentence
from octavo.verification.gate import SURE_TRANSLATION
from octavo.verification.meaning import Opinions
from tests.support.answerers import add_tides, assert_well_cited, query_records
from tests.support.builders import make_chunk, make_evidence
from tests.support.copies import copy_library
from tests.support.model_answers import MODEL, ask_question, open_library_with_model

LOST = "How many boats were lost in the storm?"
SEVEN = "Seven boats were lost with all their nets."
OFFLINE = f"{SEVEN} [1]"
Script = Callable[[ModelRequest], Reply]


@pytest.fixture(scope="module")
def tides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


@pytest.fixture
def data(tides: Path, tmp_path: Path) -> Path:
    return copy_library(tides, tmp_path / "library")


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """Says whatever `model.script` makes of a request."""

    def follow(request: ModelRequest) -> Reply:
        return script_of(scripted)(request)

    async with ScriptedModel(follow) as scripted:
        yield scripted


def script_of(model: ScriptedModel) -> Script:
    script: Script = model.script  # type: ignore[attr-defined]
    return script


def says(model: ScriptedModel, script: Script | Reply) -> ScriptedModel:
    model.script = script if callable(script) else lambda _: script  # type: ignore[attr-defined]
    return model


def quoting(words: str, *, said: str = "") -> Script:
    """Names the sentences that have some words in them, and says something with them."""

    def reply(request: ModelRequest) -> Reply:
        return Claims([(said or text, [id_]) for id_, text in request.sentences.items() if words in text])

    return reply


async def receipt(library: Library, answer_id: str) -> Mapping[str, Any]:
    return (await library.conversations.find_exchange(answer_id)).receipt


def spent(receipt: Mapping[str, Any]) -> dict[str, Any]:
    model: dict[str, Any] = receipt["model"]
    return model


# An answer


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_model_searches_reads_and_answers_and_all_of_it_is_told(
    data: Path, model: ScriptedModel, api: str
) -> None:
    def script(request: ModelRequest) -> Reply:
        if len(request.tool_results) < 2:
            searching = Call("search_book", {"query": "boats lost in the storm", "top_k": 2})
            return [searching, Call("read_section", {"section": "Storm", "around": ""})]
        return quoting("Seven", said="With all their nets, seven boats were lost.")(request)

    async with open_library_with_model(data, says(model, script), api=api) as library:
        events = [event async for event in library.stream(LOST, top_k=1)]
        done = events[-1]
        assert isinstance(done, Answered)
        assert done.answer.content == "With all their nets, seven boats were lost. [1]"
        assert [c.content_snippet for c in done.answer.citations] == [SEVEN]
        assert done.answerer == MODEL
        await assert_well_cited(library, done.answer)
        kinds = [type(e) for e in events]
        assert kinds == [Asked, Scoped, Retrieved, Working, Working, Working, Claimed, Answered]
        steps = {(e.step, e.detail) for e in events if isinstance(e, Working)}
        assert steps == {("searching", "boats lost in the storm"), ("reading", "Storm"), ("writing", "")}
        kept = await receipt(library, done.answer.id)
    assert kept["answerer"] == MODEL
    assert spent(kept)["mode"] == "agent"
    assert (spent(kept)["calls"], spent(kept)["tool_calls"], spent(kept)["mended"]) == (2, 2, 0)
    assert spent(kept)["tokens_in"] > 100
    assert model.failures == []


async def test_what_a_model_finds_and_cites_is_among_the_evidence(data: Path, model: ScriptedModel) -> None:
    def script(request: ModelRequest) -> Reply:
        if not request.tool_results:
            return Call("search_book", {"query": "keeper of the lighthouse lamp", "top_k": 5})
        return quoting("trimmed the lamp")(request)

    async with open_library_with_model(data, says(model, script)) as library:
        said = await ask_question(library, "Who trimmed the lamp of the lighthouse?")
        few = await library.ask("Who trimmed the lamp of the lighthouse?", top_k=1)
    assert said.answerer == MODEL
    assert [c.chunk.section for c in few.citations] == ["Lighthouse"]
    assert len(few.evidence) <= 2, "what was found and not needed is not kept"


@pytest.mark.parametrize("mode", ["auto", "single"])
async def test_without_tools_a_model_answers_in_one_go(data: Path, mode: str) -> None:
    async with (
        ScriptedModel(quoting("Seven"), tools=False) as model,
        open_library_with_model(data, model, mode=mode) as library,
    ):
        first, second = await library.ask(LOST), await library.ask(LOST)
        assert first.content == second.content == OFFLINE
        assert spent(await receipt(library, second.id))["mode"] == "single"
    tried = [bool(request.tools) for request in model.requests]
    assert tried == ([True, False, False] if mode == "auto" else [False, False])
    assert model.requests[-1].response_format is not None


async def test_a_model_that_must_use_tools_and_cannot_gives_way_to_the_offline_answer(data: Path) -> None:
    async with (
        ScriptedModel(quoting("Seven"), tools=False) as model,
        open_library_with_model(data, model, mode="agent") as library,
    ):
        said = await ask_question(library, LOST)
    assert said.answerer == "offline, because the endpoint does not support tools"
    assert said.answer.content == OFFLINE


async def test_a_model_that_writes_its_calls_as_text_is_asked_in_one_go(
    data: Path, model: ScriptedModel
) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.tools:
            return Say('{"name": "search_book", "arguments": {"query": "boats"}}')
        return quoting("Seven")(request)

    async with open_library_with_model(data, says(model, script)) as library:
        answer = await library.ask(LOST)
        assert spent(await receipt(library, answer.id))["mode"] == "single"
    assert answer.content == OFFLINE


# What does not hold


async def test_a_claim_that_does_not_hold_may_be_mended_once_and_everybody_sees_it(
    data: Path, model: ScriptedModel
) -> None:
    def script(request: ModelRequest) -> Reply:
        if "do not hold" in request.question:
            assert "number Nine is not in the passage" in request.question
            return quoting("Seven")(request)
        right = quoting("northern pier")(request)
        assert isinstance(right, Claims)
        return Claims([*right.claims, ("Nine boats were lost with all their nets.", ["s2"])])

    async with open_library_with_model(data, says(model, script), mode="single") as library:
        events = [event async for event in library.stream(LOST)]
        done = events[-1]
        assert isinstance(done, Answered)
        kept = await receipt(library, done.answer.id)
    assert Working("mending", "1 of 2 claims") in events
    assert done.answer.content == f"A storm broke the northern pier in a single night. [1] {SEVEN} [2]"
    assert [text for text, _ in done.dropped] == ["Nine boats were lost with all their nets."]
    assert (spent(kept)["mended"], spent(kept)["calls"]) == (1, 2)


@pytest.mark.parametrize("named", ["beside", "everything"])
async def test_a_true_claim_is_cited_where_it_stands_whatever_the_model_points_at(
    data: Path, model: ScriptedModel, named: str
) -> None:
    def script(request: ModelRequest) -> Reply:
        ids = list(request.sentences)
        beside = next(id_ for id_, text in request.sentences.items() if SEVEN not in text)
        return Claims([(SEVEN, [beside] if named == "beside" else ids)])

    async with open_library_with_model(data, says(model, script), mode="single") as library:
        said = await ask_question(library, LOST)
    assert (said.answer.content, said.answerer, said.dropped) == (OFFLINE, MODEL, ())
    assert [c.content_snippet for c in said.answer.citations] == [SEVEN]
    assert len(model.requests) == 1


async def test_a_claim_that_is_not_mended_is_dropped_with_its_reasons(
    data: Path, model: ScriptedModel
) -> None:
    def script(request: ModelRequest) -> Reply:
        return Claims([(SEVEN, ["s2"]), ("Nobody ever came back to the island.", ["s2"]), (SEVEN, ["s99"])])

    async with open_library_with_model(data, says(model, script), mode="single") as library:
        said = await ask_question(library, LOST, scope=Scope(type=ScopeType.SECTION, identifier="Storm"))
    assert said.answer.content == OFFLINE
    assert len(model.requests) == 2
    assert {text for text, _ in said.dropped} == {"Nobody ever came back to the island.", SEVEN}
    assert any("s99" in reason for _, reason in said.dropped)


async def test_when_mending_fails_what_holds_is_still_the_answer(data: Path, model: ScriptedModel) -> None:
    def script(request: ModelRequest) -> Reply:
        if "do not hold" in request.question:
            return Fault(FaultKind.UNAUTHORIZED)
        return Claims([(SEVEN, ["s2"]), ("Nobody ever came back.", ["s2"])])

    async with open_library_with_model(data, says(model, script), mode="single") as library:
        said = await ask_question(library, LOST)
    assert (said.answer.content, said.answerer) == (OFFLINE, MODEL)
    assert [text for text, _ in said.dropped] == ["Nobody ever came back."]


async def test_when_nothing_holds_the_book_speaks_for_itself(data: Path, model: ScriptedModel) -> None:
    invented = Claims([("Ninety whales sank the fleet of Admiral Zed.", ["s1"])])
    async with open_library_with_model(data, says(model, invented)) as library:
        said = await ask_question(library, LOST)
    assert said.answer.content == OFFLINE
    assert said.answerer == "offline, because none of what the model said is borne out by the book"
    assert [text for text, _ in said.dropped] == ["Ninety whales sank the fleet of Admiral Zed."]


async def test_a_model_that_finds_no_answer_leads_to_a_refusal_in_our_words(
    data: Path, model: ScriptedModel
) -> None:
    async with open_library_with_model(data, says(model, Claims([]))) as library:
        said = await ask_question(library, LOST)
    assert said.answer.refusal is not None
    assert said.answer.refusal.reason is RefusalReason.NOT_IN_BOOK
    assert said.answer.content.startswith("I found no answer to this in The Tides.")
    assert len(model.requests) == 1


async def test_a_model_does_not_talk_us_into_an_answer_that_the_evidence_does_not_give(
    data: Path, model: ScriptedModel
) -> None:
    quotes = says(model, lambda request: Claims([(t, [i]) for i, t in list(request.sentences.items())[:1]]))
    settings = Settings(data=data, model=MODEL, model_url=quotes.url, risk=0.05)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        answer = await library.ask("Which football club won the cup in Brazil?")
        kept = await receipt(library, answer.id)
    assert answer.refusal is not None
    assert kept["answerable"] < kept["threshold"]
    assert kept["answerer"] == MODEL


async def test_beyond_the_scope_nobody_pays_a_model_to_look(data: Path, model: ScriptedModel) -> None:
    async with open_library_with_model(data, says(model, Claims([]))) as library:
        said = await ask_question(library, LOST, scope=Scope(type=ScopeType.SECTION, identifier="Harbour"))
    assert said.answer.refusal is not None
    assert said.answer.refusal.reason is RefusalReason.NOT_IN_SCOPE
    assert "“Storm”" in said.answer.content
    assert len(model.requests) == 1
    assert "Seven boats" not in model.requests[0].text


@pytest.mark.parametrize(
    "written",
    [
        "Seven boats [s2] were lost with all their nets.[2]",
        "[Seven boats](https://evil.example) were lost with ![all](https://evil.example/p.png) their nets.",
        "<b onclick=x>Seven boats</b> were lost with all their nets. <img src='https://evil.example'>",
        "- Seven boats were lost with all their nets. (s2)",
    ],
)
async def test_no_mark_link_image_or_tag_of_the_models_is_published(
    data: Path, model: ScriptedModel, written: str
) -> None:
    async with open_library_with_model(data, says(model, quoting("Seven", said=written))) as library:
        said = await ask_question(library, LOST)
    assert (said.answer.content, said.answerer) == (OFFLINE, MODEL)


# When the model fails


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (FaultKind.UNAUTHORIZED, "the endpoint refuses the key (status 401)"),
        (FaultKind.SERVER_ERROR, "the endpoint answers with status 500"),
        (FaultKind.PROSE, "its answer could not be read"),
        (FaultKind.REFUSED, "it declined to answer"),
        (FaultKind.TOOL_LOOP, "it did not come to an answer"),
        (FaultKind.HUGE, "its answer was far too long"),
    ],
)
async def test_when_the_model_fails_the_offline_answer_takes_its_place_and_says_so(
    data: Path, model: ScriptedModel, fault: FaultKind, why: str
) -> None:
    async with open_library_with_model(data, says(model, Fault(fault))) as library:
        said = await ask_question(library, LOST)
        kept = await receipt(library, said.answer.id)
    assert said.answer.content == OFFLINE
    assert said.answerer == kept["answerer"] == f"offline, because {why}"
    assert spent(kept)["failed"] == why
    assert query_records(library, "SELECT status, error FROM questions") == [("completed", None)]


async def test_an_endpoint_that_is_not_there_is_no_error_page(data: Path) -> None:
    settings = Settings(data=data, model=MODEL, model_url="http://127.0.0.1:9/v1", risk=0.9)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        said = await ask_question(library, LOST)
    assert (said.answer.content, said.answerer) == (OFFLINE, "offline, because it cannot be reached")


async def test_a_model_that_keeps_failing_is_left_alone(data: Path, model: ScriptedModel) -> None:
    async with open_library_with_model(
        data, says(model, Fault(FaultKind.UNAUTHORIZED)), failures=2
    ) as library:
        said = [await ask_question(library, LOST) for _ in range(4)]
    assert len(model.requests) == 2
    assert {s.answer.content for s in said} == {OFFLINE}
    assert re.search(r"failed 2 times in a row and rests for \d+ s$", said[-1].answerer)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"turns": 2}, "it did not come to an answer|no answer in 2 turns"),
        ({"tokens": 300}, "more than 300 tokens"),
        ({"seconds": 0.4, "call_seconds": 60.0}, r"longer than 0\.4 seconds|within 0\.\d+ seconds"),
    ],
)
async def test_every_limit_of_a_question_holds(
    data: Path, model: ScriptedModel, limits: dict[str, Any], why: str
) -> None:
    slow = "seconds" in limits
    endless = Fault(FaultKind.SILENT) if slow else Call("search_book", {"query": "boats", "top_k": 3})
    async with open_library_with_model(data, says(model, endless), mode="agent", **limits) as library:
        said = await ask_question(library, LOST)
    assert said.answer.content == OFFLINE
    assert re.search(why, said.answerer)
    assert len(model.requests) <= limits.get("turns", 3)
    await model.wait_until_idle()


async def test_a_question_may_not_cost_more_than_it_may(data: Path, model: ScriptedModel) -> None:
    def script(request: ModelRequest) -> Reply:
        if not request.tool_results:
            return Call("search_book", {"query": "boats", "top_k": 3})
        return quoting("Seven")(request)

    says(model, script)
    for dollars, answerer in ((1.0, MODEL), (0.004, "offline, because it needed more than 0.004 dollars")):
        agent = AgentLimits(dollars=dollars)
        settings = Settings(
            data=data, model=MODEL, model_url=model.url, price_in=5.0, price_out=15.0, agent=agent
        )
        async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
            said = await ask_question(library, LOST)
            assert said.answerer == answerer
            assert 0 < spent(await receipt(library, said.answer.id))["dollars"] < 2 * dollars


async def test_after_its_last_search_a_model_answers_from_what_it_has(
    data: Path, model: ScriptedModel
) -> None:
    def script(request: ModelRequest) -> Reply:
        if not any("no calls left" in result.text for result in request.tool_results):
            return Call("search_book", {"query": "boats", "top_k": 3})
        return quoting("Seven")(request)

    async with open_library_with_model(data, says(model, script), tool_calls=2) as library:
        said = await ask_question(library, LOST)
        assert spent(await receipt(library, said.answer.id))["tool_calls"] == 2
    assert (said.answer.content, said.answerer) == (OFFLINE, MODEL)


async def test_a_reader_who_leaves_hangs_up_on_the_model(data: Path, model: ScriptedModel) -> None:
    reached = asyncio.Event()

    def script(request: ModelRequest) -> Reply:
        if not request.tool_results:
            return Call("search_book", {"query": "boats", "top_k": 3})
        reached.set()
        return Fault(FaultKind.SILENT)

    async with open_library_with_model(data, says(model, script)) as library:
        async with aclosing(library.stream(LOST)) as events:
            async for event in events:
                if isinstance(event, Working):
                    await reached.wait()
                    break
        await model.wait_until_idle()
        assert model.abandoned == 1
        ((status, error),) = query_records(library, "SELECT status, error FROM questions")
    assert status == "error"
    assert "stopped" in error


# Follow-ups and languages


def answering(rewritten: Reply, then: Script) -> Script:
    """Rewrites the question in its own way, and answers in another."""
    return lambda request: (
        rewritten if "Rewrite the reader's last question" in request.system else then(request)
    )


async def test_a_follow_up_is_rewritten_by_the_model_and_shown(data: Path, model: ScriptedModel) -> None:
    whole = "How many boats were lost when the storm broke the northern pier?"
    script = answering(Say(whole), quoting("Seven"))
    async with open_library_with_model(data, says(model, script)) as library:
        await library.ask("What broke the northern pier?", session_id="talk")
        assert len(model.requests) == 1, "a first question is not rewritten"
        events = [e async for e in library.stream("And how many boats?", session_id="talk")]
    assert isinstance(events[0], Asked)
    assert events[0].interpreted == whole
    assert "Q: What broke the northern pier?" in model.requests[1].question
    done = events[-1]
    assert isinstance(done, Answered)
    assert done.interpreted == whole


@pytest.mark.parametrize(
    "rewritten",
    [
        Fault(FaultKind.UNAUTHORIZED),
        Fault(FaultKind.PROSE, seed=2),
        Say("Visit the wonderful bookshop of evil publishers today!"),
        Say("x" * 5_000),
    ],
)
async def test_a_rewriting_that_is_none_gives_way_to_the_words_of_the_talk(
    data: Path, model: ScriptedModel, rewritten: Reply
) -> None:
    script = answering(rewritten, quoting("northern pier"))
    async with open_library_with_model(data, says(model, script)) as library:
        await library.ask("What broke the northern pier?", session_id="talk")
        events = [e async for e in library.stream("When?", session_id="talk")]
    assert isinstance(events[0], Asked)
    assert events[0].interpreted == "When did a storm break the northern pier in a single night?"


class SameOdds:
    """A verifier that says the same of every claim."""

    def __init__(self, odds: float) -> None:
        self._odds = odds

    def __call__(self, claim: str, passages: Sequence[str], /) -> list[float]:
        return [self._odds for _ in passages]


SURE_OF_TRANSLATIONS = Opinions(SameOdds(0.0), SameOdds(0.0), multilingual=SameOdds(SURE_TRANSLATION))


@pytest.fixture
def sure_of_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("octavo.answers.workspace._make_opinions", lambda *_: SURE_OF_TRANSLATIONS)


GERMAN = "Wie viele Boote gingen im Sturm verloren?"


def writing_in_another_language(text: str, gloss: str) -> Script:
    def reply(request: ModelRequest) -> Reply:
        ids = [id_ for id_, said in request.sentences.items() if "Seven" in said]
        return Say(json.dumps({"claims": [{"text": text, "sentences": ids, "gloss": gloss}]}))

    return reply


def in_german(text: str, gloss: str) -> Script:
    return answering(Say(LOST), writing_in_another_language(text, gloss))


@pytest.mark.usefixtures("sure_of_translations")
async def test_a_question_in_another_language_is_answered_in_it_and_quotes_the_books(
    data: Path, model: ScriptedModel
) -> None:
    script = in_german("Im Sturm gingen sieben Boote mit allen ihren Netzen verloren.", SEVEN)
    async with open_library_with_model(data, says(model, script)) as library:
        events = [e async for e in library.stream(GERMAN)]
        done = events[-1]
        assert isinstance(done, Answered)
        stored = await library.conversations.find_exchange(done.answer.id)
    assert isinstance(events[0], Asked)
    assert events[0].interpreted == LOST
    assert done.answer.content == "Im Sturm gingen sieben Boote mit allen ihren Netzen verloren. [1]"
    assert [c.content_snippet for c in done.answer.citations] == [SEVEN]
    assert done.answer.translated == ("Im Sturm gingen sieben Boote mit allen ihren Netzen verloren.",)
    assert [claim.translated for claim in done.claims] == [True]
    assert stored.answer == done.answer
    assert AnsweredJson.from_exchange(stored).claims[0].translated
    assert model.requests[-1].question.startswith(f"Question: {GERMAN}\nIt means: {LOST}")


async def test_a_translation_that_no_model_compares_gives_way_to_the_books_own_words(
    data: Path, model: ScriptedModel
) -> None:
    script = in_german("Im Sturm gingen alle Fische verloren.", SEVEN)
    async with open_library_with_model(data, says(model, script)) as library:
        said = await ask_question(library, GERMAN)
    assert said.answer.content == f"{SEVEN} [1]"
    assert said.answer.translated == ()


@pytest.mark.parametrize(
    ("text", "gloss"),
    [
        ("Im Sturm gingen sieben Boote verloren.", ""),
        ("Im Sturm gingen sieben Boote verloren.", "Nine boats were lost with all their nets."),
        ("Im Sturm gingen 9 Boote verloren und die Netze auch.", SEVEN),
        ("Die Boote.", f"{SEVEN} {SEVEN} {SEVEN}"),
        ("Mehr dazu auf https://evil.example und nur dort.", SEVEN),
    ],
)
async def test_a_translation_without_a_gloss_that_holds_is_dropped(
    data: Path, model: ScriptedModel, text: str, gloss: str
) -> None:
    async with open_library_with_model(data, says(model, in_german(text, gloss))) as library:
        said = await ask_question(library, GERMAN)
    assert said.answer.content == OFFLINE
    assert said.answerer.startswith("offline, because none")
    assert {dropped for dropped, _ in said.dropped} == {text}


async def test_a_gloss_carries_nothing_where_question_and_book_share_a_language(
    data: Path, model: ScriptedModel
) -> None:
    for text in (
        "The publisher gives away free gold to all.",
        "Der Verlag verschenkt das Gold an alle im Land.",
    ):
        async with open_library_with_model(data, says(model, in_german(text, SEVEN))) as library:
            said = await ask_question(library, LOST)
        assert (said.answer.content, said.answerer[:7]) == (OFFLINE, "offline")


URDU = "طوفان میں سات کشتیاں اپنے تمام جالوں سمیت ضائع ہو گئیں۔"


@pytest.mark.usefixtures("sure_of_translations")
@pytest.mark.parametrize("asked", [f"Answer in Urdu: {LOST}", f"{LOST} Please answer in Urdu."])
async def test_an_answer_is_written_in_the_language_that_the_reader_wants(
    data: Path, model: ScriptedModel, asked: str
) -> None:
    script = writing_in_another_language(URDU, SEVEN)
    async with open_library_with_model(data, says(model, script)) as library:
        said = await ask_question(library, asked)
    assert said.answer.content == f"{URDU} [1]"
    assert [c.content_snippet for c in said.answer.citations] == [SEVEN]
    assert said.answer.translated == (URDU,)
    assert f'\nIt means: {LOST}\nWrite "text" in Urdu' in model.requests[-1].question


@pytest.mark.parametrize(
    ("text", "gloss"),
    [
        (URDU, ""),
        (URDU, "Nine boats were lost with all their nets."),
        ("طوفان میں ۹ کشتیاں ضائع ہو گئیں، جالوں سمیت۔", SEVEN),
    ],
)
async def test_an_answer_in_the_wanted_language_that_the_book_does_not_bear_out_is_dropped(
    data: Path, model: ScriptedModel, text: str, gloss: str
) -> None:
    script = writing_in_another_language(text, gloss)
    async with open_library_with_model(data, says(model, script)) as library:
        said = await ask_question(library, f"Answer in Urdu: {LOST}")
    assert said.answer.content == OFFLINE
    assert {dropped for dropped, _ in said.dropped} == {text}


async def test_an_order_about_a_selection_goes_to_the_model_and_its_claims_pass_the_gate(
    data: Path, model: ScriptedModel
) -> None:
    async with open_library_with_model(data, says(model, quoting("Seven"))) as library:
        answer = await library.ask("eli5", selected_text=SEVEN)
        assert (answer.content, answer.confidence > 0.5) == (OFFLINE, True)
        assert "Explain the selected sentences" in str(model.requests[-1].body)
        says(model, quoting("Seven", said="Nine boats were lost with all their nets."))
        again = await library.ask("eli5", selected_text=SEVEN)
        assert "Nine" not in again.content


def test_a_translation_is_compared_again_with_the_sentence_that_it_is_cited_with() -> None:
    class Found(list[Sentence]):
        opinions = SURE_OF_TRANSLATIONS

    evidence = [make_evidence(make_chunk("The town was founded in 1547. The king died in the old castle."))]
    workspace: Any = Found(number_sentences(evidence, bound_by_books()))
    checker = _ClaimChecker(workspace, "国王是怎么死的？", foreign=True, risk=0.0)
    gloss = "The king died in the old castle."
    ids = ("s1",)
    lie = ModelClaim("国王于1547年在旧城堡里去世了。", ids, gloss)
    truth = ModelClaim("国王在旧城堡里去世了。", ids, gloss)
    assert [one for one, _ in checker.accept([lie, truth])] == [lie]
    assert [(claim.text, claim.sentences) for claim in checker.claims] == [(truth.text, ("s2",))]
