"""Tell which language a text is written in, by its script and its commonest words (languages.json)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

from octavo.text.english import are_alike, find_number_words, measure_rarity, stem
from octavo.text.languages import find_numbers, find_numerals


@cache
def _load_common_words() -> Mapping[str, frozenset[str]]:
    stored = files("octavo.text").joinpath("languages.json").read_text(encoding="utf-8")
    return {code: frozenset(words.split()) for code, words in json.loads(stored).items()}


def detect_language(text: str) -> str:
    """Return the language of a text as far as its script and its small words tell; "" where they do not."""
    return _detect(text[:2_000])


@lru_cache(maxsize=256)
def _detect(text: str) -> str:
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return ""
    scripts = Counter(_name_script(c) for c in letters)
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > len(letters) // 10:
        return "japanese"
    script = scripts.most_common(1)[0][0]
    if script != "LATIN":
        return script.lower()
    words = re.findall(r"\w+", text.casefold())
    found = Counter(
        {code: sum(word in listed for word in words) for code, listed in _load_common_words().items()}
    )
    (best, most), (_, second) = found.most_common(2)
    return best if most > second else ""


@lru_cache(maxsize=4_096)
def _name_script(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0].split("-")[0]


def is_other_language(question: str, written: str) -> bool:
    """Say whether a question or the text it is asked of, in the language `written`, is not English.

    `written` is "" for English. A question in Latin letters counts only if two different common words of
    another language stand in it that are not English: an English question must never be taken for another.
    """
    asked = detect_language(question) if not written else ""
    if asked in ("", "en"):
        return bool(written)
    common = _load_common_words()
    if asked not in common:
        return True
    own = common[asked] - common["en"]
    return len(own & set(re.findall(r"\w+", question.casefold()))) > 1


def list_common_words(of: str) -> frozenset[str]:
    """Return the commonest words of a language other than English; none where they are not known."""
    return _load_common_words().get(of, frozenset()) if of != "en" else frozenset()


def is_foreign(question: str, book: str) -> bool:
    """Say whether a question is surely in another language than the book."""
    asked, written = detect_language(question), detect_language(book)
    return bool(asked and written and asked != written)


def is_translation(text: str, gloss: str, cited: str) -> bool:
    """Say whether a claim may translate its gloss: numbers and names are the same, the lengths agree.

    What the other words say cannot be told without knowing the language.
    """
    numbers, glossed = find_numbers(text), find_numbers(gloss)
    known = glossed | find_numbers(cited) | find_numerals(f"{gloss} {cited}")
    in_words = find_number_words(gloss) | find_number_words(cited)
    if not glossed <= numbers | find_numerals(text) or not numbers <= known:
        return False
    if not find_numerals(text, least=2) <= known | in_words:
        return False
    latin = detect_language(text) in _load_common_words()
    words = [word.casefold() for word in re.findall(r"\w+", text)]
    if latin and not all(_is_named(name, words) for name in _find_names(gloss)):
        return False
    there = [word.casefold() for word in re.findall(r"\w+", f"{gloss} {cited}")]
    if (
        latin
        and detect_language(text) != "de"
        and not all(_is_named(name, there) for name in _find_names(text))
    ):
        return False
    dense = detect_language(text) in ("cjk", "japanese", "hangul", "thai")
    ratio = len(text) * (3 if dense else 1) / max(1, len(gloss))
    return 0.4 <= ratio <= 3.0


def _find_names(text: str) -> list[str]:
    """Return the words with a capital that do not begin the text; of several together the last."""
    found = re.findall(r"(?<=[\w,] )(?:[A-ZÀ-Þ]\w+ )*([A-ZÀ-Þ]\w+)", text)
    return [name.casefold() for name in found if measure_rarity(stem(name)) == 1.0]


def _is_named(name: str, words: Sequence[str]) -> bool:
    return any(word == name or are_alike(word, name) for word in words)
