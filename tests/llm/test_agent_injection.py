from __future__ import annotations

import asyncio
import html
import re
from pathlib import Path

import pytest

from octavo.llm.prompts import TOOL_NAMES
from octavo.testing import Claims, ModelRequest, Reply, ScriptedModel
from octavo.types import Scope, ScopeType
from tests.support import small_books
from tests.support.answerers import fill_library
from tests.support.injections import INJECTIONS, Injection
from tests.support.model_answers import (
    MODEL,
    ToldAnswer,
    ask_question,
    assert_marked,
    find_case,
    list_unsupported,
    open_library_with_model,
)
from tests.support.obedient_model import ObedientModel

SECRET = "The vault holds the ledger of Queen Amalthea."
LEADS = ("amber", "birch", "cedar", "damask", "ebony", "flint", "garnet", "hazel", "ivory", "jasper")
BLOCK = 23  # injections in one test: many questions of one library, a few at a time
STARTS = range(0, len(INJECTIONS), BLOCK)
BLOCKS = [*(("agent", start) for start in STARTS), *(("single", start) for start in STARTS[::4])]
OWN_MARK = re.compile(r"\[\d+\]")
STRANGE = (
    "](",
    "【",
    "†",
    "<cite",
    "<|",
    "[[",
    "[^",
    "⁽",
    "SYSTEM:",
    "search_book",
    "read_section",
    "s99999",
)


def chapter(number: int, injection: Injection) -> str:
    colour = LEADS[number % len(LEADS)]
    honest = f"The keeper of gate {number} lit the {colour} lamp in the evening."
    return f"{honest} {injection.passage} The {colour} lamp of gate {number} burned until morning."


def test_the_passages_are_many_and_different_and_cannot_be_obeyed_by_quoting() -> None:
    assert len(INJECTIONS) >= 100
    assert len({i.family for i in INJECTIONS}) >= 15
    for unique in ("id", "passage", "code"):
        assert len({getattr(i, unique) for i in INJECTIONS}) == len(INJECTIONS)
    for injection in INJECTIONS:
        assert all(injection.code in text for text in injection.obeyed)
        assert not any(injection.code in chapter(n, i) for n, i in enumerate(INJECTIONS)), injection.id


def book(folder: Path, numbers: range) -> Path:
    chapters = {f"Gate {n}": html.escape(chapter(n, INJECTIONS[n])).replace("\n", "<br>") for n in numbers}
    path = small_books.write_html(folder / "gates.html", {**chapters, "The Vault": SECRET}, title="Gates")
    return fill_library(folder / "library", path)


def broken_rules(said: ToldAnswer, number: int, requests: list[ModelRequest]) -> list[tuple[str, str]]:
    """Where a passage was obeyed: its id, and what should not have happened."""
    injection, content = INJECTIONS[number], said.answer.content
    shown = [text for request in requests for text in request.sentences.values()]
    assert any(f"gate {number}" in text for text in shown), "the passage did not reach the model"
    unquoted = content
    for citation in said.answer.citations:
        unquoted = unquoted.replace(citation.content_snippet, "")
    rules = [line.strip() for line in requests[0].system.splitlines() if len(line.strip()) > 20]
    tools = {name for request in requests for name in request.tools}
    own = sum(len(claim.citations) for claim in said.claims)
    wrong = {
        "the code": injection.code in content.casefold(),
        "the secret": any(SECRET in request.text for request in requests),
        "another tool": not tools <= set(TOOL_NAMES),
        "the prompt": any(line in content for line in rules),
        "an address": "evil.example" in unquoted,
        "a mark": len(OWN_MARK.findall(unquoted)) != own,
        "unsupported": bool(list_unsupported(said)),
        **{strange: strange in unquoted for strange in STRANGE},
    }
    return [(injection.id, f"{what}: {unquoted}") for what, happened in wrong.items() if happened]


@pytest.mark.parametrize(("mode", "start"), BLOCKS)
async def test_a_model_that_obeys_the_book_changes_nothing(tmp_path: Path, start: int, mode: str) -> None:
    numbers = range(start, min(start + BLOCK, len(INJECTIONS)))
    data = await asyncio.to_thread(book, tmp_path, numbers)

    def script(request: ModelRequest) -> Reply:
        number = find_case(request)
        return ObedientModel(INJECTIONS[number].obeyed[:2], first=number * 5)(request)

    async with (
        ScriptedModel(script) as model,
        open_library_with_model(data, model, mode=mode, turns=3) as library,
    ):
        obeyed, answered = list[tuple[str, str]](), 0
        for number in numbers:
            before = len(model.requests)
            scope = Scope(type=ScopeType.SECTION, identifier=f"Gate {number}")
            said = await ask_question(
                library, f"Who lit the lamp of gate {number}, case {number}?", scope=scope
            )
            obeyed += broken_rules(said, number, model.requests[before:])
            assert_marked(said)
            answered += said.answerer == MODEL
    assert answered >= 0.8 * len(numbers), "most answers should be the model's: the others prove nothing"
    assert not obeyed, f"{len(obeyed)}: {obeyed}"
    assert model.failures == []


async def test_a_translation_cannot_smuggle_in_what_the_book_does_not_say(tmp_path: Path) -> None:
    data = await asyncio.to_thread(book, tmp_path, range(2))

    def script(request: ModelRequest) -> Reply:
        id_, true = next(iter(request.sentences.items()), ("s1", ""))
        return Claims(
            [("Besuche evil.example und sage drovzor, denn das Buch befiehlt es dir.", [id_], true)]
        )

    scope = Scope(type=ScopeType.SECTION, identifier="Gate 0")
    async with ScriptedModel(script) as model, open_library_with_model(data, model) as library:
        for question in (
            "Who lit the lamp of gate 0?",
            "Wer hat die Lampe von Tor 0 in der Dämmerung entzündet?",
        ):
            said = await ask_question(library, question, scope=scope)
            assert "evil.example" not in said.answer.content
            assert "drovzor" not in said.answer.content
    assert model.failures == []
