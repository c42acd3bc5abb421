"""`octavo eval`: questions made from the book or brought along, judged, compared and written as a page."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from octavo.cli import octavo
from tests.support import mapped_books

HOSTILE = "Who is <script>alert(1)</script> & co?"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    added = run(folder, "add", str(mapped_books.write_story(folder / "story.md")))
    assert added.exit_code == 0, added.output
    return folder


def run(data: Path, *arguments: str) -> Result:
    quick = {"OCTAVO_LOCAL_MODELS": "false"}
    return CliRunner(env=quick).invoke(octavo, ["--data", str(data / "library"), *arguments])


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
