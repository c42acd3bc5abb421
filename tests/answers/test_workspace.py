"""A room leads to more of the book, never beyond the reader's bounds; its tools forgive mistakes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from octavo.answers.replies import Reply
from octavo.answers.workspace import FOUND_MOST, Workspace
from octavo.errors import NotFound
from octavo.library import Library
from octavo.llm.prompts import TOOL_NAMES
from octavo.llm.tools import ToolBudget, make_tool, make_tools
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Scope, ScopeType
from tests.support import small_books
from tests.support.answerers import fill_library
from tests.support.patience import PATIENCE

ASKED = "Which stone lies deep?"


def line(code: str) -> str:
    return f"The stone of pearl{code} lies deep under the well-worn stairs."


class Visitor:
    """Does nothing but hand out the room it is brought into."""

    name = "visitor"

    def __init__(self) -> None:
        self.room: Workspace | None = None

    async def reply(self, question: str, workspace: Workspace) -> Reply:
        self.room = self.room or workspace  # a second one may be looked at beyond the scope
        return Reply((), 0.0, 0.0)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four parts with two rooms each, pages, and another book; each sentence has a word of its own."""
    folder = tmp_path_factory.mktemp("rooms")
    nested = {
        f"Part {p}": " ".join(line(f"{p}x{n}") for n in range(7))
        + "".join(f"\n\n### Room {p}{r}\n\n{line(f'{p}r{r}x0')} {line(f'{p}r{r}x1')}" for r in "ab")
        for p in range(4)
    }
    pages = [[line(f"page{p}x{n}") for n in range(5)] for p in range(1, 9)]
    return fill_library(
        folder / "library",
        small_books.write_markdown(folder / "rooms.md", nested, title="Rooms"),
        small_books.write_pdf(folder / "pages.pdf", pages),
        small_books.write_markdown(folder / "other.md", {"Only": line("other")}, title="Other"),
        chunk_tokens=48,
    )


@pytest.fixture
async def visiting(shelf: Path) -> AsyncIterator[tuple[Library, Visitor]]:
    visitor = Visitor()
    settings = Settings(data=shelf, chunk_tokens=48)
    async with Library.open(settings=settings, embedder=TinyEmbedder(), answerer=visitor) as library:
        yield library, visitor


async def entered(
    visiting: tuple[Library, Visitor],
    *,
    book: str | None = "rooms",
    scope: Scope | None = None,
    text: str | None = None,
    top_k: int = 2,
) -> Workspace:
    library, visitor = visiting
    asking = library.stream(ASKED, book_id=book, scope=scope, selected_text=text, top_k=top_k)
    async for _ in asking:
        if visitor.room is not None:
            break
    await asking.aclose()
    assert visitor.room is not None
    return visitor.room


def section(name: str) -> Scope:
    return Scope(type=ScopeType.SECTION, identifier=name)


def codes(workspace: Workspace) -> set[str]:
    return {code for s in workspace for code in re.findall(r"pearl(\w+)", s.text)}


async def use(
    workspace: Workspace, name: str, arguments: Mapping[str, Any] | str, *, calls: ToolBudget | None = None
) -> str:
    """Calls a tool as the model does."""
    made = {t.name: t for t in make_tools(workspace, calls or ToolBudget(5, PATIENCE), nonce="ab12")}[name]
    said = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return str(await made.on_invoke_tool(None, said))  # type: ignore[arg-type]


async def test_sentences_keep_their_numbers_however_often_they_are_found(
    visiting: tuple[Library, Visitor],
) -> None:
    workspace = await entered(visiting)
    before = {s.id: s.text for s in workspace}
    assert list(before) == [f"s{n + 1}" for n in range(len(workspace))]
    again = await workspace.search(ASKED, top_k=2)
    assert {s.id: s.text for s in again} == before
    more = await workspace.search("pearl3rbx1 of Room 3b", top_k=5)
    assert len(workspace) > len(before)
    assert [s.id for s in workspace] == [f"s{n + 1}" for n in range(len(workspace))]
    assert {s.id for s in more} <= {s.id for s in workspace}
    assert [e.rank for e in workspace.evidence] == sorted({e.rank for e in workspace.evidence})
    assert len({e.chunk.id for e in workspace.evidence}) == len(workspace.evidence)


async def test_a_section_is_read_in_order_and_a_sentence_with_its_neighbours(
    visiting: tuple[Library, Visitor],
) -> None:
    workspace = await entered(visiting)
    read = await workspace.section("Room 2b")
    assert [re.findall(r"pearl\w+", s.text)[0] for s in read] == ["pearl2rbx0", "pearl2rbx1"]
    around = await workspace.section("", around=read[0].id)
    places = sorted({s.chunk.document_position for s in around})
    here = read[0].chunk.document_position
    assert places == [here - 1, here, here + 1]
    assert {s.chunk.section_id for s in around} != {read[0].chunk.section_id}
    with pytest.raises(NotFound, match="Part"):
        await workspace.section("Partition")


