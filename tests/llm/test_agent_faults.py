from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from octavo.testing import (
    Call,
    Claims,
    Fault,
    FaultKind,
    ModelRequest,
    Reply,
    Say,
    ScriptedModel,
    pick_fault,
)
from octavo.types import Scope, ScopeType
from tests.support import small_books
from tests.support.answerers import fill_library
from tests.support.copies import copy_library
from tests.support.model_answers import (
    MODEL,
    ToldAnswer,
    ask_question,
    assert_marked,
    assert_true_to_the_book,
    find_case,
    list_unsupported,
    open_library_with_model,
)
from tests.support.patience import PATIENCE

FAULTS, LIES, LIES_AT_ONCE = 200, 500, 10
TURNS, TOOL_CALLS, RETRIES = 3, 5, 1
WATCH = {
    "The Lighthouse": "The keeper of the lighthouse trimmed the lamp every evening. "
    "Its beam reached 11 miles in 1871. "
    "Captain Harrow steered by it every night. The tower was built by Elias Grey for 900 crowns.",
    "The Storm": "The storm of 1874 broke the northern pier. Seven boats were lost with all their nets. "
    "Captain Marlow blamed the harbour master. Nobody repaired the pier before 1880.",
    "The Vault": "The vault under the town hall holds the ledger of Queen Amalthea. It was opened 3 times. "
    "Only Doctor Quill has its key.",
}
QUESTIONS = (
    "How far did the beam of the lighthouse reach?",
    "Who built the tower, and for how much?",
    "How many boats were lost in the storm?",
)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watch")
    return fill_library(
        folder / "library", small_books.write_markdown(folder / "watch.md", WATCH, title="The Watch")
    )


@pytest.fixture
def data(shelf: Path, tmp_path: Path) -> Path:
    return copy_library(shelf, tmp_path / "library")


async def at_once(
    ask: Callable[[int], object], numbers: Sequence[int], *, most: int = 6
) -> dict[int, ToldAnswer | BaseException]:
    """Asks for every number, a few at a time, and keeps what comes, failures too."""
    room = asyncio.Semaphore(most)

    async def one(number: int) -> ToldAnswer:
        async with room:
            said = await ask(number)  # type: ignore[misc]
        assert isinstance(said, ToldAnswer)
        return said

    made = await asyncio.gather(*(one(number) for number in numbers), return_exceptions=True)
    return dict(zip(numbers, made, strict=True))


def honest(request: ModelRequest) -> Reply:
    return Claims([(text, [id_]) for id_, text in list(request.sentences.items())[:1]])


async def test_two_hundred_seeded_faults_each_end_in_an_answer_or_a_refusal(data: Path) -> None:
    asked: Counter[int] = Counter()
    limits: dict[str, Any] = {"turns": TURNS, "tool_calls": TOOL_CALLS, "retries": RETRIES}

    def script(request: ModelRequest) -> Reply:
        case = find_case(request)
        asked[case] += 1
        assert len(request.tool_results) <= TOOL_CALLS + len(request.tools) * TURNS
        if case % 2 and asked[case] == 1 and request.tools:  # a model that is well at first
            return Call("search_book", {"query": "the lighthouse", "top_k": 2})
        return pick_fault(case)

    async with ScriptedModel(script) as model:
        async with open_library_with_model(data, model, call_seconds=1.0, **limits) as library:
            said = await at_once(
                lambda n: ask_question(library, f"{QUESTIONS[n % 3]} This is case {n}."), range(FAULTS)
            )
            while late := [n for n in range(FAULTS) if n not in asked]:  # given up before they were asked
                said |= await at_once(
                    lambda n: ask_question(library, f"{QUESTIONS[n % 3]} This is case {n}."), late, most=1
                )
        await model.wait_until_idle()
    assert model.failures == []
    assert set(asked) == set(range(FAULTS))
    assert max(asked.values()) <= (TURNS + 2) * (RETRIES + 1)
    for case, one in said.items():
        assert isinstance(one, ToldAnswer), (case, pick_fault(case), one)
        assert_marked(one)
        assert_true_to_the_book(one, WATCH)
    offline = {pick_fault(c).kind for c, one in said.items() if one.answerer != MODEL}  # type: ignore[union-attr]
    assert {FaultKind.UNAUTHORIZED, FaultKind.NO_QUOTA, FaultKind.SILENT, FaultKind.GARBAGE} <= offline


def _changed_number(text: str, chance: random.Random) -> str:
    return re.sub(r"\d+", lambda found: str(int(found[0]) + chance.randint(1, 99)), text)


def _changed_name(text: str, chance: random.Random) -> str:
    names = ("Harrow", "Marlow", "Elias Grey", "Quill", "Amalthea", "lighthouse", "storm", "pier", "boats")
    held = [name for name in names if name in text]
    if not held:
        return text
    other = chance.choice(("Ottoline", "Bergström", "Wexford", "Zanzibar", "Professor Plum"))
    return text.replace(chance.choice(held), other)


