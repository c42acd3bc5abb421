"""XML from inside a book: deep, long and damaged documents."""

from __future__ import annotations

import pytest

from octavo.errors import BadBook
from octavo.readers.xml import DEEPEST, get_local_name, parse_xml, read_words


def nest(levels: int) -> bytes:
    return b"<a>" * levels + b"words" + b"</a>" * levels


def test_a_document_is_read_as_deep_as_is_said_and_refused_if_it_is_deeper() -> None:
    assert read_words(parse_xml(nest(DEEPEST), name="deep.xml")) == "words"
    for levels in (DEEPEST + 1, 100_000):
        with pytest.raises(BadBook, match="nested deeper than 256 levels") as refused:
            parse_xml(nest(levels), name="deep.xml", code="bad_document")
        assert refused.value.code == "bad_document"


def test_a_text_that_would_be_cut_off_is_refused() -> None:
    with pytest.raises(BadBook, match="more than 10 MB"):
        parse_xml(b"<a>" + b"x" * 10_500_000 + b"</a>", name="long.xml")


def test_untidy_xml_is_repaired_and_other_files_are_refused() -> None:
    assert get_local_name(parse_xml(b"<a>&foo; <b></a>", name="untidy.xml")) == "a"
    with pytest.raises(BadBook, match="is not XML"):
        parse_xml(b"not XML", name="not.xml")
