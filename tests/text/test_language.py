"""Which language a text is in, and what may translate it."""

from __future__ import annotations

import pytest

from octavo.text.language import (
    detect_language,
    is_foreign,
    is_other_language,
    is_translation,
    list_common_words,
)

SEVEN = "Seven boats were lost."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How many boats were lost?", "en"),
        ("Wie viele Boote gingen verloren?", "de"),
        ("Combien de bateaux ont été perdus dans la tempête ?", "fr"),
        ("¿Cuántos barcos se perdieron en la tormenta?", "es"),
        ("Quante barche sono state perse nella tempesta, e perché?", "it"),
        ("Сколько лодок погибло?", "cyrillic"),
        ("船は何隻失われましたか。", "japanese"),
        ("多少船在风暴中沉没？", "cjk"),
        ("كم قاربا فقد؟", "arabic"),
        ("1851?", ""),
        ("Ahab!", ""),
    ],
)
def test_languages_are_told_by_script_and_small_words(text: str, expected: str) -> None:
    assert detect_language(text) == expected


def test_a_question_is_foreign_only_where_both_languages_are_sure() -> None:
    book = "A storm broke the northern pier in a single night, and the boats were lost."
    assert is_foreign("Wie viele Boote gingen verloren?", book)
    assert not is_foreign("How many boats were lost?", book)
    assert not is_foreign("Ahab?", book)
    assert not is_foreign("Wie viele Boote gingen verloren?", "1851")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Sieben Boote gingen verloren.", True),
        ("7 Boote gingen verloren.", False),
        ("Ja.", False),
        ("Sieben Boote gingen verloren. " * 5, False),
    ],
)
def test_a_translation_has_the_numbers_of_its_gloss_and_about_its_length(text: str, same: bool) -> None:
    assert is_translation(text, SEVEN, "Seven boats were lost with all their nets.") is same
    assert is_translation("七艘船失踪了。", SEVEN, "")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("بادشاہ کا انتقال ۱۵۴۷ میں ہوا۔", True),
        ("بادشاہ کا انتقال ۱۵۴۸ میں ہوا۔", False),
        ("国王于一五四七年去世了，很久以前。", True),
        ("国王于一五四八年去世了，很久以前。", False),
        ("国王于 1547 年去世了，很久以前。", True),
        ("国王于一五四七年去世，享年九十九岁。", False),
    ],
)
def test_a_translation_may_write_a_number_in_the_digits_of_its_own_script(text: str, same: bool) -> None:
    gloss = "The king died in 1547."
    assert is_translation(text, gloss, gloss) is same


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Le capitaine Harrow a vu le phare en 1871.", True),
        ("Le capitaine Marlow a vu le phare en 1871.", False),
        ("Le capitaine Harrow et Bergström ont vu le phare en 1871.", False),
        ("Le capitaine Harrow a vu le phare en 1872.", False),
        ("Le capitaine Harrow a vu le phare.", False),
        ("Kapitän Harrow sah den Leuchtturm im Jahr 1871.", True),
        ("Der Leuchtturm war im Jahr 1871 mit dem Boot zu sehen.", False),
    ],
)
def test_a_translation_has_the_names_of_its_gloss(text: str, same: bool) -> None:
    gloss = "In 1871 Captain Harrow saw the lighthouse."
    assert is_translation(text, gloss, gloss) is same


@pytest.mark.parametrize(("text", "same"), [("二十一艘船失踪了。", True), ("九百九十九艘船失踪了。", False)])
def test_a_numeral_of_several_characters_is_compared_with_number_words(text: str, same: bool) -> None:
    gloss = "Twenty-one boats were lost."
    assert is_translation(text, gloss, gloss) is same


def test_the_commonest_words_of_english_are_not_given() -> None:
    assert "nicht" in list_common_words("de")
    assert list_common_words("en") == list_common_words("") == frozenset()


@pytest.mark.parametrize(
    ("question", "written", "other"),
    [
        ("Who built the bridge?", "", False),
        ("After this story ends, Tinka i back to being?", "", False),
        ("What remained as long as John had lived?", "", False),
        ("Who built the bridge?", "de", True),
        ("Wer hat die Brücke gebaut?", "", True),
        ("谁建造了这座桥？", "", True),
        ("من بنى الجسر؟", "", True),
    ],
)
def test_an_english_question_to_an_english_text_is_never_taken_for_another(
    question: str, written: str, other: bool
) -> None:
    assert is_other_language(question, written) is other