def _negated(text: str, chance: random.Random) -> str:
    return re.sub(
        r"\b(was|were|reached|broke|has|trimmed|steered|holds|blamed)\b", r"\1 never", text, count=1
    )


def _embroidered(text: str, chance: random.Random) -> str:
    more = (
        "and was rebuilt in 1902",
        "because of the plague",
        "to the joy of Bishop Odo",
        "at a loss of 70 men",
    )
    return f"{text.rstrip('.')} {chance.choice(more)}."


def _quoting(text: str, chance: random.Random) -> str:
    lie = chance.choice(("no light has ever saved a ship", "the sea owes me a fortune of 5000 pounds"))
    return f'{text.rstrip(".")}, and the book says: "{lie}".'


def _lie(seed: int, shown: Mapping[str, str]) -> tuple[str, list[str]]:
    """A claim that must not be published, made from sentences that the model was shown."""
    chance = random.Random(seed)
    ids = list(shown)
    id_ = chance.choice(ids)
    text = shown[id_]
    outside = chance.choice(WATCH["The Vault"].split(". "))
    others = [other for other in ids if other != id_]
    twisted = [twist(text, chance) for twist in (_changed_number, _changed_name, _negated)]
    twisted = [one for one in twisted if one != text] or [_embroidered(text, chance)]
    return chance.choice(
        [
            (text, [chance.choice(("s0", "s777", "S1", "", "s1s2", "chunk-1", "s" + "9" * 40))]),
            (text, [id_, "s4242"]),
            (text, []),
            (text, [chance.choice(others)]),
            (outside, [id_]),
            (outside, ["s777"]),
            (_embroidered(text, chance), [id_]),
            (_quoting(text, chance), [id_]),
            *((one, [id_]) for one in twisted * 2),
        ]
    )


_SHOWN = [f"s{number}" for number in range(1, 60)]


