"""A table comes whole with its headings to a question for several things, and else the rows that answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from octavo.answers.replies import Reply
from octavo.answers.short import count_words
from octavo.answers.tables import complete_table, find_named_table, is_named
from octavo.answers.workspace import Workspace
from octavo.library import Library
from octavo.search.scope import Bounds
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import ElementKind, Evidence
from octavo.verification.claims import Claim, Sentence
from tests.support.answerers import ask_truly, fill_library, open_copy

HARBOUR = """# The Harbour

## Flags

A flag is hoisted at the mast for every state of the harbour.

Table 2-1: Harbour flags

| flag | meaning |
|---|---|
| green | the harbour is open |
| yellow | the harbour is open for pilots alone |
| red | the harbour is closed until noon |

The flags are made of wool, and the harbour master keeps two of each in a chest below the mast.

## Dues

Whoever lies at the quay pays the dues of the harbour for each night:

| boat | pence |
|---|---|
| herring wherry | 12 |
| coal brig | 90 |
| royal cutter | 0 |

Nobody ever paid the dues of the harbour on a Sunday.

## Fenders

| ! | A fender of rope keeps the hull from the stones of the quay. |
| ! | The fender is soaked in tar twice a year. |

## Bells

The bell of the pier is rung in a fog. It was cast in the north and weighs as much as two oxen.

| strokes | what they say of the fog |
|---|---|
| two | the fog lifts |
| five | the fog thickens |
"""
LONG = (
    "\n\n## Wrecks\n\nThe wrecks of the bay are these:\n\n| wreck | what lies below the water |\n|---|---|\n"
    + "".join(
        f"| Heron {n} | a brig with forty barrels of salt and a chest that nobody has opened |\n"
        for n in range(40)
    )
)

CHARTS = f"""# Charts

## Shoals

| shoal | {"what the pilots have written of it " * 40}|
|---|---|
| Heron | dry at low water |
| Gannet | {"a long bank of sand and shell " * 50}|
| Petrel | three fathoms |

## Ports

The office of the customs keeps the ports.

| service | protocol | port |
|---|---|---|
{"".join(f"| service{n} | udp | {n} |{chr(10)}" for n in range(400))}| mail | tcp | 25 |

## Lamps

A lamp of the coast burns whale oil. The keeper trims the wick at noon.

| lamp | tower |
|---|---|
| red | on the north tower |
| blue | on the south tower |

