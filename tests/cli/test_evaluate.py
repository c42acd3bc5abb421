"""`octavo eval`: questions made from the book or brought along, judged, compared and written as a page."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from octavo.cli import octavo
from octavo.testing import ModelRequest, Say, ScriptedModel
from tests.support import mapped_books

HOSTILE = "Who is <script>alert(1)</script> & co?"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    added = run(folder, "add", str(mapped_books.write_story(folder / "story.md")))
    assert added.exit_code == 0, added.output
    return folder


def run(data: Path, *arguments: str, **variables: str) -> Result:
    quick = {"OCTAVO_LOCAL_MODELS": "false"}
    return CliRunner(env=quick | variables).invoke(octavo, ["--data", str(data / "library"), *arguments])


def test_a_book_is_tested_with_its_own_questions_and_nothing_stays(data: Path, tmp_path: Path) -> None:
    done = run(data, "eval", "the-tide-clock", "--top", "16", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    kinds = {row["source"] for row in found["results"]}
    assert {"map", "heading", "beyond"} <= kinds
    assert set(found["hits"]) == {"1", "3", "5"}
    assert found["hits"]["1"] <= found["hits"]["5"]
    assert found["refused"] == 1.0
    for row in found["results"]:
        assert row["answerable"] == (row["source"] != "beyond")
        assert row["right"] or not (row["answerable"] and row["answered"]) or row["cited"]
    with closing(sqlite3.connect(data / "library" / "records.sqlite")) as records:
        for table in ("questions", "answers", "gaps"):
            assert records.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)

    # The same questions again, with one that was judged otherwise before.
    found["results"][0]["right"] = not found["results"][0]["right"]
    before = tmp_path / "before.json"
    before.write_text(json.dumps(found))
    again = json.loads(run(data, "eval", "the-tide-clock", "--compare", str(before), "--json").stdout)
    assert again["comparison"]["shared"] == len(found["results"])
    changed = [*again["comparison"]["gained"], *again["comparison"]["lost"]]
    assert changed == [found["results"][0]["question"]]


def test_own_questions_are_judged_by_section_answer_or_refusal_and_shown_as_text(
    data: Path, tmp_path: Path
) -> None:
    mine, page = tmp_path / "mine.jsonl", tmp_path / "eval.html"
    rows: list[dict[str, object]] = [
        {"question": "Who is Finn?", "answers": ["his name was finn"]},
        {"question": "Who is Finn's?", "answers": ["an admiral of Spain"]},
        {"question": "Who is Ysolde?", "section": "the tooth"},
        {"question": HOSTILE, "answerable": False},
    ]
    mine.write_text("\n".join(map(json.dumps, rows)) + "\nWhat is Eight?\n")
    done = run(data, "eval", "the-tide-clock", "--questions", str(mine), "--report", str(page), "--json")
    results = {row["question"]: row for row in json.loads(done.stdout)["results"]}
    assert len(results) == 5
    assert results["Who is Finn?"]["right"] == results["Who is Finn?"]["answered"]
    assert not results["Who is Finn's?"]["right"]
    assert results["Who is Ysolde?"]["sections"]
    assert results[HOSTILE]["right"] == (not results[HOSTILE]["answered"])
    shown = page.read_text()
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "default-src 'none'" in shown
    wrong = run(data, "eval", "the-tide-clock", "--questions", str(page.with_name("bad.jsonl")))
    assert wrong.exit_code == 2
    mine.write_text('{"question": "Who?", "section": "No such section"}')
    refused = run(data, "eval", "the-tide-clock", "--questions", str(mine))
    assert "octavo contents BOOK" in str(refused.exception)


def test_a_language_model_writes_some_of_the_questions(data: Path, tmp_path: Path) -> None:
    written = iter(("Who keeps the clock?", "Here are two questions.", "What does the passage say?"))

    def script(request: ModelRequest) -> Say:
        asked = "one question that a reader" in request.messages[0].text
        return Say(next(written) if asked else "nothing that can be read")

    with ScriptedModel(script) as model:
        variables = {"OCTAVO_MODEL": "scripted-1", "OCTAVO_MODEL_URL": model.url, "OCTAVO_MODEL_KEY": "k"}
        done = run(data, "eval", "the-tide-clock", "--top", "12", "--json", **variables)
        texts = [request.messages[1].text for request in model.requests[:3]]
    assert done.exit_code == 0, done.output
    results = json.loads(done.stdout)["results"]
    (row,) = [row for row in results if row["source"] == "model"]
    # What is no question, or cannot be asked without the text, is left out.
    assert row["question"] == "Who keeps the clock?"
    assert len(row["sections"]) == 1
    assert len(results) > 3
    assert all("<<<text" in text for text in texts)

    before = tmp_path / "before.json"
    before.write_text(done.stdout)
    again = json.loads(run(data, "eval", "the-tide-clock", "--compare", str(before), "--json").stdout)
    assert "model" in {row["source"] for row in again["results"]}
