"""Find the terms of a book: what it defines, writes over sections or as code, or uses more than others do.

A term is known by the stems of its words, so that "virtual packages" is found as "virtual package". Terms
come from definitions and glossaries, from headings, from code words, from abbreviations, from words that
English rarely uses and this book often, and from pairs of words that often stand together.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache

from octavo.text.bookmap.marks import How, SectionMarks
from octavo.text.english import list_words, measure_rarity, stem

WORDS_MOST = 5
RARE_MOST, PAIRS_MOST = 200, 150
DEFINED_LEAST, HEADED_LEAST, CODE_LEAST, REPEATED_LEAST = 2, 3, 2, 3
# A word with a hyphen is a term if it is rare, or occurs so often.
HYPHENATED_LEAST = 8
# How much more often than by chance two words stand together.
TOGETHER = 10.0
# The share of a noun's occurrences that look like one.
NOUN_SHARE = 0.06
# English has about this many stems that are common, and uses the word of rank r about once in 12 r words. A
# word is striking that a book uses some six times as often.
COMMON_STEMS = 3_000
STRIKING = 0.5
_SMALL = (
    "stop",
    "stop_in_questions",
    "not_names",
    "not_terms",
    "negations",
    "says_all",
    "pronouns",
    "greetings",
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_HYPHENATED = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_NUMBERING = re.compile(
    r"^(?:(?:chapter|section|part|appendix|book)\s+)?[\dIVXLC]+(?:\.\d+)*[.:)]?\s+", re.IGNORECASE
)
_HEADING_PARTS = re.compile(r"\s*(?:[:–—;,()]|\band\b|\bor\b|\bwith\b|\bof\b|\bin\b|\bfor\b)\s*")


class Source(IntEnum):
    """Why something is taken for a term, the best reason first."""

    DEFINED = 0
    HEADED = 1
    CODE = 2
    PAIR = 3
    RARE = 4


@dataclass(slots=True)
class Term:
    """A term with its places. `definitions` are (section, sentence, how), the plainest first."""

    key: tuple[str, ...]
    source: Source
    places: list[tuple[int, int, int]] = field(default_factory=list)
    definitions: list[tuple[int, int, int]] = field(default_factory=list)


class Tokens:
    """The words of all sections: their places, and their keys."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.places: list[list[tuple[int, int]]] = []
        self.keys: list[list[str]] = []
        for text in texts:
            places = [match.span() for match in _WORD.finditer(text)]
            self.places.append(places)
            self.keys.append([make_key(text[start:end]) for start, end in places])

    def is_joined(self, section: int, first: int, last: int) -> bool:
        """Tell whether only single spaces or hyphens stand between words."""
        text, places = self.texts[section], self.places[section]
        return all(text[places[n][1] : places[n + 1][0]] in (" ", "-") for n in range(first, last))


