"""Definitions, glossaries, abbreviations, other names and code, found where they stand."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from octavo.text.bookmap.marks import How
from octavo.text.bookmap.scan import mark_section
from tests.support.mapped_books import make_map, make_section, parse_sections


def find_definitions(text: str) -> list[tuple[str, int]]:
    return [(text[d.start : d.end], d.how) for d in mark_section(text).definitions]


@pytest.mark.parametrize(
    ("text", "term", "how"),
    [
        ("A tide clock is a clock that shows the height of the water.", "tide clock", How.IS),
        ("Ownership is a set of rules for memory.", "Ownership", How.IS),
        ("The control file means the file of that name.", "control file", How.IS),
        ("Virtual packages are those without files.", "Virtual packages", How.IS),
        ("GAM. Noun—A social meeting of two whaleships, generally at sea.", "GAM", How.GLOSSARY),
        ("Offing, n. The part of the deep sea that is seen from the shore.", "Offing", How.GLOSSARY),
        ("The slow part of a firing is called candling.", "candling", How.CALLED),
        ("The files are known as conffiles, and dpkg handles them.", "conffiles", How.CALLED),
    ],
)
def test_a_sentence_that_defines_a_term_is_found(text: str, term: str, how: How) -> None:
    assert (term, how) in find_definitions(text)


@pytest.mark.parametrize(
    "text",
    [
        "It is a long way home.",
        "There is a house by the sea.",
        "What is the matter?",
        "Few are the men who came back.",
        "He called out to the men.",
        "This is the one.",
        "Smith, V. Adam wrote to the harbour master of the town again.",
    ],
)
def test_a_sentence_that_only_looks_like_it_defines_nothing(text: str) -> None:
    assert find_definitions(text) == []


def test_a_list_of_terms_is_a_glossary_and_a_single_line_is_not() -> None:
    entries = [
        "bisque: Ware that has been fired once.",
        "cone: A pyramid that bends in heat.",
        "grog: Fired clay, ground small.",
    ]
    assert find_definitions("\n".join(f"- {line}" for line in entries)) == [
        ("bisque", How.GLOSSARY),
        ("cone", How.GLOSSARY),
        ("grog", How.GLOSSARY),
    ]
    assert find_definitions(f"- {entries[0]}") == []


def test_a_definition_list_of_a_page_is_a_glossary(tmp_path: Path) -> None:
    rows = {
        "bisque": "Ware that has been fired once.",
        "cone": "A pyramid that bends.",
        "grog": "Fired clay, ground.",
    }
    body = "".join(
        f"<dt><dfn>{term}</dfn></dt><dd>{said} It has no glaze yet.</dd>" for term, said in rows.items()
    )
    page = tmp_path / "glossary.html"
    page.write_text(
        f"<title>Pots</title><h1>Pots</h1><p>Words of the workshop.</p><dl>{body}</dl>", encoding="utf-8"
    )
    opened = make_map(parse_sections(page))
    for term, said in rows.items():
        entity = opened.linked.find(term)
        assert entity is not None, term
        defined = opened.define(entity)
        assert defined is not None
        assert said in defined.text


def test_an_entry_of_a_reference_defines_even_a_common_word(tmp_path: Path) -> None:
    page = tmp_path / "guide.html"
    entries = "<dt>turn [n]</dt><dd>Move the wheel n times.</dd><dt>-v LEVEL</dt><dd>Say more about it.</dd>"
    row = "<table><tr><td>turn:</td><td></td><td>Commands of the wheel in this guide</td></tr></table>"
    page.write_text(f"<h1>Wheel</h1><p>They turn. It turned.</p><dl>{entries}</dl>{row}", encoding="utf-8")
    opened = make_map(parse_sections(page))
    assert [quote.text for quote in opened.find_entries("Turn")] == ["turn [n]\nMove the wheel n times."]
    assert [quote.text for quote in opened.find_entries("-v")] == ["-v LEVEL\nSay more about it."]
    assert opened.find_entries("v") == []
    entity = opened.find("turn")
    assert entity is not None
    defined = opened.define(entity)
    assert defined is not None
    assert defined.text.startswith("turn [n]")
    assert "turn" not in [entity.name for entity in opened.list_entities(20)]


def test_a_setting_in_the_first_column_of_a_table_is_an_entry() -> None:
    rows = ["batch_tokens | 4096 | word pieces sent at once", "--quiet | no | says nothing of its own at all"]
    text = "\n".join(["name | value | what it does there", *rows, "lamp.wick | 3 | how many wicks there are"])
    assert [term for term, _ in find_definitions(text)] == ["batch_tokens", "--quiet", "lamp.wick"]


def test_an_index_names_terms_and_defines_none() -> None:
    index = "bisque, 12\ncandling, 4, 17\ncone, 3–5\nglaze room 8\nslow firing, 4, 6, 9–11\n"
    assert {how for _, how in find_definitions(index)} == {How.LISTED}
    assert [term for term, _ in find_definitions(index)] == [
        *("bisque", "candling", "cone", "glaze room", "slow firing"),
    ]
    assert find_definitions("bisque, 12\ncone, 3–5\n") == []
    body = "The glaze room is open. Ask in the glaze room. A slow firing takes a day, the slow firing two."
    opened = make_map([make_section(body), make_section(index, title="Index", position=1)])
    entity = opened.linked.find("slow firing")
    assert entity is not None
    assert (opened.define(entity), len(entity.places)) == (None, 3)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        (
            "It follows the Filesystem Hierarchy Standard (FHS) closely.",
            ("Filesystem Hierarchy Standard", "FHS"),
        ),
        ("These are mail transport agents (MTAs) of all kinds.", ("mail transport agents", "MTAs")),
        ("It uses TCP (Transmission Control Protocol) for that.", ("Transmission Control Protocol", "TCP")),
        ("They prayed to Amaterasu, the Sun Goddess, at dawn.", ("Amaterasu", "Sun Goddess")),
    ],
)
def test_two_names_that_are_said_to_be_one_are_paired(text: str, pair: tuple[str, str]) -> None:
    found = mark_section(text).other_names
    assert pair in [(text[o.start : o.end], text[o.other_start : o.other_end]) for o in found]


@pytest.mark.parametrize(
    "text", ["He spoke to Ahab, the Parsee, and Stubb.", "In the end (IN) it was over.", "Go (USA)."]
)
def test_names_that_only_stand_side_by_side_are_not_paired(text: str) -> None:
    assert mark_section(text).other_names == ()


@pytest.mark.parametrize(
    "code", ["debian/rules", "check_kiln", "--up-to", "std::fs", "kiln.toml", "println!"]
)
def test_words_that_are_written_like_code_are_found(code: str) -> None:
    text = f"Then use {code}(x) or so" if code.endswith("!") else f"Then use {code} at once"
    assert code in [text[c.start : c.end] for c in mark_section(text).codes]


def test_addresses_are_not_code() -> None:
    text = "Look at https://example.org/some_page/now for more."
    assert mark_section(text).codes == ()


def test_a_long_run_of_underscores_takes_little_time() -> None:
    began = time.process_time()
    mark_section("The line is a" + "_" * 60_000 + "/ and ends.")
    assert time.process_time() - began < 5
