"""Asking at the command line: what is printed where, how it ends, and what is kept."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from octavo.cli import main
from octavo.cli.ask import _describe_confidence, describe_place, show_answer
from octavo.events import Answered, Claimed
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.answerers import add_tides, change_records
from tests.support.builders import make_answer, make_chunk, make_citation, make_question
from tests.support.copies import copy_library
from tests.support.patience import PATIENCE

LOST = "How many boats were lost?"
ANSWER = "Seven boats were lost with all their nets. [1]"


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Octavo = Callable[..., Said]


@pytest.fixture(scope="module")
def tides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


@pytest.fixture
def data(tides: Path, tmp_path: Path) -> Path:
    return copy_library(tides, tmp_path / "library")


@pytest.fixture
def octavo(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Octavo:
    """Runs a command in this process on a library that answers whatever it finds anything for."""
    monkeypatch.setenv("OCTAVO_DATA", str(data))
    monkeypatch.setenv("OCTAVO_RISK", "0.9")

    def load(settings: Settings) -> TinyEmbedder:
        return TinyEmbedder()

    monkeypatch.setattr("octavo.library.load_embedder", load)

    def run(*words: str | Path, stdin: str = "") -> Said:
        monkeypatch.setattr(sys, "argv", ["octavo", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run


def test_an_answer_is_printed_with_its_footnotes(octavo: Octavo) -> None:
    said = octavo("ask", LOST)
    lines = said.out.splitlines()
    assert (said.code, said.err) == (0, "")
    assert lines[0] == ANSWER
    assert re.fullmatch(r"(Very|Fairly|Not very) confident \(\d+%\)\.|A guess \(\d+%\): .+", lines[2])
    assert lines[3:] == ["  [1] The Tides › Storm", "      book://the-tides/storm#char=51,93"]


@pytest.mark.usefixtures("local_models")
def test_an_answer_by_the_models_that_come_along_is_the_same_and_opens_with_its_words(octavo: Octavo) -> None:
    said = octavo("ask", LOST)
    assert (said.code, said.out.splitlines()[:3]) == (0, ["Seven. [1]", "", ANSWER])
    found = octavo("search", "--json", "What did the storm break?").json["results"]
    assert found[0]["section"] == "Storm"
    both = [octavo("search", "--json", "storm harbour tide lamp", *more) for more in ([], ["--no-rerank"])]
    read, found = ([r["relevance_score"] for r in said.json["results"]] for said in both)
    assert len(read) == len(found) == 4
    assert read != found
    checked = octavo("verify")
    assert checked.code == 0


def test_a_refusal_ends_with_3_and_names_the_nearest(octavo: Octavo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_RISK", "0.05")
    said = octavo("ask", "What is the capital of France?")
    assert said.code == 3
    assert said.out.startswith("I ")
    assert "  The Tides › " in said.out
    assert "book://the-tides/" in said.out
    refused = octavo("ask", "What is the capital of France?", "--json")
    assert (refused.code, refused.json["status"]) == (3, "insufficient_data")
    assert refused.json["refusal"]["message"] == refused.json["answer"]
    words = " ".join(refused.json["refusal"]["nearest"][0]["excerpt"].split())
    assert words in " ".join(said.out.split())


def test_an_empty_library_is_refused_too(octavo: Octavo, tmp_path: Path) -> None:
    said = octavo("ask", LOST, "--data", tmp_path / "empty")
    assert (said.code, said.out) == (3, "There is no book in the library yet. Add one first.\n")


def test_json_is_the_object_that_the_service_gives(octavo: Octavo) -> None:
    made = octavo("ask", LOST, "--json", "--section", "Storm", "--book", "the-tides", "--top", "1").json
    assert made["answer"] == ANSWER
    assert made["citations"][0]["content_snippet"] == ANSWER[:-4]
    assert [e["section"] for e in made["evidence"]] == ["Storm"]


@pytest.mark.parametrize(
    "words",
    [
        ("ask", ""),
        ("ask", LOST, "--section", "Harbor"),
        ("ask", LOST, "--page", "3"),
        ("ask", LOST, "--book", "nothing"),
        ("ask", LOST, "--section", "Storm", "--up-to", "Storm"),
        ("ask", LOST, "--top", "21"),
        ("ask", LOST, "--selected-text", "goats"),
        ("ask", LOST, "--selected-text", " "),
        ("ask", LOST, "--selected-text", "x" * 501),
        ("ask", LOST, "--section", "Storm", "--selected-text", "Seven boats"),
        ("ask",),
        ("verify", "nothing"),
        ("sessions", "nothing"),
        ("sessions", "--export", "talk.md"),
    ],
)
def test_a_wrong_call_ends_with_2_and_a_sentence(octavo: Octavo, words: tuple[str, ...]) -> None:
    said = octavo(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err
    assert "Traceback" not in said.err


def test_a_selection_comes_from_a_flag_or_from_standard_input(octavo: Octavo) -> None:
    copy_library = "seven  boats were\nlost"
    assert octavo("ask", "How many?", "--selected-text", copy_library).out.startswith(ANSWER)
    assert octavo("ask", "How many?", "--selected-text", "-", stdin=f"{copy_library}\n").out.startswith(
        ANSWER
    )
    own = octavo("ask", "How many goats?", "--selected-text", "-", stdin="There are twelve goats.\n")
    assert "[1] Your selection (not found in one piece in the library)" in own.out
    assert octavo("ask", "How many?", "--selected-text", "-", stdin="\n").code == 2
    assert octavo("ask", "How many?", "--selected-text", "-", stdin="x" * 501).code == 2


def test_a_conversation_is_piped_in_and_answers_come_out(octavo: Octavo) -> None:
    lines = [
        LOST,
        "/sources",
        "/scope Nowhere",
        LOST,
        "/scope",
        "/what",
        "",
        "What broke the pier?",
        "When?",
        "/quit",
    ]
    said = octavo("chat", "--session", "talk", stdin="\n".join([*lines, "never read"]))
    assert said.code == 0
    assert said.out.startswith(ANSWER)
    assert "[1] The Tides › Storm\n    “Seven boats were lost with all their nets.”" in said.out
    assert "no section 'Nowhere' here" in said.err
    assert "/scope SECTION" in said.err
    assert "(interpreted as: " in said.out
    (session,) = octavo("sessions", "--json").json["sessions"]
    assert (session["session_id"], session["query_count"]) == ("talk", 4)
    assert session["end_time"] is not None


def test_a_conversation_is_narrowed_and_widened(octavo: Octavo) -> None:
    said = octavo("chat", "--json", stdin=f"/scope Harbour\n{LOST}\n")
    assert {e["section"] for e in said.json["evidence"]} == {"Harbour"}
    assert "Searching in The Tides › Harbour." in said.err
    wide = octavo("chat", "--section", "Harbour", "--json", stdin=f"/scope\n{LOST}\n")
    assert wide.json["answer"] == ANSWER
    assert octavo("chat", stdin="").code == 0


def test_a_misspelt_word_is_corrected_and_the_answer_says_so(octavo: Octavo) -> None:
    said = octavo("ask", "What did the harbor master do at the lihgthouse?")
    assert said.out.startswith("(interpreted as: What did the harbor master do at the lighthouse?)")
    asked = octavo("ask", "How many gulls has the lihgthouse?", "--json").json
    assert asked["interpreted"] == "How many gulls has the lighthouse?"
    assert "interpreted" not in octavo("ask", LOST, "--json").json


def test_a_refusal_says_how_a_misspelt_question_was_understood(
    octavo: Octavo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_RISK", "0.01")
    said = octavo("ask", "Who painted the lihgthouse?")
    assert said.code == 3
    assert said.out.startswith("(interpreted as: Who painted the lighthouse?)\nI am not sure enough")


def test_a_conversation_goes_on_with_ask(octavo: Octavo) -> None:
    octavo("ask", "What broke the northern pier?", "--session", "talk")
    said = octavo("ask", "When?", "--session", "talk")
    assert said.out.startswith("(interpreted as: When ")
    assert octavo("ask", "When?", "--session", "talk", "--json").json["session_id"] == "talk"


def test_conversations_are_listed_and_exported(octavo: Octavo, tmp_path: Path) -> None:
    assert octavo("sessions").out == "No conversations yet. `octavo chat` starts one.\n"
    octavo("ask", LOST, "--session", "talk")
    assert octavo("sessions").out.startswith("talk      20")
    assert octavo("sessions").out.endswith(f"1 question, open  {LOST}\n")
    page, data = tmp_path / "talk.md", tmp_path / "talk.json"
    assert octavo("sessions", "talk", "--export", page) == Said(0, "", f"Written to {page}.\n")
    assert f"## {LOST}" in page.read_text(encoding="utf-8")
    assert "> Seven boats were lost with all their nets." in page.read_text(encoding="utf-8")
    assert octavo("sessions", "talk", "--export", data).code == 0
    kept = json.loads(data.read_text(encoding="utf-8"))
    assert kept["answers"][0]["citations"][0]["content_snippet"] == ANSWER[:-4]
    assert kept == octavo("sessions", "talk", "--json").json
    assert octavo("sessions", "talk").out.startswith("# Conversation talk")
    lost = octavo("sessions", "talk", "--export", tmp_path / "no" / "talk.md")
    assert (lost.code, "cannot be written" in lost.err) == (1, True)


def test_a_citation_shows_every_heading_above_it() -> None:
    path, location = ("Part One", "Weather", "Storm"), "Moby-Dick › Part One › Storm, p. 7"
    chunk = replace(make_chunk(), heading_path=path, source_title="Moby-Dick", source_location=location)
    assert describe_place(make_citation(chunk=chunk)) == "Moby-Dick › Part One › Weather › Storm, p. 7"


def test_a_translated_sentence_is_printed_with_the_words_of_the_book(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = replace(make_answer("Ein Wal. [1]"), translated=("Ein Wal.",))
    claims = (Claimed("Ein Wal.", (1,), translated=True),)
    show_answer(Answered(make_question(), answer, make_question().content, claims=claims))
    printed = capsys.readouterr().out
    assert "Ein Wal. (translated) [1]\n" in printed
    assert f"      “{answer.citations[0].content_snippet}”\n" in printed


def test_a_conversation_is_known_by_the_beginning_of_its_id(octavo: Octavo) -> None:
    for last in ("1", "2"):
        octavo("ask", LOST, "--session", f"3f2a91c{last}-0000-4000-8000-000000000000")
    short = octavo("sessions").out.splitlines()[0].split()[0]
    assert short in ("3f2a91c1", "3f2a91c2")
    assert octavo("sessions", short).out.startswith(f"# Conversation {short}-0000")
    assert octavo("sessions", "3f2a").code == 2
    assert octavo("sessions", short, "--delete").code == 0
    assert len(octavo("sessions").out.splitlines()) == 1


def test_verify_says_how_many_quotations_are_true_and_its_exit_code_tells(octavo: Octavo, data: Path) -> None:
    assert octavo("verify").out == "0 of 0 quotations are correct.\n"
    answer = octavo("ask", LOST, "--json").json["answer_id"]
    octavo("ask", "Who counted the ships at dawn?")
    assert octavo("verify", answer) == Said(0, "1 of 1 quotations are correct.\n", "")
    assert octavo("verify", "--json").json["true"] is True
    change_records(data, "UPDATE texts SET text = replace(text, 'Seven', 'Eight')")
    said = octavo("verify")
    assert said.code == 1
    assert said.out.splitlines()[0].startswith(f"✗ {answer} [1] The Tides › Storm: ")
    wrong = octavo("verify", answer, "--json")
    assert (wrong.code, wrong.json["true"], wrong.json["citations"][0]["true"]) == (1, False, False)


def test_verify_finds_an_answer_that_was_changed(octavo: Octavo, data: Path) -> None:
    octavo("ask", LOST)
    change_records(data, "UPDATE answers SET citations = replace(citations, 'Seven', 'Nine')")
    said = octavo("verify")
    assert said.code == 1
    assert "changed afterwards" in said.out


def test_serve_answers_until_it_is_stopped(tmp_path: Path) -> None:
    """The real program with its own embedder, on a library of its own."""
    words = [sys.executable, "-m", "octavo.cli", "serve", "--port", "0", "--data", str(tmp_path / "new")]
    served = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert served.stderr is not None
    try:
        while not (where := re.search(r"http://127\.0\.0\.1:(\d+)", line := served.stderr.readline())):
            assert line, "the server does not come up"
        assert ready(int(where[1])) == {"status": "ready", "books": 0}
        busy = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        assert busy.returncode == 1
        assert "Traceback" not in busy.stderr
        assert "octavo: " in busy.stderr
    finally:
        served.send_signal(signal.SIGINT)
        _, said = served.communicate(timeout=PATIENCE)
    assert "Traceback" not in said


def ready(port: int) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE) as response:
        return json.load(response)


@pytest.mark.parametrize(
    ("confidence", "said"),
    [
        (0.2, "A guess (20%): these sentences"),
        (0.4, "Not very confident (40%)."),
        (0.7, "Fairly confident (70%)."),
        (0.9, "Very confident (90%)."),
    ],
)
def test_how_sure_an_answer_is_is_told_in_words_and_a_guess_is_called_a_guess(
    confidence: float, said: str
) -> None:
    assert _describe_confidence(confidence).startswith(said)
