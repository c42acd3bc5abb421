"""Tells which language a text is written in, by its script and its commonest words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from octavo.text.english import are_alike, measure_rarity, stem

_COMMON = {
    "en": "the of and to in is was what which who how many much when where why does did do are were it",
    "de": "der die das und ist war wer wie was wo wann warum viele nicht ein eine den dem im mit von zu auf",
    "fr": "le la les des du et est une qui que quoi quand où pourquoi comment combien dans pour sur ont été",
    "es": "el los las del y es una quién qué cuándo dónde cómo por cuántos cuántas para con fue en que cuál",
    "it": "il lo gli della e è una chi che cosa quando dove perché come quanti quante per con fu nel di si",
    "pt": "o os as do da e é uma quem que quando onde porque como quantos quantas para com foi em não se dos",
    "nl": "de het een en is was wie wat waar wanneer waarom hoe veel niet van in op met zijn voor door aan",
    "sv": "och det att är en ett som vem vad var när varför hur många inte på med för av till den de",
    "pl": "i w na z się jest to kto co gdzie kiedy dlaczego jak ile nie do przez po był była",
    "tr": "ve bir bu ne kim nerede nasıl neden kaç için ile mi mı da de gibi olan",
}


_LISTED = {code: frozenset(words.split()) for code, words in _COMMON.items()}


def detect_language(text: str) -> str:
    """The language of a text as far as its script and its small words tell; "" where they do not."""
    return _language(text[:2_000])


@lru_cache(maxsize=256)
def _language(text: str) -> str:
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return ""
    scripts = Counter(_script(c) for c in letters)
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > len(letters) // 10:
        return "japanese"
    script = scripts.most_common(1)[0][0]
    if script != "LATIN":
        return script.lower()
    words = re.findall(r"\w+", text.casefold())
    found = Counter({code: sum(word in listed for word in words) for code, listed in _LISTED.items()})
    (best, most), (_, second) = found.most_common(2)
    return best if most > second else ""


@lru_cache(maxsize=4_096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0].split("-")[0]


def list_common_words(of: str) -> frozenset[str]:
    """The commonest words of a language other than English; none where they are not known."""
    return _LISTED.get(of, frozenset()) if of != "en" else frozenset()


def is_foreign(question: str, book: str) -> bool:
    """Whether a question is surely in another language than the book."""
    asked, written = detect_language(question), detect_language(book)
    return bool(asked and written and asked != written)


def is_translation(text: str, gloss: str, cited: str) -> bool:
    """Whether a claim may be the translation of its gloss: numbers and names are the same, the lengths agree.

    What the other words say cannot be told without knowing the language.
    """
    numbers, glossed = (set(re.findall(r"\d+", one)) for one in (text, gloss))
    if not glossed <= numbers or not numbers <= glossed | set(re.findall(r"\d+", cited)):
        return False
    latin = detect_language(text) in _LISTED
    words = [word.casefold() for word in re.findall(r"\w+", text)]
    if latin and not all(_named(name, words) for name in _names(gloss)):
        return False
    there = [word.casefold() for word in re.findall(r"\w+", f"{gloss} {cited}")]
    if latin and detect_language(text) != "de" and not all(_named(name, there) for name in _names(text)):
        return False
    dense = detect_language(text) in ("cjk", "japanese", "hangul", "thai")
    ratio = len(text) * (3 if dense else 1) / max(1, len(gloss))
    return 0.4 <= ratio <= 3.0


def _names(text: str) -> list[str]:
    """Words with a capital that do not begin the text; of several together the last."""
    found = re.findall(r"(?<=[\w,] )(?:[A-ZÀ-Þ]\w+ )*([A-ZÀ-Þ]\w+)", text)
    return [name.casefold() for name in found if measure_rarity(stem(name)) == 1.0]


def _named(name: str, words: Sequence[str]) -> bool:
    return any(word == name or are_alike(word, name) for word in words)