def _with_ids(claims: Iterable[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    return [(text, ids) for text, ids in claims if ids and text in WATCH["The Lighthouse"]]


async def test_of_five_hundred_bad_citations_none_is_published(data: Path) -> None:
    told_lies: dict[int, list[tuple[str, list[str]]]] = {}

    def script(request: ModelRequest) -> Reply:
        case = find_case(request)
        shown = request.sentences
        if case not in told_lies:
            seeds = range(case * LIES_AT_ONCE, (case + 1) * LIES_AT_ONCE)
            told_lies[case] = [_lie(seed, shown) for seed in seeds]
        return Claims([next((text, [id_]) for id_, text in shown.items()), *told_lies[case]])

    scope = Scope(type=ScopeType.SECTION, identifier="The Lighthouse")
    async with ScriptedModel(script) as model, open_library_with_model(data, model, turns=TURNS) as library:
        ask = lambda n: ask_question(library, f"{QUESTIONS[n % 2]} This is case {n}.", scope=scope)  # noqa: E731
        said = await at_once(ask, range(LIES // LIES_AT_ONCE))
    assert model.failures == []
    assert sum(map(len, told_lies.values())) == LIES
    answers = [one for one in said.values() if isinstance(one, ToldAnswer)]
    assert len(answers) == len(said), said
    published = [text for one in answers for text in list_unsupported(one)]
    assert not published, f"{len(published)} of {LIES}: {published}"
    for number, one in said.items():
        assert isinstance(one, ToldAnswer)
        assert_true_to_the_book(one, {"The Lighthouse": WATCH["The Lighthouse"]})
        # Beside the honest one only what stands in the book and was cited beside its place.
        moved = [text for text, (id_, *more) in _with_ids(told_lies[number]) if not more and id_ in _SHOWN]
        assert all(claim.text in moved for claim in one.claims[1:]), one.claims
    assert sum(one.answerer == MODEL for one in answers) > 0.8 * len(answers)
    assert sum(len(one.claims) for one in answers) >= 10, "nothing at all is published: this proves nothing"


async def test_what_is_out_of_scope_never_reaches_the_model(data: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        if request.tools and len(request.tool_results) < 4:
            return [
                Call("search_book", {"query": "the vault and the ledger of Queen Amalthea", "top_k": 10}),
                Call("read_section", {"section": "The Vault", "around": ""}),
                Call("read_section", {"section": "", "around": "s999"}),
                Call("list_contents", {}),
            ]
        return honest(request)

    scope = Scope(type=ScopeType.SECTION, identifier="The Storm")
    async with ScriptedModel(script) as model, open_library_with_model(data, model) as library:
        said = await ask_question(library, "How many boats were lost?", scope=scope)
    assert len(model.requests) >= 2
    for request in model.requests:
        for secret in ("Amalthea", "Doctor Quill", "Elias Grey"):
            assert secret not in "".join(r.text for r in request.tool_results)
    assert_true_to_the_book(said, {"The Storm": WATCH["The Storm"]})


@pytest.mark.parametrize(
    ("kind", "tries"),
    [
        (FaultKind.UNAUTHORIZED, 1),
        (FaultKind.NO_QUOTA, 1),
        (FaultKind.UNKNOWN_MODEL, 1),
        (FaultKind.RATE_LIMITED, 3),
        (FaultKind.RATE_LIMITED_BARE, 3),
        (FaultKind.SERVER_ERROR, 3),
        (FaultKind.UNAVAILABLE, 3),
    ],
)
async def test_only_faults_that_may_pass_are_tried_again(data: Path, kind: FaultKind, tries: int) -> None:
    async with (
        ScriptedModel(Fault(kind)) as model,
        open_library_with_model(data, model, retries=2) as library,
    ):
        said = await ask_question(library, QUESTIONS[2])
    assert len(model.requests) == tries
    assert said.answerer.startswith("offline, because")
    assert "sk-test" not in said.answerer
    assert_true_to_the_book(said, WATCH)


@pytest.mark.parametrize("kind", [FaultKind.RATE_LIMITED, FaultKind.SERVER_ERROR, FaultKind.CLOSED])
async def test_a_fault_that_passes_leaves_no_trace_in_the_answer(data: Path, kind: FaultKind) -> None:
    def script(request: ModelRequest) -> Reply:
        return Fault(kind) if len(model.requests) == 1 else honest(request)

    async with ScriptedModel(script) as model, open_library_with_model(data, model) as library:
        said = await ask_question(library, QUESTIONS[0])
    assert said.answerer == MODEL
    assert said.claims
    assert_true_to_the_book(said, WATCH)


@pytest.mark.parametrize("mode", ["agent", "single"])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_both_protocols_and_both_modes_answer_with_a_true_quotation(
    data: Path, mode: str, api: str
) -> None:
    async with (
        ScriptedModel(honest, key="sk-test") as model,
        open_library_with_model(data, model, mode=mode, api=api) as library,
    ):
        said = await ask_question(library, QUESTIONS[0])
    assert said.answerer == MODEL
    assert {request.api for request in model.requests} == {api}
    assert_true_to_the_book(said, WATCH)


async def test_an_endpoint_without_tools_and_structured_output_still_answers(data: Path) -> None:
    async with (
        ScriptedModel(honest, tools=False, structured=False) as model,
        open_library_with_model(data, model) as library,
    ):
        said = await ask_question(library, QUESTIONS[0])
    assert said.answerer == MODEL
    assert_true_to_the_book(said, WATCH)


async def test_a_model_that_loops_is_stopped_at_the_limits(data: Path) -> None:
    async with (
        ScriptedModel(Fault(FaultKind.TOOL_LOOP)) as model,
        open_library_with_model(data, model, turns=3, tool_calls=2) as library,
    ):
        said = await ask_question(library, QUESTIONS[0])
    assert 1 < len(model.requests) <= 4
    assert_marked(said)
    assert_true_to_the_book(said, WATCH)


async def test_a_reader_who_leaves_hangs_up_on_the_model(data: Path) -> None:
    async with ScriptedModel(Fault(FaultKind.SILENT)) as model:
        async with open_library_with_model(data, model, call_seconds=PATIENCE) as library:
            leaving = asyncio.create_task(ask_question(library, QUESTIONS[0]))
            async with asyncio.timeout(PATIENCE):
                while not model.requests:  # noqa: ASYNC110 - the server has no event for it
                    await asyncio.sleep(0.005)
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
            await model.wait_until_idle()
        assert model.abandoned == 1


async def test_a_model_that_keeps_failing_is_left_alone_for_a_while(data: Path) -> None:
    async with (
        ScriptedModel(Fault(FaultKind.UNAUTHORIZED)) as model,
        open_library_with_model(data, model, failures=2, rest_seconds=600.0) as library,
    ):
        said = [await ask_question(library, QUESTIONS[2]) for _ in range(4)]
    assert len(model.requests) == 2
    for one in said:
        assert one.answerer.startswith("offline, because")
        assert_true_to_the_book(one, WATCH)


async def test_claims_in_the_words_of_the_model_get_one_chance_to_be_mended(data: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        id_, text = next((i, t) for i, t in request.sentences.items() if "11 miles" in t)
        return Claims([(text.replace("11", "14") if len(model.requests) == 1 else text, [id_])])

    async with ScriptedModel(script) as model, open_library_with_model(data, model) as library:
        said = await ask_question(library, QUESTIONS[0])
    assert len(model.requests) == 2
    assert "11 miles" in said.answer.content
    assert said.answerer == MODEL


async def test_a_model_that_says_nothing_useful_ends_in_a_refusal_or_the_offline_answer(data: Path) -> None:
    for reply in (Claims([]), Say(""), Say("I do not know."), Say("{}"), Say('{"claims": "none"}')):
        async with ScriptedModel(reply) as model, open_library_with_model(data, model) as library:
            said = await ask_question(library, QUESTIONS[1])
        assert model.requests
        assert_marked(said)
        assert_true_to_the_book(said, WATCH)
