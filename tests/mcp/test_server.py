"""The tools of the MCP server, called by the protocol's own client: results, errors, bounds, cancellation."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client, MCPError
from mcp.types import CallToolResult, TextContent

from octavo.answers.replies import Answerer
from octavo.errors import StoreError, TooMany
from octavo.events import Retrieved
from octavo.library import Library
from octavo.mcp import Visitor, make_server
from octavo.mcp.server import DEFINITIONS
from octavo.mcp.stdin import StdinLines
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Evidence
from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer, query_records
from tests.support.json_schemas import forbid_other_keys
from tests.support.patience import wait_until_async

HILLS = {"Summit": "Nine goats were lost on the summit in spring. The herdsman counted them twice at noon."}
LOST = "How many boats were lost?"
TOOLS = ["list_books", "search_book", "read_section", "map_book", "ask_book", "verify_answer"]


@asynccontextmanager
async def library(folder: Path, answerer: Answerer | None = None) -> AsyncIterator[Library]:
    async with Library.open(
        settings=Settings(data=folder / "library"),
        embedder=TinyEmbedder(),
        answerer=answerer or AllSentencesAnswerer("lost"),
    ) as opened:
        await opened.add(small_books.write_markdown(folder / "tides.md"))
        await opened.add(small_books.write_markdown(folder / "hills.md", HILLS, title="The Hills"))
        yield opened


def client(opened: Library, mode: str = "auto", **visitor: Any) -> Client:
    known = Visitor(**visitor)
    return Client(make_server(opened, find_visitor=lambda _: known), mode=mode)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def given(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The result of a tool, which has the fields that its schema names and no others."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content == json.loads(text_of(result))
    schema = DEFINITIONS[tool].result.model_json_schema(mode="serialization")
    Draft202012Validator(forbid_other_keys(schema)).validate(result.structured_content)
    return dict(result.structured_content or {})


async def complaint(client: Client, tool: str, **arguments: object) -> tuple[str, str]:
    """The code and the words of a tool error."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return str((result.meta or {})["octavo/code"]), text_of(result)


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Library]:
    async with library(tmp_path) as found:
        yield found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_tools_have_schemas_that_are_valid_and_say_that_text_is_data(
    opened: Library, mode: str
) -> None:
    async with client(opened, mode) as assistant:
        tools = (await assistant.list_tools()).tools
        assert [tool.name for tool in tools] == TOOLS
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema or {})
            assert tool.input_schema["additionalProperties"] is False
            assert all("description" in field for field in tool.input_schema["properties"].values())
            assert "data" in (tool.description or "")
            assert "instructions" in (tool.description or "")
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint


async def test_an_answer_quotes_its_evidence_to_the_letter_and_can_be_verified(opened: Library) -> None:
    async with client(opened) as assistant:
        answered = await given(assistant, "ask_book", question=LOST, book="the-tides")
        assert (answered["status"], answered["refusal"]) == ("completed", None)
        evidence = {passage["id"]: passage for passage in answered["evidence"]}
        for citation in answered["citations"]:
            passage = evidence[citation["chunk_id"]]
            assert citation["content_snippet"] in passage["content"]
            read = await given(
                assistant,
                "read_section",
                book=citation["book_id"],
                section=citation["section_id"],
                offset=citation["start"],
                limit=citation["end"] - citation["start"],
            )
            assert read["text"] == citation["content_snippet"]
            assert f"[{citation['number']}]" in answered["answer"]
        assert len(evidence) == len({c["chunk_id"] for c in answered["citations"]}) == 1
        verified = await given(assistant, "verify_answer", answer_id=answered["answer_id"])
        assert verified["true"]
        assert verified["citations"][0]["snippet"] in answered["answer"]


async def test_a_refusal_is_a_result_that_names_places_and_quotes_nothing(tmp_path: Path) -> None:
    async with (
        library(tmp_path, AllSentencesAnswerer("nothing that stands there")) as opened,
        client(opened) as assistant,
    ):
        refused = await given(assistant, "ask_book", question="Who built the pyramids?")
        assert (refused["status"], refused["citations"]) == ("insufficient_data", [])
        assert refused["refusal"]["message"] == refused["answer"]
        assert refused["refusal"]["nearest"]
        assert all("content" not in place for place in refused["refusal"]["nearest"])


async def test_a_narrowed_search_stays_inside(opened: Library) -> None:
    async with client(opened) as assistant:
        for narrowed, sections in (
            ({"section": "Storm"}, {"storm"}),
            ({"up_to": "Lighthouse"}, {"harbour", "lighthouse"}),
        ):
            found = await given(
                assistant, "search_book", query="boats in the storm", book="The Tides", top_k=9, **narrowed
            )
            assert {passage["section_id"] for passage in found["results"]} == sections
        elsewhere = await given(assistant, "ask_book", question=LOST, book="the-tides", section="Harbour")
        assert elsewhere["refusal"]["reason"] == "not_in_scope"


