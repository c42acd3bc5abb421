"""What leaves Octavo is plain JSON with the names that other programs rely on."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

from octavo.errors import NotFound
from octavo.events import Compared
from octavo.schemas import BookJson, ChangeJson, ErrorJson, EvidenceJson, SectionJson
from octavo.types import PageMark
from tests.support.builders import make_book, make_chunk, make_evidence, make_section


def test_a_book_has_every_field_of_its_catalogue_entry() -> None:
    made = json.loads(json.dumps(BookJson.from_value(make_book()).to_json()))
    assert set(made) == set(make_book().__dataclass_fields__)
    assert made["authors"] == ["Herman Melville"]
    assert datetime.fromisoformat(made["added_at"]) == make_book().added_at


def test_a_section_says_its_pages_and_size_and_keeps_its_text_back() -> None:
    made = SectionJson.from_section(make_section(pages=(PageMark(0, 3, "iii"), PageMark(9, 4)))).to_json()
    assert (made["page_start"], made["page_end"], made["characters"]) == (3, 4, 68)
    assert made["page_label"] == "iii"
    assert made["heading_path"] == ["Chapter 42", "The Whiteness"]
    assert "text" not in made
    json.dumps(made)


def test_a_result_has_the_names_of_the_search_contract() -> None:
    chunk = replace(make_chunk(page_number=12), page_label="xii")
    made = EvidenceJson.from_evidence(make_evidence(chunk, score=0.123456)).to_json()
    contract = {"id", "chunk_id", "book_id", "content", "relevance_score", "source_file", "source_location"}
    contract |= {"chapter", "section", "page_number", "page_label", "url", "start", "end"}
    assert contract <= set(made)
    assert (made["relevance_score"], made["page_label"], made["end"]) == (0.1235, "xii", 68)
    json.dumps(made)


def test_a_change_counts_sections_and_passages() -> None:
    change = Compared("b", "B", 1, 2, 3, 4, 5, 6, replaces="pdf")
    assert list(ChangeJson.from_value(change).to_json().values()) == [1, 2, 3, 4, 5, 6, "pdf"]


def test_an_error_has_a_code_a_sentence_and_advice() -> None:
    error = NotFound("book", "mobi", nearest=("moby-dick",), hint="Look at the list.")
    made = ErrorJson.from_error(error).to_json()["error"]
    assert made["code"] == "not_found"
    assert "moby-dick" in made["message"]
    assert made["hint"] == "Look at the list."
