"""`octavo mcp` as an assistant starts it: a process of its own, spoken to over its input and output."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from tests.support import small_books
from tests.support.patience import PATIENCE

OCTAVO = [sys.executable, "-m", "octavo.cli"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small book and another, indexed by the embedder that comes with the package."""
    folder = tmp_path_factory.mktemp("books")
    tides = small_books.write_markdown(folder / "tides.md")
    hills = small_books.write_markdown(
        folder / "hills.md", {"Summit": "Goats live there."}, title="The Hills"
    )
    command = [*OCTAVO, "--data", str(folder / "library"), "add", str(tides), str(hills)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "library"


@asynccontextmanager
async def assistant(data: Path, *options: str, mode: str = "auto") -> AsyncIterator[Client]:
    arguments = [*OCTAVO[1:], "--data", str(data), "mcp", *options]
    async with Client(StdioServerParameters(command=OCTAVO[0], args=arguments), mode=mode) as client:
        yield client


async def given(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content or {})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_assistant_asks_reads_verifies_and_is_refused(data: Path, mode: str) -> None:
    steps: list[str] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    async with assistant(data, mode=mode) as client:
        assert len((await client.list_tools()).tools) == 6
        result = await client.call_tool(
            "ask_book", {"question": "How many boats were lost?"}, progress_callback=told
        )
        answered = dict(result.structured_content or {})
        (citation,), (passage,) = answered["citations"], answered["evidence"]
        assert "Seven boats" in citation["content_snippet"]
        assert citation["content_snippet"] in passage["content"]
        assert (await given(client, "verify_answer", answer_id=answered["answer_id"]))["true"] is True
        found = await given(client, "search_book", query="lamp at dusk", top_k=1)
        (best,) = found["results"]
        read = await given(client, "read_section", book=best["book_id"], section=best["section_id"])
        assert read["text"][best["start"] : best["end"]] == best["content"]
        refused = await given(client, "ask_book", question="Who invented the telephone?")
        assert refused["status"] == "insufficient_data"
    assert "reading the question" in steps


async def test_a_second_process_lists_books_and_says_who_holds_the_library(data: Path) -> None:
    async with assistant(data) as first, assistant(data, "--book", "The Hills") as second:
        await given(first, "search_book", query="goats")
        listed = await given(second, "list_books")
        assert [book["id"] for book in listed["books"]] == ["the-hills"]
        busy = await second.call_tool("search_book", {"query": "goats"})
        assert busy.is_error
        assert (busy.meta or {})["octavo/code"] == "library_busy"
        assert isinstance(busy.content[0], TextContent)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, None])
def test_the_process_stops_when_told_and_says_nothing_but_the_protocol(
    data: Path, stop: signal.Signals | None
) -> None:
    command = [*OCTAVO, "--data", str(data), "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        into, out = _ends(process)
        into.write(b"no json at all\n" + json.dumps(HELLO).encode() + b"\n")
        into.flush()
        replies = [json.loads(out.readline())]
        while replies[-1].get("id") != 1:
            replies.append(json.loads(out.readline()))
        assert replies[-1]["result"]["serverInfo"]["name"] == "octavo"
        if stop is not None:
            process.send_signal(stop)
            assert process.wait(PATIENCE) == 0  # its input is still open
        into.close()
        assert process.wait(PATIENCE) == 0
        assert out.read() == b""


def _ends(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def test_a_book_that_is_not_there_is_told_before_anything_is_said(data: Path) -> None:
    command = [*OCTAVO, "--data", str(data), "mcp", "--book", "nope"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no book 'nope' here" in done.stderr


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_what_goes_wrong_before_is_told_as_json_where_that_is_wanted(data: Path, options: list[str]) -> None:
    command = [*OCTAVO, "--data", str(data), "mcp", "--book", "no-such-book", *options]
    failed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "no book 'no-such-book' here" in failed.stderr
    told = json.loads(failed.stdout)["error"]["code"] if options else failed.stdout
    assert told == ("not_found" if options else "")
