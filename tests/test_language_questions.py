"""The questions that languages are measured with: whole in every language, and parted by section."""

from collections import Counter

import pytest

from benchmarks.languages import EDITIONS, OTHERS, Item, contains, is_correct, read_items


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return read_items()


def test_every_question_is_asked_once_in_every_language(items: list[Item]) -> None:
    assert [item.id for item in items] == list(range(1, len(items) + 1))
    for language in EDITIONS:
        asked = [item.questions[language] for item in items]
        assert all(text.rstrip().endswith(("?", "؟")) for text in asked)
        assert len(set(asked)) == len(asked)
    assert all(set(item.questions) == set(EDITIONS) for item in items)


def test_a_hundred_questions_of_each_language_have_an_answer_and_thirty_have_none(items: list[Item]) -> None:
    for language in OTHERS:
        answered = [item for item in items if item.place and (item.answers.keys() & {"any", language})]
        assert len(answered) >= 105
    assert sum(not item.place and not item.answers for item in items) >= 30
    assert all(bool(item.place) == bool(item.answers) for item in items)


def test_answers_are_short(items: list[Item]) -> None:
    texts = [text for item in items for several in item.answers.values() for text in several]
    assert all(0 < len(text.split()) <= 5 and text == text.strip() for text in texts)


def test_a_section_is_either_tuned_on_or_tested(items: list[Item]) -> None:
    parts = {item.place: item.part for item in items if item.place}
    assert all(item.part == parts[item.place] for item in items if item.place)
    counted = Counter(item.part for item in items)
    assert min(counted.values()) > len(items) / 3


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
