"""Noun phrases of an English question or sentence: found by small words and the form of the others.

A phrase is what a pronoun can stand for: "the old king", "Captain Ahab", "the Battle of Hastings". It knows
the word before it, whether it is a name, and roughly what it is: a man, a woman, an animal, a place, a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from octavo.text.english import Token, list_words, stem, tokenize

# What a phrase may be, by the list that its last or first word is in; the first that fits counts.
_SORTS = {
    "he": "men",
    "she": "women",
    "who": "persons",
    "beast": "animals",
    "place": "well_known_places",
    "time": "times",
    "group": "groups",
}
_PLURAL = re.compile(r"(?<![sui'’])s$")
_TIME = re.compile(r"\d+s?|\w+day")
_QUESTION_OPENINGS = frozenset(["what", "which", "who", "whose", "where", "how"])


class Phrase(NamedTuple):
    """A noun phrase where it stands. `lead` is the word before it, `name` says that it is a proper name."""

    text: str
    start: int
    end: int
    lead: str
    name: bool

    @property
    def head(self) -> str:
        """The word that the phrase is about: "battle" of "the battle of Hastings"."""
        return lower_words(re.split(r"(?i)(?<=\w) of\b", self.text)[0])[-1]

    @property
    def sort(self) -> str:
        """What it is: "he", "she", "who", "beast", "place", "time" or "group"; "" where that is not known."""
        if _TIME.fullmatch(self.head):
            return "time"
        known = [self.head, self.head.removesuffix("s"), lower_words(self.text)[0] if self.name else ""]
        found = (sort for sort, listed in _SORTS.items() for word in known if is_listed(word, listed))
        return next(found, "")

    @property
    def plural(self) -> bool:
        inflected = _PLURAL.search(self.head) and (not self.name or self.text[:3] == "the")
        return bool(inflected) or self.sort == "group" or " and " in self.text


def is_listed(word: str, *lists: str) -> bool:
    """Say whether a word is in one of the lists, however it is written."""
    return word.lower() in list_words(*lists)


def lower_words(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return [token.text.lower() for token in tokenize(text)]


@cache
def list_verbs() -> Mapping[str, str]:
    """Return common verbs by their stem."""
    return MappingProxyType({stem(verb): verb for verb in sorted(list_words("common_verbs"))})


def is_verb(words: Sequence[Token], number: int) -> bool:
    """Say whether a word is a verb where it stands: not after "the", not before "of", and no name."""
    word, before = words[number], words[number - 1].text.lower() if number else ""
    of = number + 1 < len(words) and words[number + 1].text.lower() == "of"
    noun = of or is_listed(before, "determiners", "traits") or before.endswith(("'s", "’s"))
    return not noun and (word.stem in list_verbs() or word.text == "lives") and not (number and word.capital)


def is_trait(word: Token) -> bool:
    """Say whether a word may tell what somebody is: "white", "crowned", "dangerous"."""
    endings = tuple(list_words("trait_endings"))
    return is_listed(word.text, "traits") or word.text.endswith(endings) or word.stem in list_verbs()


def find_phrases(text: str) -> list[Phrase]:
    """Return the noun phrases of a text; those after an auxiliary come first: they are subjects."""
    words, found, run = tokenize(text), list[Phrase](), list[int]()
    for number, word in enumerate(words):
        low, before = word.text.lower(), words[number - 1].text.lower() if number else ""
        whole = not number or text[words[number - 1].end : word.start].strip() in ("", "-", "'", "’")
        starts = is_listed(low, "determiners")
        joins = whole and bool(run) and (low in ("of", "s") or (starts and before == "of"))
        outside = not starts and not joins and (_is_small(word, before) or is_verb(words, number))
        if run and (outside or not whole or (starts and not joins)):
            found += _make_phrases(text, words, run, number)
            run = []
        run += [] if outside else [number]
    found += _make_phrases(text, words, run, len(words))
    return sorted(found, key=lambda phrase: not is_listed(phrase.lead, "auxiliaries"))


def find_coordinated(text: str, *joins: str) -> list[tuple[Phrase, Phrase]]:
    """Return the pairs of phrases that one of the words joins: "Ishmael or Queequeg"."""
    found = sorted(find_phrases(text), key=lambda phrase: phrase.start)
    return [(p, q) for p, q in pairwise(found) if text[p.end : q.start].strip(" ,") in joins]


def _is_small(word: Token, before: str) -> bool:
    low = word.text.lower()
    small = word.stop or is_listed(low, "phrase_ends", "phrase_leads") or low.endswith("ly")
    return small or is_listed(before, "personal_pronouns")


def _make_phrases(text: str, words: Sequence[Token], run: list[int], after: int) -> Iterator[Phrase]:
    """Yield the phrase of a run of words, then those inside it: after "of", and the owner of "Ahab's"."""
    while run and (
        is_listed(words[run[-1]].text, "determiners") or words[run[-1]].text.lower() in ("of", "s")
    ):
        run = run[:-1]
    if not run or is_listed(words[run[0]].text, "possessives"):
        return
    lead = words[run[0] - 1].text.lower() if run[0] else ""
    run = _drop_predicate(words, run, after, lead) if is_listed(lead, "auxiliaries") else run
    if _is_asked_for(words, run[0]):
        return
    end = words[run[-1]].end
    for first in (run[0], *(n + 1 for n in run[:-1] if words[n].text.lower() == "of")):
        own = [words[n] for n in run if n >= first and not is_listed(words[n].text, "determiners")]
        content = (own or [words[first]])[0]
        owner = content.text[-2:] in ("'s", "’s") and content.end < end
        start, before = words[first].start, lead if first == run[0] else "of"
        yield Phrase(text[start:end], start, end, before, content.capital and not owner)
        if owner and content.capital:
            yield Phrase(content.text[:-2], content.start, content.end, "", True)


def _is_asked_for(words: Sequence[Token], first: int) -> bool:
    """Say whether a phrase is what the question asks for: "which country"."""
    asks = [n for n in range(first) if words[n].text.lower() in ("what", "which", "whose", "how")]
    between = words[asks[-1] + 1 : first] if asks else ()
    return bool(asks) and all(w.stop and not is_listed(w.text, "auxiliaries") for w in between)


def _drop_predicate(words: Sequence[Token], run: list[int], after: int, lead: str) -> list[int]:
    """Cut what is said of the subject off a run of words: "white" off "the whale white"."""
    last = words[run[-1]]
    if words[run[0]].capital and not last.capital:
        lower = (i for i, n in enumerate(run) if not words[n].capital and words[n].text not in ("of", "the"))
        return run[: next(lower, len(run))]
    if last.capital or sum(not is_listed(words[n].text, "determiners") for n in run) < 2:
        return run
    if is_listed(lead, "present_and_past_of_be"):
        asks = words[0].text.lower() in _QUESTION_OPENINGS
        return run[:-1] if is_trait(last) or (after == len(words) and not asks) else run
    complete = after < len(words) and (is_listed(words[after].text, "phrase_ends") or is_verb(words, after))
    return run if complete else run[:-1]