The keepers of the lamps are paid at midsummer.
"""


class Visitor:
    """Does nothing but hand out the workspace that it is given."""

    name = "visitor"

    def __init__(self) -> None:
        self.workspace: Workspace | None = None

    async def reply(self, question: str, workspace: Workspace) -> Reply:
        self.workspace = workspace
        return Reply((), 0.0, 0.0)


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("charts")
    (folder / "charts.md").write_text(CHARTS, encoding="utf-8")
    return fill_library(folder / "library", folder / "charts.md", chunk_tokens=64)


@pytest.fixture
async def workspace(charts: Path) -> AsyncIterator[Workspace]:
    visitor = Visitor()
    settings = Settings(data=charts, chunk_tokens=64)
    async with Library.open(settings=settings, embedder=TinyEmbedder(), answerer=visitor) as library:
        await library.ask("Which lamps, shoals and ports are there?")
        assert visitor.workspace is not None
        yield visitor.workspace


async def quote(workspace: Workspace, section: str, *words: str) -> list[Claim]:
    """Quote the first sentence of a section that has some words, for each of them."""
    (found,) = [s for s in (await workspace.list_sections_of("charts"))[0] if s.heading_path[-1] == section]
    seen = await workspace.look_through(found)
    taken = await workspace.take([next(s for s in seen if word in s.text) for word in words])
    return [Claim(sentence.text, (sentence.id,)) for sentence in taken]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "harbour.md").write_text(HARBOUR + LONG, encoding="utf-8")
    return fill_library(folder / "library", folder / "harbour.md", chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    """One that answers whatever it finds anything for, so that no test hangs on a calibration."""
    async with open_copy(shelf, tmp_path, risk=0.9, chunk_tokens=64) as opened:
        yield opened


async def list_lines(library: Library, question: str) -> list[str]:
    """Ask, and return the lines of the answer without the marks of its footnotes."""
    answer = await ask_truly(library, question)
    lines = (line.split(" [")[0] for line in answer.content.splitlines())
    return [line for line in lines if line]


@pytest.mark.parametrize("question", ["List the harbour flags", "Which flags does the harbour have?"])
async def test_a_table_comes_whole_with_its_caption_and_headings_and_nothing_else(
    library: Library, question: str
) -> None:
    assert await list_lines(library, question) == [
        "Table 2-1: Harbour flags",
        "flag | meaning",
        "green | the harbour is open",
        "yellow | the harbour is open for pilots alone",
        "red | the harbour is closed until noon",
    ]


async def test_a_table_that_is_called_what_the_question_asks_for_is_no_guess(library: Library) -> None:
    assert (await ask_truly(library, "List the harbour flags")).confidence >= 0.6


async def test_a_lead_in_comes_with_its_table_and_other_prose_above_it_does_not(library: Library) -> None:
    dues = await list_lines(library, "What are the dues of the boats, in pence?")
    assert dues[0].startswith("Whoever lies at the quay")
    assert dues[-4:] == ["boat | pence", "herring wherry | 12", "coal brig | 90", "royal cutter | 0"]
    bells = await list_lines(library, "Which strokes say what of the fog?")
    assert bells == ["strokes | what they say of the fog", "two | the fog lifts", "five | the fog thickens"]


async def test_a_question_for_one_row_gets_it_below_the_headings(library: Library) -> None:
    said = await list_lines(library, "What does a coal brig pay in pence?")
    assert [line for line in said if " | " in line] == ["boat | pence", "coal brig | 90"]


async def test_rows_that_have_words_of_the_question_are_meant_of_a_table_of_several_things(
    library: Library,
) -> None:
    said = await list_lines(library, "Which flags are for pilots?")
    assert [line for line in said if " | " in line] == [
        "flag | meaning",
        "yellow | the harbour is open for pilots alone",
    ]


async def test_notes_that_are_drawn_as_rows_without_headings_are_no_table(library: Library) -> None:
    said = await list_lines(library, "What keeps the hull from the stones?")
    assert not any("soaked in tar" in line for line in said[:1])
    assert "fender of rope" in said[0]


@pytest.mark.parametrize(
    "question", ["show me the table of flags", "Give me the full table of harbour flags"]
)
async def test_a_table_is_shown_that_is_asked_for_by_what_it_is_called(
    library: Library, question: str
) -> None:
    answer = await ask_truly(library, question)
    assert "Table 2-1" in answer.content
    assert "red | the harbour is closed until noon" in answer.content
    assert {c.chunk.section for c in answer.citations} == {"Flags"}


async def test_a_long_table_is_told_as_far_as_it_fits(library: Library) -> None:
    said = await list_lines(library, "List the wrecks of the bay")
    rows = [line for line in said if line.startswith("Heron")]
    assert rows[0].startswith("Heron 0 |")
    assert 5 < len(rows) < 20


async def test_the_rows_of_a_table_are_cited_each_at_its_place(library: Library) -> None:
    answer = await ask_truly(library, "List the harbour flags")
    section = await library.section("the-harbour", answer.citations[0].chunk.section_id)
    rows = {(e.start, e.end) for e in section.markup if e.kind is ElementKind.ROW}
    assert rows <= {(citation.start, citation.end) for citation in answer.citations}


@pytest.mark.parametrize("word", ["Heron", "Gannet", "Petrel"])
async def test_however_long_the_headings_are_the_quoted_row_is_told_below_them(
    workspace: Workspace, word: str
) -> None:
    claims = await quote(workspace, "Shoals", word)
    told = await complete_table(claims, workspace, question="List the shoals of the pilots")
    lines = [line for claim in told for line in claim.text.splitlines()]
    assert lines[0].startswith("shoal | what")
    assert [line for line in lines if line.startswith(("Heron", "Gannet", "Petrel"))] == lines[-1:]
    assert lines[-1].startswith(word)


async def test_where_no_row_is_quoted_and_none_fits_nothing_is_completed(workspace: Workspace) -> None:
    claims = await quote(workspace, "Shoals", "shoal | what")
    assert await complete_table(claims, workspace, question="List the shoals") == tuple(claims)


async def test_rows_that_have_a_word_of_the_question_are_told_as_far_as_they_fit(
    workspace: Workspace,
) -> None:
    claims = await quote(workspace, "Ports", "service7 ")
    (told,) = await complete_table(claims, workspace, question="List the ports of udp")
    lines = told.text.splitlines()
    assert lines[:2] == ["service | protocol | port", "service0 | udp | 0"]
    assert len(lines) == len(told.sentences)
    assert 190 < count_words(told.text) <= 200


async def test_the_passage_of_several_sentences_is_added_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = [s for s in (await workspace.list_sections_of("charts"))[0] if s.heading_path[-1] == "Ports"]
    seen = await workspace.look_through(found)
    added = list[str]()
    add = workspace._add

    async def count(items: Sequence[Evidence], *, bounds: Bounds | None = None) -> list[Sentence]:
        added.extend(item.chunk.id for item in items)
        return await add(items, bounds=bounds)

    monkeypatch.setattr(workspace, "_add", count)
    taken = await workspace.take(seen)
    assert [(s.start, s.text) for s in taken] == [(s.start, s.text) for s in seen]
    assert len(added) == len(set(added)) > 1


@pytest.mark.parametrize("name", ["whale oil", "noon"])
async def test_what_only_the_prose_above_a_table_says_is_no_name_of_it(
    workspace: Workspace, name: str
) -> None:
    assert await find_named_table(name, workspace) == ()
    assert await find_named_table("lamps", workspace) != ()


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("List the lamps", True),
        ("Which lamps are on the north tower?", True),
        ("Which lamps are not on the north tower?", False),
        ("List the lamps without a tower", False),
        ("Which lamps are on the north and the south tower?", False),
    ],
)
async def test_a_table_is_what_is_asked_for_if_one_row_has_what_its_headings_lack_and_nothing_is_left_out(
    workspace: Workspace, question: str, named: bool
) -> None:
    claims = await quote(workspace, "Lamps", "lamp | tower", "red", "blue")
    assert is_named(claims, question, workspace) == named


async def test_what_else_answers_comes_after_a_table_that_the_question_does_not_name(
    workspace: Workspace,
) -> None:
    claims = await quote(workspace, "Lamps", "red", "midsummer")
    told = await complete_table(claims, workspace, question="Which things are known of pay?")
    assert told[-1] == claims[-1]
    assert "blue | on the south tower" in "".join(claim.text for claim in told)
    assert claims[-1] not in await complete_table(claims, workspace, question="List the lamps")