async def test_lists_come_in_parts_that_are_put_together_again(opened: Library) -> None:
    async with client(opened) as assistant:
        for arguments, key in (({"book": "the-tides"}, "contents"), ({}, "books")):
            whole = (await given(assistant, "list_books", **arguments))[key]
            parts: list[Any] = []
            after = None
            while True:
                part = await given(assistant, "list_books", limit=1, after=after, **arguments)
                parts += part[key]
                after = part["next"]
                if after is None:
                    break
            assert parts == whole
            assert len(whole) > 1
        assert (await given(assistant, "list_books"))["contents"] is None


async def test_a_section_is_read_in_parts_and_leads_to_the_next(opened: Library) -> None:
    async with client(opened) as assistant:
        text, offset = "", 0
        while offset is not None:
            part = await given(
                assistant, "read_section", book="the-tides", section="storm", offset=offset, limit=30
            )
            text, offset = text + part["text"], part["next_offset"]
        assert text == small_books.TIDES["Storm"]
        assert part["characters"] == len(text)
        assert (part["previous_section"], part["next_section"]) == ("lighthouse", "morning")
        beyond = await given(assistant, "read_section", book="the-tides", section="storm", offset=10_000)
        assert (beyond["text"], beyond["next_offset"]) == ("", None)


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "said"),
    [
        ("search_book", {}, "invalid_request", "query: Field required"),
        ("search_book", {"query": "x", "limit": 3}, "invalid_request", "limit: Extra inputs"),
        ("search_book", {"query": "x", "top_k": 0}, "invalid_request", "top_k"),
        ("search_book", {"query": "x", "book": "tide"}, "not_found", "`list_books` shows the books."),
        ("search_book", {"query": "x", "section": "Storm"}, "invalid_value", "which book"),
        (
            "search_book",
            {"query": "x", "book": "the-tides", "section": "Storm", "page": "1"},
            "invalid_value",
            "exclude each other",
        ),
        ("read_section", {"book": "the-tides", "section": "Strm"}, "not_found", "Storm"),
        ("ask_book", {"question": "x", "book": "nope"}, "not_found", "there are: the-"),
        ("ask_book", {"question": "\x00"}, "invalid_value", "content"),
        ("verify_answer", {"answer_id": "nope"}, "not_found", "`answer_id`"),
        ("list_books", {"after": "nope"}, "not_found", "`next`"),
    ],
)
async def test_what_is_wrong_is_a_tool_error_with_advice(
    opened: Library, tool: str, arguments: dict[str, object], code: str, said: str
) -> None:
    async with client(opened) as assistant:
        told = await complaint(assistant, tool, **arguments)
        assert told[0] == code
        assert said in told[1]


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(opened: Library) -> None:
    async with client(opened) as assistant:
        with pytest.raises(MCPError, match="no tool 'add_book' here"):
            await assistant.call_tool("add_book", {})


async def test_a_mistake_of_the_program_is_told_by_its_kind_only(opened: Library) -> None:
    def broken() -> Any:
        raise ZeroDivisionError("secret words")

    async with client(opened, reserve=broken) as assistant:
        told = await complaint(assistant, "ask_book", question=LOST)
        assert told == ("internal", "Internal error: ZeroDivisionError.")


async def test_a_failure_of_the_machine_is_told_without_its_folders(opened: Library) -> None:
    def fail() -> Any:
        raise StoreError("the store at /srv/private/store is damaged", hint="Look at /srv/private.")

    async with client(opened, reserve=fail) as assistant:
        _, said = await complaint(assistant, "ask_book", question=LOST)
        assert "the store at the data folder is damaged" in said
        assert "/srv" not in said


async def test_for_a_visitor_with_some_books_there_are_no_others(opened: Library) -> None:
    async with client(opened) as everyone, client(opened, books=("the-hills",)) as visitor:
        about_tides = await given(everyone, "ask_book", question=LOST, book="the-tides")
        length = await given(everyone, "ask_book", question="How long is the book?", book="the-tides")
        assert [one["book_id"] for one in length["catalogue"]] == ["the-tides"]
        assert length["citations"] == []
        assert [b["id"] for b in (await given(visitor, "list_books"))["books"]] == ["the-hills"]
        found = await given(visitor, "search_book", query="boats lost in the storm", top_k=50)
        assert {passage["book_id"] for passage in found["results"]} == {"the-hills"}
        answered = await given(visitor, "ask_book", question="What was lost?")
        assert {citation["book_id"] for citation in answered["citations"]} == {"the-hills"}
        for tool, arguments in (
            ("search_book", {"query": "boats", "book": "the-tides"}),
            ("read_section", {"book": "The Tides", "section": "storm"}),
            ("list_books", {"book": "the-tides"}),
            ("map_book", {"book": "the-tides"}),
            ("map_book", {"book": "the-tides", "name": "boats"}),
            ("ask_book", {"question": LOST, "book": "the-tides"}),
            ("verify_answer", {"answer_id": about_tides["answer_id"]}),
            ("verify_answer", {"answer_id": length["answer_id"]}),
        ):
            code, said = await complaint(visitor, tool, **arguments)
            assert code == "not_found"
            assert "the-tides" not in said.partition(" here")[2]


