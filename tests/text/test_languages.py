"""A book's language is named by its letters and commonest words, and its words are found in every script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.text.languages import (
    collect_words,
    count_words,
    find_numbers,
    find_numerals,
    get_direction,
    identify_language,
    identify_languages,
    identify_sections,
    is_unspaced,
    prepare_words,
    weigh_words,
    write_digits,
)

MOON = {
    "": "The moon is the only natural satellite of the earth, and it is a quarter as wide as the planet that "
    "it goes round. The light that we see on it is that of the sun.",
    "de": "Der Mond ist der einzige natürliche Begleiter der Erde, und er ist ein Viertel so breit wie der "
    "Planet, um den er sich dreht. Das Licht, das wir auf ihm sehen, ist das der Sonne.",
    "fr": "La lune est le seul satellite naturel de la terre, et elle est quatre fois moins large que la "
    "planète autour de laquelle elle tourne. La lumière que nous y voyons est celle du soleil.",
    "es": "La luna es el único satélite natural de la tierra, y es cuatro veces más pequeña que el planeta "
    "en torno al que gira. La luz que vemos en ella es la del sol.",
    "ru": "Луна является единственным естественным спутником Земли, и она в четыре раза меньше планеты.",
    "uk": "Місяць є єдиним природним супутником Землі, і він менший за планету, її діаметр більший.",
    "el": "Η σελήνη είναι ο μόνος φυσικός δορυφόρος της γης και έχει το ένα τέταρτο του πλάτους της.",
    "ja": "月は地球の唯一の天然の衛星であり、その直径は地球の約四分の一である。",
    "zh": "月球是地球唯一的天然卫星，直径约为地球的四分之一。",
    "ko": "달은 지구의 유일한 자연 위성이며 지름은 지구의 약 4분의 1이다.",
    "ar": "القمر هو القمر الطبيعي الوحيد للأرض، وعرضه ربع عرض الكوكب الذي يدور حوله.",
    "ur": "چاند زمین کا واحد قدرتی سیارچہ ہے، اور اس کی چوڑائی زمین کی ایک چوتھائی ہے۔ "
    "ہم اس پر سورج کی روشنی دیکھتے ہیں۔",
    "he": "הירח הוא הלוויין הטבעי היחיד של כדור הארץ, ורוחבו רבע מרוחב הכוכב.",
    "th": "ดวงจันทร์เป็นดาวบริวารตามธรรมชาติเพียงดวงเดียวของโลก",
    "hi": "चंद्रमा पृथ्वी का एकमात्र प्राकृतिक उपग्रह है और उसकी चौड़ाई एक चौथाई है।",
}


@pytest.mark.parametrize("code", MOON)
def test_a_language_is_named_by_its_letters_and_commonest_words(code: str) -> None:
    assert identify_language([MOON[code] * 3]) == code


def test_an_english_book_with_foreign_pages_and_code_is_english() -> None:
    pages = [MOON[""] * 5] * 8 + [MOON["de"] * 5, MOON["zh"] * 5, "fn main() { let x = 5; }\n" * 30]
    assert identify_language(pages) == ""


def test_sections_in_other_languages_are_told_from_those_of_the_book() -> None:
    french, chinese, code = MOON["fr"] * 4, MOON["zh"] * 8, "fn main() { let x = 5; }\n" * 30
    names = "Der Freischütz, Die Zauberflöte and Così fan tutte are operas that were played here. " * 8
    pages = [MOON[""] * 5, french, names, chinese, code, MOON["de"]]
    languages = identify_languages(pages * 3 + [MOON[""] * 5] * 12)
    assert languages == ("", "fr", "zh")
    # A section that is too short to tell has the language of its book.
    assert identify_sections(pages, languages=languages) == ["", "fr", "", "zh", "", ""]
    assert identify_sections(pages, languages=("",)) == [""] * 6


def test_letters_in_a_listing_are_no_language() -> None:
    code = "k(0, a); k(1, k); z = k(a);\n" * 30
    assert identify_languages([MOON[""] * 5] * 5 + [code]) == ("",)


def test_an_english_section_of_a_japanese_book_is_english() -> None:
    pages = [MOON["ja"] * 9] * 8 + [MOON[""] * 4, "octavo add book.epub\n" * 40]
    assert identify_languages(pages) == ("ja", "")
    assert identify_sections(pages, languages=("ja", "")) == ["ja"] * 8 + ["", "ja"]


def test_commands_and_names_do_not_make_a_chinese_manual_english() -> None:
    pages = ["使用 apt-get install debian-faq 命令来安装软件包，然后运行 dpkg --configure 命令。" * 6] * 4
    assert identify_language(pages) == "zh"


@pytest.mark.parametrize("text", ["", "1234 5678", "fn main() { let x = 5; }", "x"])
def test_what_has_no_language_follows_the_english_rules(text: str) -> None:
    assert identify_language([text]) == ""


def test_what_the_file_declares_decides_between_languages_of_one_script() -> None:
    assert identify_language([MOON["ru"] * 3], declared="bg-BG") == "bg"
    assert identify_language([MOON[""] * 3], declared="de") == ""


def test_scripts_without_spaces_are_read_in_pairs_of_characters() -> None:
    assert prepare_words("安装手册 Debian", "zh").split() == ["安装", "装手", "手册", "Debian"]
    assert "ดว" in prepare_words("ดวงจันทร์", "th").split()


def test_digits_and_marks_are_written_as_readers_type_them() -> None:
    assert prepare_words("۱۲۳۴ کِتاب", "ur") == "1234 کتاب"
    assert prepare_words("Ёлка", "ru") == "Елка"
    assert prepare_words("Crème brûlée 42", "fr") == "Crème brûlée 42"


def test_a_question_shares_its_words_with_what_answers_it() -> None:
    for code, text in MOON.items():
        if code:
            asked = weigh_words(text[: len(text) // 2], code)
            assert asked.keys() <= collect_words(text, code) | asked.keys()
            assert len(asked.keys() & collect_words(text, code)) >= len(asked) - 2
    assert weigh_words("téléphones", "fr").keys() == weigh_words("telephone", "fr").keys()


def test_arabic_hebrew_and_urdu_run_from_right_to_left() -> None:
    assert [get_direction(code) for code in ("ar", "he-IL", "ur", "fa", "de", "zh", "")] == ["rtl"] * 4 + [
        "ltr"
    ] * 3


@given(st.text(max_size=80), st.sampled_from(["de", "zh", "ur", "hi", "th", "xx"]))
def test_any_text_has_words_and_preparing_it_again_changes_no_more(text: str, language: str) -> None:
    prepared = prepare_words(text, language)
    assert isinstance(identify_language([text]), str)
    assert collect_words(text, language) is not None
    assert not any("\u0600" < c < "\u06ff" and c.isdigit() for c in prepared)


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("一五四七", "1547"),
        ("三百二十", "320"),
        ("十二", "12"),
        ("两万五千", "25000"),
        ("一亿零三", "100000003"),
    ],
)
def test_chinese_characters_are_read_as_numbers(written: str, number: str) -> None:
    assert find_numerals(f"约{written}人") == {number}
    assert find_numerals("一" * 5_000) == {"1" * 5_000}
    assert find_numbers(f"约{number}人، ۱۲") == {number, "12"}


@pytest.mark.parametrize(
    ("text", "language", "count"),
    [
        ("The moon is round.", "", 4),
        ("Die Sonne „scheint“ — auch heute.", "de", 6),
        ("月は地球の唯一の衛星です。", "ja", 6),
        ("使用 aptitude 安装软件包。", "zh", 4),
        ("달은 둥글다.", "ko", 2),
    ],
)
def test_words_are_counted_where_nothing_stands_between_them(text: str, language: str, count: int) -> None:
    assert count_words(text, language) == count


@given(st.text(st.characters(max_codepoint=0x24F)))
def test_nothing_of_this_changes_how_english_is_read(text: str) -> None:
    assert not is_unspaced(text)
    assert write_digits(text) == text
    assert count_words(text, "") == len(text.split())
