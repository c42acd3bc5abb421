"""The questions that languages are measured with: whole in every language, and parted by section."""

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.languages import BOOKS, Book, Item, contains, is_correct, read_books, read_items, read_rows

LEAST_ANSWERED = {"handbook": 105, "gnucash": 120}
LEAST_SECTIONS = {"handbook": 50, "gnucash": 90}
PAGE = """<html><body><div xmlns="x" class="navheader">{chapter}</div>
<h2 class="title" style="clear: both"><a name="{anchor}"></a>{label}&nbsp;{heading}</h2>
<div class="toc"><dl><dt>{heading}</dt></dl></div><p>{text}</p><pre>{number}

this half of the listing was left in English</pre>
<h3 class="title"><a name="id{number}"></a>{label}1.&nbsp;{heading}</h3><p>{text}</p>
<div xmlns="x" class="navfooter">{chapter}</div></body></html>"""
TEXTS = {
    "en": "The bank has sent a statement, and this is how you can compare it with the account that you keep.",
    "de": "Die Bank hat einen Auszug geschickt, und so können Sie ihn mit dem Konto vergleichen.",
    "it": "La banca ha mandato un estratto, e questo è il modo in cui si può confrontare con il conto.",
    "ja": "銀行から計算書が届いたら、それを自分で付けている勘定科目とこのように比べることができます。",
    "pt": "O banco enviou um extracto, e esta é a forma como o pode comparar com a conta que você mantém.",
}


@pytest.fixture(scope="module", params=tuple(BOOKS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def book(name: str) -> Book:
    return BOOKS[name]


@pytest.fixture(scope="module")
def items(name: str) -> list[Item]:
    return read_items(name)


def test_every_question_is_asked_once_in_every_language(items: list[Item], book: Book) -> None:
    assert [item.id for item in items] == list(range(1, len(items) + 1))
    for language in book.editions:
        asked = [item.questions[language] for item in items]
        assert all(text.rstrip().endswith(("?", "؟")) for text in asked)
        assert len(set(asked)) == len(asked)
    assert all(set(item.questions) == set(book.editions) for item in items)


def test_a_hundred_questions_of_each_language_have_an_answer_and_thirty_have_none(
    items: list[Item], book: Book, name: str
) -> None:
    for language in book.others:
        answered = [item for item in items if item.place and (item.answers.keys() & {"any", language})]
        assert len(answered) >= LEAST_ANSWERED[name]
    assert len({item.place for item in items if item.place}) >= LEAST_SECTIONS[name]
    assert sum(not item.place and not item.answers for item in items) >= 30
    assert all(bool(item.place) == bool(item.answers) for item in items)
    assert all(set(item.answers) <= {"any", *book.editions} for item in items)


def test_answers_are_short(items: list[Item]) -> None:
    texts = [text for item in items for several in item.answers.values() for text in several]
    assert all(0 < len(text.split()) <= 5 and text == text.strip() for text in texts)


def test_a_section_is_either_tuned_on_or_tested(items: list[Item]) -> None:
    parts = {item.place: item.part for item in items if item.place}
    assert all(item.part == parts[item.place] for item in items if item.place)
    counted = Counter(item.part for item in items)
    assert min(counted.values()) > len(items) / 3


def test_the_guide_is_read_by_anchors_and_has_what_every_language_translated(tmp_path: Path) -> None:
    for number, (code, text) in enumerate(TEXTS.items(), start=1):
        folder = tmp_path / "usr/share/doc/gnucash-docs" / f"gnucash-guide-{code}"
        folder.mkdir(parents=True)
        for anchor, written in (("bank1", text), ("left1", text if code != "pt" else TEXTS["en"])):
            page = PAGE.format(
                anchor=anchor,
                chapter="CHAPTER",
                heading="TITLE",
                label=f"{number}.2.",
                number=f"m{number}",
                text=f"{written} {written} {written}",
            )
            (folder / f"{anchor}.html").write_text(page, encoding="utf-8")
    books = read_books(tmp_path, book="gnucash")
    assert list(books) == list(TEXTS)
    for code, entries in books.items():
        assert [(entry.place, entry.question) for entry in entries.values()] == [("bank1", "TITLE")]
        assert entries["bank1"].text.startswith(" ".join([TEXTS[code]] * 3) + "\n\n```\n")
        assert entries["bank1"].text.endswith("left in English\n```")


def test_rows_that_name_no_book_are_of_the_handbook(tmp_path: Path) -> None:
    row = {"language": "de", "way": "same", "id": 1, "part": "test", "answerable": True, "place": 1}
    row |= {"correct": True, "cited": True, "said": "", "reader": "multilingual", "features": {}}
    kept = tmp_path / "rows.jsonl"
    lines = [row, row | {"id": 2, "book": "gnucash"}]
    kept.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [(r.id, r.book) for r in read_rows(kept, "handbook")] == [(1, "handbook")]
    assert [(r.id, r.book) for r in read_rows(kept, "gnucash")] == [(2, "gnucash")]


@pytest.mark.parametrize(
    ("text", "answer", "there"),
    [
        ("Es läuft täglich durch cron.", "täglich", True),
        ("dpkg -Lx paket", "dpkg -L", False),
        ("5 台以上なら", "5台", True),
        ("حجم منطقيّ", "منطقي", True),
        ("amd64 und i386", "md64", False),
    ],
)
def test_an_answer_is_found_whole_whatever_marks_and_spaces_are_written(
    text: str, answer: str, there: bool
) -> None:
    assert contains(text, answer) is there


def test_a_pasted_passage_is_no_correct_answer() -> None:
    long = "Wort " * 100
    assert is_correct("Es läuft täglich.", ["täglich"], "de")
    assert not is_correct(f"{long} täglich", ["täglich"], "de")
    assert not is_correct("字" * 200 + "每天", ["每天"], "zh")