async def test_the_map_of_a_book_obeys_up_to(opened: Library) -> None:
    async with client(opened) as assistant:
        shown = await given(assistant, "map_book", book="the-tides")
        assert [chapter["title"] for chapter in shown["chapters"]] == list(small_books.TIDES)
        assert shown["found"] is None
        found = (await given(assistant, "map_book", book="the-tides", name="pier"))["found"]
        assert found["mentions"][0]["text"] == "A storm broke the northern pier in a single night."
        code, said = await complaint(assistant, "map_book", book="the-tides", name="pier", up_to="Lighthouse")
        assert code == "not_found"
        assert "map_book" in said


async def test_answers_and_conversations_belong_to_who_asked(opened: Library) -> None:
    async with client(opened, owner="mine") as mine, client(opened, owner="theirs") as theirs:
        first = await given(mine, "ask_book", question=LOST, session_id="new")
        again = await given(mine, "ask_book", question=LOST, session_id=first["session_id"])
        assert again["session_id"] == first["session_id"] not in (None, "new")
        assert (await opened.conversations.find_session(first["session_id"], owner="mine")).query_count == 2
        code, _ = await complaint(theirs, "ask_book", question=LOST, session_id=first["session_id"])
        assert code == "not_found"
        code, _ = await complaint(theirs, "verify_answer", answer_id=first["answer_id"])
        assert code == "not_found"
        code, said = await complaint(mine, "ask_book", question=LOST, session_id="made-up")
        assert code == "not_found"
        assert '"new"' in said


async def test_how_a_question_was_understood_is_told(opened: Library) -> None:
    async with client(opened) as assistant:
        assert (await given(assistant, "ask_book", question=LOST))["interpreted"] == ""
        misspelt = await given(assistant, "ask_book", question="Who trims the lamp of the lihgthouse?")
        assert misspelt["interpreted"] == "Who trims the lamp of the lighthouse?"


async def test_what_is_being_done_is_told_on_the_way(opened: Library) -> None:
    steps: list[tuple[float, str]] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        steps.append((progress, message or ""))

    seen: list[Evidence] = []

    async def watched(events: Any) -> Any:
        async for event in events:
            seen.extend(event.evidence if isinstance(event, Retrieved) else ())
            yield event

    async with client(opened, "legacy", watch=watched) as assistant:
        await assistant.call_tool("ask_book", {"question": LOST}, progress_callback=told)
    assert [number for number, _ in steps] == list(range(1, len(steps) + 1))
    assert seen
    assert f"{len(seen)} passages found" in [message for _, message in steps]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_question_that_is_cancelled_is_given_up_and_the_next_one_is_answered(
    tmp_path: Path, mode: str
) -> None:
    waiting = FailingAnswerer(waits=True)
    async with library(tmp_path, waiting) as opened, client(opened, mode) as assistant:
        asking = asyncio.ensure_future(assistant.call_tool("ask_book", {"question": LOST}))
        await waiting.reached.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await wait_until_async(lambda: query_records(opened, "SELECT status FROM questions") == [("error",)])
        assert (await given(assistant, "list_books"))["books"]


async def test_a_visitor_with_its_share_of_questions_is_told_to_wait(opened: Library) -> None:
    def full() -> Any:
        raise TooMany("4 streams are open already", retry_after=1.0, hint="Close one.")

    async with client(opened, reserve=full) as assistant:
        _, said = await complaint(assistant, "ask_book", question=LOST)
        assert said == "4 streams are open already\nClose one."


async def test_lines_are_whole_whatever_pieces_they_come_in(tmp_path: Path) -> None:
    long = "ü" * 100_000
    path = tmp_path / "input"
    path.write_bytes(f'one\n\n{long}\nlast "½'.encode() + b"\xff")
    with path.open("rb") as file:
        assert [line async for line in StdinLines(file.fileno())] == ["one", "", long, 'last "½�']


def test_the_entries_that_the_documentation_shows_are_json_and_start_what_there_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
    shown = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    entries = [
        entry["octavo"]
        for block in shown
        for name, entry in block.items()
        if name.lower().endswith("servers")
    ]
    assert len(entries) == len(shown) == 5
    for entry in entries:
        assert entry.get("args", ["mcp"])[0] == "mcp"
        assert entry.get("url", "/mcp").endswith("/mcp")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == TOOLS
