from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import InvalidValue
from octavo.types import BookFormat, PageMark, Scope, ScopeType, Span
from octavo.validation import EvidenceState
from tests.support.builders import WHALE, make_book, make_chunk, make_evidence, make_section


def test_values_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_book().title = "Other"  # type: ignore[misc]


def test_words_become_members_of_their_enumeration() -> None:
    assert dataclasses.replace(make_book(), format="epub").format is BookFormat.EPUB  # type: ignore[arg-type]
    assert Scope(type="page-specific", identifier="12").type is ScopeType.PAGE  # type: ignore[arg-type]


def test_a_scope_describes_itself() -> None:
    assert Scope().description == "the whole book"
    assert Scope(type=ScopeType.PAGE, identifier="12").description == "page-specific: 12"
    assert Scope(description="everything").description == "everything"


def test_pages_and_blocks_lie_in_the_text_and_in_its_order() -> None:
    marks = (PageMark(0, 7), PageMark(20, 8, "viii"))
    section = make_section(pages=marks)
    assert (section.page_start, section.page_end) == (7, 8)
    assert make_section().page_start is make_section().page_end is None
    for wrong in (marks[::-1], (PageMark(len(WHALE) + 1, 9),)):
        with pytest.raises(InvalidValue, match=r"Section\.pages"):
            make_section(pages=wrong)
    assert dataclasses.replace(section, blocks=(Span(0, 5), Span(5, 9))).blocks
    for bad in ((Span(0, 5), Span(4, 9)), (Span(0, len(WHALE) + 1),)):
        with pytest.raises(InvalidValue, match=r"Section\.blocks"):
            dataclasses.replace(section, blocks=bad)


@given(st.lists(st.integers(0, len(WHALE)), unique=True), st.integers(0, len(WHALE)))
def test_a_character_stands_on_the_last_page_that_began_before_it(starts: list[int], offset: int) -> None:
    marks = tuple(PageMark(start, number) for number, start in enumerate(sorted(starts), 1))
    expected = [mark for mark in marks if mark.offset <= offset]
    assert make_section(pages=marks).page_at(offset) == (expected[-1] if expected else None)


def test_a_chunk_names_its_page_as_it_is_printed() -> None:
    assert make_chunk().page is None
    numbered = make_chunk(page_number=12)
    assert numbered.page == "12"
    assert dataclasses.replace(numbered, page_label="xii").page == "xii"
    with pytest.raises(InvalidValue, match=r"Chunk\.page_end"):
        dataclasses.replace(numbered, page_end=11)


def test_evidence_is_named_after_its_chunk_unless_told_otherwise_and_can_be_validated() -> None:
    found = make_evidence()
    assert found.id == found.chunk.id
    assert dataclasses.replace(found, id="q1:1").id == "q1:1"
    assert found.to(EvidenceState.VALIDATED).state is EvidenceState.VALIDATED