@pytest.mark.parametrize(
    ("name", "inside", "allowed"),
    [
        ("Room 1a", r"1rax\d", ["Room 1a"]),
        ("Part 1", r"1(?:x|ra|rb)\w+", ["Part 1", "Room 1a", "Room 1b"]),
        ("Part 3", r"3(?:x|ra|rb)\w+", ["Part 3", "Room 3a", "Room 3b"]),
    ],
)
async def test_no_tool_leads_out_of_a_section(
    visiting: tuple[Library, Visitor], name: str, inside: str, allowed: list[str]
) -> None:
    workspace = await entered(visiting, scope=section(name))
    await workspace.search("pearl2rax0 page other pearl0x1", top_k=10)
    for other in {"Room 2b", "Only", "Part 0"} - set(allowed):
        with pytest.raises(NotFound) as missing:
            await workspace.section(other)
        assert set(missing.value.nearest) <= set(allowed)
    for other in allowed:
        await workspace.section(other)
    for sentence in list(workspace):
        await workspace.section("", around=sentence.id)
    assert codes(workspace)
    assert all(re.fullmatch(inside, code) for code in codes(workspace))
    assert [heading.split(" › ")[-1] for heading in await workspace.contents()] == allowed


async def test_not_even_a_title_is_told_of_what_the_reader_has_not_come_to(
    visiting: tuple[Library, Visitor],
) -> None:
    workspace = await entered(visiting, scope=Scope(type=ScopeType.UP_TO, identifier="Room 1a"))
    assert [heading.split(" › ")[-1] for heading in await workspace.contents()] == [
        "Part 0", "Room 0a", "Room 0b", "Part 1", "Room 1a",
    ]  # fmt: skip
    with pytest.raises(NotFound) as missing:
        await workspace.section("Room 3b")
    assert not [title for title in missing.value.nearest if title[5] in "23"]
    await workspace.search("pearl3rbx1 pearl2x1", top_k=10)
    for sentence in list(workspace):
        await workspace.section("", around=sentence.id)
    assert all(code[0] in "01" and not code.startswith("1rb") for code in codes(workspace))


async def test_words_of_a_section_that_the_reader_has_only_begun_do_not_count(
    visiting: tuple[Library, Visitor],
) -> None:
    workspace = await entered(visiting, scope=Scope(type=ScopeType.UP_TO, identifier="Room 1a"))
    listed, visible = await workspace.list_sections()
    begun = [section.text for section in listed if section.id in visible and section.text.strip()]
    assert len(begun) > 2
    assert await workspace.list_visible_texts() == begun[:-1]


async def test_no_tool_leads_to_another_page_or_book(visiting: tuple[Library, Visitor]) -> None:
    page = Scope(type=ScopeType.PAGE, identifier="#3")
    workspace = await entered(visiting, book="pages", scope=page)
    await workspace.search("pearlpage4x1 pearlother pearl0x1", top_k=10)
    for sentence in list(workspace):
        await workspace.section("", around=sentence.id)
    for heading in await workspace.contents():
        await workspace.section(heading)
    assert codes(workspace) == {f"page3x{n}" for n in range(5)}


async def test_a_selection_is_all_there_is(visiting: tuple[Library, Visitor]) -> None:
    workspace = await entered(visiting, text=f"{line('1x2')} {line('1x3')}")
    await workspace.search("pearl0x0", top_k=10)
    await workspace.section("", around="s1")
    await workspace.section("Part 1")
    assert codes(workspace) == {"1x2", "1x3"}
    assert await workspace.contents() == ["Part 1"]


async def test_one_passage_from_before_a_selection_is_found_although_it_was_read_already(
    visiting: tuple[Library, Visitor],
) -> None:
    workspace = await entered(visiting, text=f"{line('1x2')} {line('1x3')}")
    read = workspace.look_back()
    await read.search("pearl0x0", top_k=50)
    assert "0x0" in codes(workspace)
    assert not {code for code in codes(workspace) if code > "1x3"}
    found = {sentence.text for sentence in await workspace.search_beyond("pearl0x0")}
    assert line("0x0") in found
    assert line("1x2") not in found


async def test_the_readers_own_text_is_all_there_is(visiting: tuple[Library, Visitor]) -> None:
    workspace = await entered(visiting, book=None, text="Twelve goats ate the grass. Then they slept.")
    assert [s.text for s in await workspace.search("pearl0x0", top_k=10)] == [s.text for s in workspace]
    assert [s.text for s in await workspace.section("Part 1")] == [
        "Twelve goats ate the grass.",
        "Then they slept.",
    ]
    assert await workspace.contents() == []


