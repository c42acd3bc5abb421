from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import BadBook
from octavo.text.clean import clean, collapse, decode, make_slug

WRITTEN = {
    "cp1252": (
        "Das Mädchen lief über die Straße und küßte den Frosch — “schön”, sagte es.",
        "Il était une fois un garçon très âgé à l’école; où êtes-vous?",
        "På øen spiste de større æbler, og så gik de hjem.",
        "Temperature 20 °C",
    ),
    "shift_jis": ("吾輩は猫である。名前はまだ無い。", "メロスは激怒した。必ず、かの王を除かなければならぬ。"),
    "euc_jp": ("吾輩は猫である。名前はまだ無い。", "メロスは激怒した。必ず、かの王を除かなければならぬ。"),
    "euc_kr": (
        "옛날 옛적에 호랑이가 담배 피우던 시절에 한 나무꾼이 살았습니다.",
        "모든 국민은 법 앞에 평등하다.",
    ),
    "gb18030": (
        "从前有一个人，他住在山里。他的房子很大。",
        "满纸荒唐言，一把辛酸泪。都云作者痴，谁解其中味？",
    ),
    "big5": ("從前有一個人，他住在山裡。他的房子很大。", "滿紙荒唐言，一把辛酸淚。都云作者癡，誰解其中味？"),
    "cp1251": ("Все счастливые семьи похожи друг на друга.",),
    "koi8_r": ("Все счастливые семьи похожи друг на друга.",),
}
MARKED = st.text(
    st.sampled_from("aا\u0301\u0316\u0344\u0653\u0f73\u05b0\u3099\u200d\u200c\u200b\rﬁ\ud800"), max_size=40
)


@pytest.mark.parametrize(("encoding", "text"), [(e, t) for e, ts in WRITTEN.items() for t in ts])
def test_legacy_encodings_are_told_apart(encoding: str, text: str) -> None:
    for written in (text, "An English title page\n" * 9000 + text):
        found = decode(written.encode(encoding))
        assert (found.encoding, found.text, found.replaced) == (encoding, written, 0)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8"])
def test_unicode_is_read_with_a_mark_and_without(encoding: str) -> None:
    text = "Call me Ishmael. “Naïve”, he said."
    assert decode(text.encode(encoding)).text == text


def test_wide_text_that_was_cut_off_is_still_read_as_wide() -> None:
    assert decode("Call me Ishmael.".encode("utf-16-le")[:-1]).text == "Call me Ishmael\ufffd"


@pytest.mark.parametrize(
    ("written", "declared"),
    [
        ("utf-8", "shift_jis"),
        ("cp1252", "utf-8"),
        ("cp1252", "iso-8859-1"),
        ("cp1252", "no-such\0charset"),
        ("cp1252", "punycode"),
        ("cp1252", "base64"),
    ],
)
def test_a_wrong_declaration_does_no_harm(written: str, declared: str) -> None:
    assert decode("un café “noir” très âgé".encode(written), declared).text == "un café “noir” très âgé"


def test_a_declaration_settles_what_cannot_be_guessed() -> None:
    assert decode("zażółć gęślą jaźń".encode("cp1250"), "windows-1250").text == "zażółć gęślą jaźń"


@pytest.mark.parametrize(("per_thousand", "warned"), [(5, False), (30, True), (150, True)])
def test_damage_is_counted_and_told_above_one_in_a_hundred(per_thousand: int, warned: bool) -> None:
    data = "é".encode() * (1000 - per_thousand) + b"\xff" * per_thousand
    found = decode(data)
    assert (found.encoding, found.replaced, bool(found.warnings)) == ("utf-8", per_thousand, warned)


@pytest.mark.parametrize("data", ["é".encode() * 700 + b"\xff" * 300, random.Random(7).randbytes(5000)])
def test_damage_above_one_in_five_is_refused(data: bytes) -> None:
    with pytest.raises(BadBook) as refused:
        decode(data)
    assert refused.value.code == "encoding"


def test_a_replacement_character_that_was_written_is_no_damage() -> None:
    assert decode(("\ufffd" * 10).encode("utf-8-sig")).replaced == 0


@given(st.one_of(st.text(), MARKED))
def test_clean_text_is_canonical_and_stays_as_it_is(text: str) -> None:
    once = clean(text)
    assert clean(once) == once == unicodedata.normalize("NFC", once)
    assert not set(once) & set("\r\0\u200b\u202e\u00ad\ufeff\x85\u2028")
    once.encode("utf-8")


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("a\r\nb\rc\x85d\u2028e\x0cf", "a\nb\nc\nd\ne\nf"),
        ("e\u0301", "é"),
        ("ﬁne ﬄuent ﬅ", "fine ffluent st"),
        ("co\u00adoperate\x00\x07", "cooperate"),
        ("safe\u202egnp.exe\u202c", "safegnp.exe"),
        ("hi\U000e0041\U000e0042", "hi"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🚀", "👩\u200d🚀"),
        ("a\u200d\u200d\u200cb", "a\u200db"),
        ("\ud83d", "\ufffd"),
    ],
)
def test_clean_keeps_what_is_seen_and_drops_what_is_not(raw: str, seen: str) -> None:
    assert clean(raw) == seen


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u05b0\u0591", "\u0f73", "\u200d"])
def test_a_letter_keeps_few_marks_and_200_000_of_them_take_no_time(marks: str) -> None:
    assert len(clean("x" + marks * (200_000 // len(marks)))) <= 10


def test_collapse_makes_one_line() -> None:
    assert collapse(" a \n\tb\u00a0c ") == "a b c"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Moby-Dick; or, The Whale", "moby-dick-or-the-whale"),
        ("Les Misérables™", "les-miserablestm"),
        ("Straße", "strasse"),
        ("Достоевский: Идиот", "достоевский-идиот"),
        ("हिन्दी कहानी", "हिन्दी-कहानी"),
        ("がく", "がく"),
        ("", "untitled"),
        ("🐋 \u0301", "untitled"),
        ("x" * 300, "x" * 60),
    ],
)
def test_a_slug_can_be_read(title: str, expected: str) -> None:
    assert make_slug(title) == expected


@given(st.text())
def test_a_slug_is_never_empty_and_stays_as_it_is(title: str) -> None:
    made = make_slug(title)
    assert made == make_slug(made)
    assert made == made.strip("-")
    assert 0 < len(made) <= 60
    assert not set(made) & set("/\\. \t\n:?#%")