class Usage:
    """How words, and pairs of words, are used: how often, and how often as nouns are.

    A noun often has an article or the like before it, and a small word or a mark after it.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.counts: Counter[str] = Counter()
        self.sections: Counter[str] = Counter()
        self.nouns: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.noun_pairs: Counter[tuple[str, str]] = Counter()
        for text, places, keys in zip(tokens.texts, tokens.places, tokens.keys, strict=True):
            self.counts.update(keys)
            self.sections.update({*keys})
            self._count(text, places, keys)

    def _count(self, text: str, places: Sequence[tuple[int, int]], keys: Sequence[str]) -> None:
        small, leading = (
            list_words("stop", "stop_in_questions", "auxiliaries", "prepositions"),
            _list_leading(),
        )
        # Of the word before and of the one before that: whether it can be in a pair, and leads a noun.
        before, led, led_before = "", False, False
        for at, key in enumerate(keys):
            start, end = places[at]
            follows = places[at + 1][0] if at + 1 < len(places) else len(text) + 9
            close = follows - end == 1 and text[end] in " -"
            if key in small:
                before, led, led_before = "", key in leading and close, False
                continue
            lower = text[start].islower()
            ended = not close or keys[at + 1] in small
            if lower:
                self.nouns[key] += led and ended
                if before:
                    self.pairs[before, key] += 1
                    self.noun_pairs[before, key] += led_before and ended
            led_before, led = (led, False) if close else (False, False)
            before = key if lower and close and _can_join(key) else ""

    def is_noun(self, key: str) -> bool:
        return self.nouns[key] >= NOUN_SHARE * self.counts[key]


@lru_cache(maxsize=100_000)
def make_key(word: str) -> str:
    """Return a word in small letters and without the ending of a plural."""
    low = word.lower().replace("’", "'").removesuffix("'s")
    if len(low) > 4 and low.endswith("ies"):
        return low[:-3] + "y"
    if len(low) > 4 and low.endswith(("ses", "xes", "ches", "shes")) and not low.endswith("ases"):
        return low[:-2]
    return low[:-1] if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")) else low


def split_keys(text: str) -> tuple[str, ...]:
    return tuple(make_key(word) for word in _WORD.findall(text))


def collect_terms(
    texts: Sequence[str],
    titles: Sequence[str],
    marks: Sequence[SectionMarks],
    *,
    extra: Iterable[str] = (),
) -> dict[tuple[str, ...], Term]:
    """Return the terms by key. `extra` are phrases that are terms wherever they occur."""
    tokens = Tokens(texts)
    terms: dict[tuple[str, ...], Term] = {}

    def announce(key: tuple[str, ...], source: Source) -> Term:
        return terms.setdefault(key, Term(key, source))

    for number, key, sentence, how in _list_defined(texts, marks):
        announce(key, Source.DEFINED).definitions.append((number, sentence, how))
    for phrase in extra:
        announce(split_keys(phrase), Source.DEFINED)
    for title in titles:
        for key in _split_heading(title):
            announce(key, Source.HEADED)
    usage = Usage(tokens)
    total = usage.counts.total()
    for key in _find_pairs(usage, total):
        announce(key, Source.PAIR)
    for key in _find_rare(usage, total, len(texts)):
        announce(key, Source.RARE)
    terms.pop((), None)
    for key in [key for key, term in terms.items() if _is_ordinary(term, usage)]:
        del terms[key]
    _find_places(terms, tokens)
    _add_codes(terms, texts, marks)
    return {key: term for key, term in terms.items() if _is_frequent(term)}


def _is_ordinary(term: Term, usage: Usage) -> bool:
    """Tell whether a single word is used as something else than a noun, and no glossary has it."""
    word = term.key[0]
    if len(term.key) > 1 or any(how == How.GLOSSARY for *_, how in term.definitions):
        return False
    return not usage.is_noun(word) or word in list_words("not_terms", "extremes", "men", "women", "persons")


def _list_defined(
    texts: Sequence[str], marks: Sequence[SectionMarks]
) -> Iterator[tuple[int, tuple[str, ...], int, int]]:
    for number, (text, found) in enumerate(zip(texts, marks, strict=True)):
        for start, end, sentence, how in found.definitions:
            key = split_keys(text[start:end])
            if 0 < len(key) <= WORDS_MOST and how != How.ENTRY:
                yield number, key, sentence, how


def _split_heading(title: str) -> Iterator[tuple[str, ...]]:
    """Yield the phrases of a heading: "Debian changelog" and "debian/changelog"."""
    plain = _NUMBERING.sub("", title)
    unwanted = list_words("not_terms", "not_names", "stop", "question_words")
    parts = [part for part in _HEADING_PARTS.split(plain) if part]
    # A single word is taken only when it is the whole heading, or no common one.
    for part in dict.fromkeys([plain, *parts]):
        words = part.split()
        while words and words[0].lower() in list_words("determiners", "stop"):
            words = words[1:]
        key = split_keys(" ".join(words))
        fits = 0 < len(key) < WORDS_MOST and not {*key} & list_words("stop") and key[-1] not in unwanted
        alone = part is plain or len(key) > 1 or (bool(key) and _is_rare(key[0]))
        if fits and alone and len(key[-1]) > 2 and key[-1].isalpha():
            yield key


def _find_rare(usage: Usage, total: int, sections: int) -> Sequence[tuple[str, ...]]:
    """Return the nouns that this book uses far more often than English does, the most striking first."""
    least = max(REPEATED_LEAST, total // 30_000)
    spread = 1 if sections < 2 else 2
    found = {
        key: count * _estimate_rank(key)
        for key, count in usage.counts.items()
        if count >= least and usage.sections[key] >= spread and len(key) > 3 and key.isalpha()
    }
    striking = (key for key in sorted(found, key=lambda key: (-found[key], key)) if usage.is_noun(key))
    small = list_words(*_SMALL)
    return [(key,) for key in striking if found[key] > STRIKING * total and key not in small][:RARE_MOST]


def _estimate_rank(key: str) -> float:
    """Return about how many words are more common in English."""
    return float((1 + COMMON_STEMS) ** measure_rarity(stem(key))) - 1


@lru_cache(maxsize=100_000)
def _is_rare(key: str) -> bool:
    return measure_rarity(stem(key)) == 1.0 and key not in list_words(
        "stop", "stop_in_questions", "not_names"
    )


def _find_pairs(usage: Usage, total: int) -> Iterator[tuple[str, ...]]:
    """Yield the pairs of words that stand together far more often than by chance."""
    least = max(REPEATED_LEAST, total // 20_000)
    found = 0
    for (one, other), count in usage.pairs.most_common():
        if count < least or found == PAIRS_MOST:
            return
        often = count * total > TOGETHER * usage.counts[one] * usage.counts[other]
        if often and usage.noun_pairs[one, other] >= NOUN_SHARE * count and _can_join(other):
            found += 1
            yield one, other


@lru_cache(maxsize=1)
def _list_leading() -> frozenset[str]:
    """Return the words that stand before nouns."""
    return list_words("determiners", "possessives", "articles", "prepositions") | {"my", "your", "our", "no"}


@lru_cache(maxsize=100_000)
def _can_join(key: str) -> bool:
    small = list_words(
        *(
            "stop",
            "stop_in_questions",
            "stop_in_claims",
            "pronouns",
            "determiners",
            "prepositions",
            "auxiliaries",
        ),
        *("negations", "conditions", "question_words", "extremes", "speech_verbs", "phrase_ends"),
    )
    return len(key) > 2 and key.isalpha() and key not in small and not key.endswith("ly")


def _find_places(terms: Mapping[tuple[str, ...], Term], tokens: Tokens) -> None:
    """Find every place of every term, the longest term first where several begin."""
    by_first: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for key in sorted(terms, key=len, reverse=True):
        by_first[key[0]].append(key)
    for number, words in enumerate(tokens.keys):
        text, places = tokens.texts[number], tokens.places[number]
        for at, word in enumerate(words):
            for wanted in by_first.get(word, ()):
                last = at + len(wanted) - 1
                if tuple(words[at : last + 1]) == wanted and tokens.is_joined(number, at, last):
                    start, end = places[at][0], places[last][1]
                    end -= 2 if text[end - 2 : end] in ("'s", "’s") else 0
                    terms[wanted].places.append((number, start, end))
                    break


def _add_codes(
    terms: dict[tuple[str, ...], Term], texts: Sequence[str], marks: Sequence[SectionMarks]
) -> None:
    """Add the code words, each spelling for itself."""
    found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for number, (text, marked) in enumerate(zip(texts, marks, strict=True)):
        for start, end in marked.codes:
            code = text[start:end]
            found[make_key(code) if _HYPHENATED.fullmatch(code) else code].append((number, start, end))
    for code, places in found.items():
        if not _is_code(code, len(places)):
            continue
        key = split_keys(code)
        known = terms.pop(key, None) if len(key) > 1 else None
        term = known or Term((code,), Source.CODE)
        term.places = sorted({*places, *term.places})
        terms[code,] = term


def _is_code(code: str, count: int) -> bool:
    """Tell whether something is code, or a term with a hyphen, and not common words with a mark between."""
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", code)]
    if not words or count < CODE_LEAST or all(word in list_words("stop") for word in words):
        return False
    if "/" in code or _HYPHENATED.fullmatch(code):
        return count >= (CODE_LEAST + 1 if any(_is_rare(make_key(w)) for w in words) else HYPHENATED_LEAST)
    return True


def _is_frequent(term: Term) -> bool:
    count = len(term.places)
    if term.source is Source.DEFINED:
        return count >= (1 if any(how == 0 for *_, how in term.definitions) else DEFINED_LEAST)
    return count >= (HEADED_LEAST if term.source is Source.HEADED else CODE_LEAST)