async def test_all_books_are_open_where_no_book_was_named(visiting: tuple[Library, Visitor]) -> None:
    workspace = await entered(visiting, book=None)
    contents = await workspace.contents()
    assert {"Rooms › Part 1", "Rooms › Part 1 › Room 1a", "Other › Only"} <= set(contents)
    for name in ("Only", "Other › Only"):
        assert [s.text for s in await workspace.section(name)] == [line("other")]


# The tools themselves


async def test_tools_show_sentences_between_the_marks_and_say_what_they_do(
    visiting: tuple[Library, Visitor],
) -> None:
    workspace = await entered(visiting, top_k=1)
    told: list[tuple[str, str]] = []
    workspace.on_step = lambda step, detail: told.append((step, detail))
    found = await use(workspace, "search_book", {"query": "pearl3rbx1", "top_k": 1})
    assert re.match(r"<<<book ab12>>>\n# Rooms › .*\ns\d+: The stone", found)
    assert found.endswith("<<<end ab12>>>")
    read = await use(workspace, "read_section", {"section": "Room 2a", "around": ""})
    assert "pearl2rax1" in read
    listed = await use(workspace, "list_contents", "")
    assert listed.split("\n")[1:3] == ["Part 0", "Part 0 › Room 0a"]
    assert told == [("searching", "pearl3rbx1"), ("reading", "Room 2a"), ("reading", "the contents")]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search_book", "{", "not JSON"),
        ("search_book", "[" * 50_000, "not JSON"),
        ("search_book", "[1]", "not a JSON object"),
        ("search_book", {}, "Give a `query`"),
        ("search_book", {"query": ["a"], "top_k": "many"}, "<<<book"),
        ("search_book", {"query": "stone " * 900, "top_k": 10**9}, "<<<book"),
        ("search_book", {"query": "stone", "top_k": -3}, "<<<book"),
        ("read_section", {"section": "Nowhere", "around": 0}, "no such section"),
        ("read_section", {}, "no such section"),
        ("list_contents", {"scope": "everything"}, "<<<book"),
        ("look_up_name", {"name": 7}, "(nothing)"),
        ("look_up_name", {}, "(nothing)"),
        ("read_gist", {"part": "the part on dragons"}, "no such part"),
        ("read_list", {"sentence": "s999"}, "Give the id"),
        ("read_list", {}, "Give the id"),
        ("read_list", {"sentence": "s1"}, "<<<book"),
    ],
)
async def test_a_model_that_calls_a_tool_wrongly_is_told_so(
    visiting: tuple[Library, Visitor], name: str, arguments: Mapping[str, Any] | str, said: str
) -> None:
    workspace = await entered(visiting)
    assert said in await use(workspace, name, arguments)
    assert len(workspace.evidence) <= 2 + FOUND_MOST


async def test_after_the_last_call_there_are_no_more(visiting: tuple[Library, Visitor]) -> None:
    workspace, calls = await entered(visiting), ToolBudget(2, PATIENCE)
    for _ in range(2):
        assert "<<<book" in await use(workspace, "list_contents", {}, calls=calls)
    assert "no calls left" in await use(workspace, "search_book", {"query": "stone"}, calls=calls)
    assert calls.made == 2


async def test_a_tool_that_takes_too_long_is_given_up() -> None:
    async def endless(given: Mapping[str, Any]) -> str:
        await asyncio.sleep(600)
        return "never"

    made = make_tool("search_book", endless, ToolBudget(5, 0.01))
    assert await made.on_invoke_tool(None, "{}") == "This took too long."  # type: ignore[arg-type]


async def test_a_name_and_a_gist_stay_within_the_bounds(visiting: tuple[Library, Visitor]) -> None:
    workspace = await entered(visiting, scope=section("Part 1"), top_k=1)
    gist = await use(workspace, "read_gist", {"part": "the book"})
    assert set(re.findall(r"pearl(\d)", gist)) == {"1"}
    assert "(nothing)" in await use(workspace, "look_up_name", {"name": "pearl3rbx1"})
    assert "pearl1rax0" in await use(workspace, "look_up_name", {"name": "pearl1rax0"})
    assert {code[0] for code in codes(workspace)} == {"1"}


def test_the_tools_are_six_and_none_of_them_takes_a_scope() -> None:
    made = make_tools(None, ToolBudget(1, 1.0), nonce="ab12")  # type: ignore[arg-type]
    assert tuple(t.name for t in made) == TOOL_NAMES
    taken = [set(t.params_json_schema["properties"]) for t in made]
    assert taken == [{"query", "top_k"}, {"section", "around"}, set(), {"name"}, {"part"}, {"sentence"}]
