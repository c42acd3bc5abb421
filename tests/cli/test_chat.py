"""The conversation at the terminal: its lines, its commands, and leaving it."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.cli.ask import find_session_id
from octavo.cli.chat import Chat, InputLines, parse_scope, was_book_named
from octavo.library import Library
from octavo.testing import TinyEmbedder
from octavo.types import Question, Scope, ScopeType
from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer
from tests.support.patience import PATIENCE
from tests.support.small_books import write_markdown


@pytest.mark.parametrize(
    ("typed", "scope"),
    [
        ("", None),
        ("  ", None),
        ("Harbour", Scope(type=ScopeType.SECTION, identifier="Harbour")),
        ("page 12", Scope(type=ScopeType.PAGE, identifier="12")),
        ("Page xii", Scope(type=ScopeType.PAGE, identifier="xii")),
        ("up to The Storm", Scope(type=ScopeType.UP_TO, identifier="The Storm")),
        ("pageant", Scope(type=ScopeType.SECTION, identifier="pageant")),
    ],
)
def test_a_scope_is_typed_as_it_is_spoken(typed: str, scope: Scope | None) -> None:
    assert parse_scope(typed) == scope


async def test_lines_come_one_by_one_however_they_are_written() -> None:
    end, begin = os.pipe()
    file = os.fdopen(end, "rb")
    lines = InputLines(file)
    os.write(begin, b"one\ntw")
    assert await lines.read() == "one"
    waiting = asyncio.ensure_future(lines.read())
    await asyncio.sleep(0)
    assert not waiting.done()
    os.write(begin, "o\nthrée".encode())
    assert await waiting == "two"
    os.close(begin)
    assert await lines.read() == "thrée"
    assert await lines.read() is None
    file.close()


async def test_a_plain_file_is_read_like_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "typed.txt"
    path.write_text("one\n\ntwo\n", encoding="utf-8")
    with path.open("rb") as file:
        lines = InputLines(file)
        assert [await lines.read() for _ in range(4)] == ["one", "", "two", None]


async def test_waiting_for_a_line_can_be_given_up() -> None:
    end, begin = os.pipe()
    with os.fdopen(end, "rb") as file:
        waiting = asyncio.ensure_future(InputLines(file).read())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    os.close(begin)


def test_the_first_interrupt_at_an_idle_prompt_ends_the_conversation(tmp_path: Path) -> None:
    """On a real terminal: nothing has to be typed after Ctrl-C."""
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "octavo.cli", "--data", str(tmp_path / "library"), "chat"]
    chat = subprocess.Popen(
        command, stdin=inner, stdout=inner, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    try:
        assert chat.stderr is not None
        while chat.stderr.read(1) not in (">", ""):
            pass  # until the prompt
        chat.send_signal(signal.SIGINT)
        _, said = chat.communicate(timeout=PATIENCE)
        assert chat.returncode != 0
        assert "Stopped." in said
    finally:
        chat.kill()
        os.close(outer)
        os.close(inner)


def test_a_scope_that_names_nothing_is_told_at_once_and_the_old_one_stays(tmp_path: Path) -> None:
    book = write_markdown(
        tmp_path / "sea.md", {"Harbour": "Seven boats were lost in the storm of that year."}
    )
    octavo = [sys.executable, "-m", "octavo.cli", "--data", str(tmp_path / "library")]
    subprocess.run([*octavo, "add", str(book)], check=True, capture_output=True)
    typed = "/scope Harbor\n/scope Harbour\n/nonsense\n"
    told = subprocess.run([*octavo, "chat"], input=typed, capture_output=True, text=True, check=True).stderr
    assert "no section 'Harbor'" in told
    assert "Harbour" in told.split("no section")[1]
    assert "Searching in " in told
    assert "/sources" in told


async def test_ctrl_c_stops_the_answer_and_not_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("How many boats were lost?\n/nonsense\n"))
    answerer, before = FailingAnswerer(waits=True), signal.getsignal(signal.SIGINT)
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder(), answerer=answerer) as library:
        await library.add(write_markdown(tmp_path / "tides.md"))
        session = await library.session("talk")
        talk = asyncio.ensure_future(Chat(library, session.session_id, None, None, as_json=False).run())
        await asyncio.wait_for(answerer.reached.wait(), PATIENCE)
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait_for(talk, PATIENCE)
        (exchange,) = await library.conversations.list_exchanges("talk")
    told = capsys.readouterr().err
    assert told.index("Stopped. Ask something else") < told.index("/sources")
    assert exchange.answer is None
    assert signal.getsignal(signal.SIGINT) is before


def test_on_a_terminal_earlier_questions_come_back_with_the_arrow_keys(tmp_path: Path) -> None:
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "octavo.cli", "--data", str(tmp_path / "library"), "chat"]
    shown = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(
        command, stdin=inner, stdout=inner, stderr=inner, start_new_session=True, env=shown
    ) as chat:
        os.close(inner)
        said = b""
        for typed, wanted in ((b"/nonsnese\r", b"/sources"), (b"\x1b[A\r", b"/sources"), (b"/quit\r", b"")):
            while not said.endswith(b"> "):
                said += os.read(outer, 4_096)
            os.write(outer, typed)
            said = b""
            while wanted not in said:
                said += os.read(outer, 4_096)
            assert b"nonsnese" in said or not wanted
        assert chat.wait(PATIENCE) == 0
    os.close(outer)


async def test_a_follow_up_prefers_the_book_of_the_last_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = "How many boats were lost in the storm?\nAnd where?\nWhat is a goat?\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    answerer = AllSentencesAnswerer("boats")
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder(), answerer=answerer) as library:
        sea = {"Harbour": "Seven boats were lost in the storm of that year. The boats were counted in May."}
        await library.add(write_markdown(tmp_path / "sea.md", sea, title="The Sea"))
        hills = {"Summit": "Nine goats were lost on the summit in spring. They were counted in June."}
        await library.add(write_markdown(tmp_path / "hills.md", hills, title="The Hills"))
        await Chat(library, (await library.session("talk")).session_id, None, None, as_json=True).run()
        asked = [entry.question for entry in await library.conversations.list_exchanges("talk")]
    preferred = [dict(question.user_preferences) for question in asked]
    assert preferred == [{}, {"books": ["the-sea"]}, {}]


async def test_a_resumed_conversation_shows_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    answerer = AllSentencesAnswerer("boats")
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder(), answerer=answerer) as library:
        await library.add(write_markdown(tmp_path / "tides.md"))
        await library.ask("How many boats were lost?", session_id="monday")
        assert await find_session_id(library, "last") == "monday"
        await Chat(library, "monday", None, None, as_json=False).resume()
    assert "Last question: How many boats were lost?" in capsys.readouterr().err


async def test_a_resumed_conversation_goes_on_in_its_book_and_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("How many boats came back?\n/scope\nWhere are boats?\n"))
    answerer = AllSentencesAnswerer("boats")
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder(), answerer=answerer) as library:
        sea = {"Harbour": "Seven boats were lost that year.", "Quay": "Two boats came back to the quay."}
        await library.add(write_markdown(tmp_path / "sea.md", sea, title="The Sea"))
        await library.add(write_markdown(tmp_path / "hills.md", title="The Hills"))
        part = Scope(type=ScopeType.SECTION, identifier="Quay")
        await library.ask("How many boats?", session_id="monday", book_id="the-sea", scope=part)
        talk = Chat(library, "monday", None, None, as_json=False)
        await talk.resume()
        await talk.run()
        asked = [entry.question for entry in await library.conversations.list_exchanges("monday")]
    told = capsys.readouterr().err
    assert told.index("Searching in The Sea › Quay") < told.index("Searching in The Sea.")
    assert [(one.book_id, one.scope.type) for one in asked] == [
        ("the-sea", ScopeType.SECTION),
        ("the-sea", ScopeType.SECTION),
        ("the-sea", ScopeType.FULL_BOOK),
    ]


QUAY = Scope(type=ScopeType.SECTION, identifier="Quay")
SUMMIT = Scope(type=ScopeType.SECTION, identifier="Summit")


@pytest.mark.parametrize(
    ("places", "named"),
    [
        ([("the-sea", None)], True),
        ([("the-sea", QUAY), ("the-sea", QUAY)], True),
        ([("the-sea", None), ("the-sea", QUAY)], True),
        ([("the-hills", SUMMIT), ("the-sea", QUAY)], True),
        ([(None, None), ("the-sea", QUAY), ("the-sea", QUAY)], False),
        ([(None, None), ("the-sea", None), ("the-sea", QUAY)], True),
        ([(None, QUAY)], False),
    ],
)
def test_a_resumed_conversation_keeps_the_book_that_was_named(
    places: list[tuple[str | None, Scope | None]], named: bool
) -> None:
    asked = [Question(content="How many?", book_id=book, scope=scope or Scope()) for book, scope in places]
    assert was_book_named(asked) is named


async def test_a_scope_is_in_the_book_that_the_last_answer_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = "/scope Quay\nHow many boats were lost?\n/scope Quay\nHow many boats came back?\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    answerer = AllSentencesAnswerer("boats")
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder(), answerer=answerer) as library:
        sea = {"Harbour": "Seven boats were lost that year.", "Quay": "Two boats came back to the quay."}
        await library.add(write_markdown(tmp_path / "sea.md", sea, title="The Sea"))
        hills = {"Summit": "Nine goats were lost on the summit in spring."}
        await library.add(write_markdown(tmp_path / "hills.md", hills, title="The Hills"))
        await Chat(library, (await library.session("talk")).session_id, None, None, as_json=True).run()
        asked = [entry.question for entry in await library.conversations.list_exchanges("talk")]
    told = capsys.readouterr().err
    assert told.index("name the book with --book") < told.index("Searching in The Sea › Quay")
    assert [(one.book_id, one.scope.identifier is None) for one in asked] == [
        (None, True),
        ("the-sea", False),
    ]
