"""The words of a sentence, and what the small ones among them tell about the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from octavo.text.english import alike, lexicon, stem


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?|[,;:—–()]")
ARTICLES = _set("a an the")
FREE = ARTICLES | _set(
    "of in on at to by and with as that which who whom whose also there thus then so "
    "is was were are am be been being has have had do does did s"
)
PRONOUNS = _set(
    "it its he his him she her hers they their theirs them this these those i me my we us our you your"
)
BEING = _set("is was were are am be been being gets got")
PLACING = _set(
    "in on at of from during before after until since under over above below behind beside between with "
    "within without for near through across against into to"
)
CONTRAST = _set("although though while whereas but")
LINKING = CONTRAST | _set("because therefore")
TIMES = _set("day night morning evening noon dawn dusk week month year hour minute second summer winter time")
_NOT = (
    "not no never nobody nothing none neither nor without cannot "
    "nicht kein keine keinen nie pas jamais niet geen inte nunca não mai"
)
_LIKE_NO_OTHER = (
    "some many most several few little any or unless whether when whenever once than more less fewer least "
    "would could should must can will shall probably likely about almost nearly hardly scarcely barely "
    "rarely seldom often sometimes usually even exactly except like seems seemed"
)
GRAVE: Mapping[str, str] = {
    **dict.fromkeys(_NOT.split(), "not"),
    **dict.fromkeys(_set("all every each always everyone everybody everything both"), "all"),
    **dict.fromkeys(_set("only solely merely just alone"), "only"),
    **dict.fromkeys(_set("if provided"), "if"),
    **dict.fromkeys(_set("may might perhaps maybe possibly"), "may"),
    **{word: word for word in _LIKE_NO_OTHER.split()},
}
"""Words that change everything, by what they say."""
SMALL = FREE | PRONOUNS | PLACING | LINKING | GRAVE.keys()
_ONES = "zero - two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_TENS = "ten twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBERS = {word: str(n) for n, word in enumerate(f"{_ONES} seventeen eighteen nineteen".split())}
_NUMBERS |= {word: str(10 * n) for n, word in enumerate(_TENS.split(), start=1)}


_AUXILIARIES = BEING | _set(
    "has have had do does did can could may might must shall should will would cannot"
)
_ANYBODY = _set("nobody nothing none everyone everybody everything both")
_NO_VERBS = _set(
    "man woman child foot tooth mouse goose ox life wife wolf knife leaf half self thief person good bad far "
    "much little many few"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a mark: as written, in small letters, and what it is compared by."""

    raw: str
    low: str
    key: str

    @property
    def mark(self) -> bool:
        return not self.raw[0].isalnum()

    @property
    def number(self) -> bool:
        return self.key[0].isdigit()

    @property
    def content(self) -> bool:
        return not self.mark and self.low not in SMALL


@lru_cache(maxsize=512)
def words(text: str) -> tuple[Token, ...]:
    text = re.sub(r"\b[Nn]o one\b", "nobody", text.replace("’", "'"))
    text = re.sub(r"\b(?:[Aa]long|[Tt]ogether)(?= with\b)|(?<= )in (?:all|total)(?=[.;,]|$)", "", text)
    text = re.sub(r"n't\b", " not", text.replace("can't", "can not").replace("won't", "will not"))
    found: list[Token] = []
    for match in _WORD.finditer(text):
        raw = match[0]
        low = raw.replace(",", "") if raw[0].isdigit() else raw.casefold().removesuffix("'s")
        found.append(Token(raw, low, _NUMBERS.get(low) or stem(low) or low))
    return tuple(found)


def known(word: Token, among: Iterable[Token]) -> bool:
    """Whether a word is there, in one form or another."""
    return any(word.key == w.key or (not word.number and alike(word.key, w.key)) for w in among)


def grave(among: Iterable[Token]) -> list[str]:
    return [GRAVE[word.low] for word in among if word.low in GRAVE]


def states(text: Sequence[Token]) -> bool:
    """Whether words say something of somebody and are no bare name: there is a verb, by its form."""
    if any(word.low in _AUXILIARIES for word in text):
        return True
    for at, (before, word) in enumerate(pairwise(text)):
        if word.content and (before.content or before.low in PRONOUNS | _ANYBODY):
            after = text[at + 2 : at + 3]
            governs = any(w.low in ARTICLES | PRONOUNS | GRAVE.keys() or w.number for w in after)
            if word.low.endswith("ed") or word.low in _past() or (word.low.endswith("s") and governs):
                return True
    return False


@lru_cache(maxsize=1)
def _past() -> frozenset[str]:
    rows = (row.split() for row in lexicon("irregular"))
    return frozenset(form for base, *forms in rows if base not in _NO_VERBS for form in forms)


def placed(text: Sequence[Token], at: int) -> bool:
    """Whether a word stands after "in", "of" and the like: a circumstance, not the one who does something."""
    for back in range(at - 1, max(-1, at - 4), -1):
        low = text[back].low
        if low in PLACING:
            return True
        if low in ARTICLES | PRONOUNS:
            return back > 0 and text[back - 1].low in PLACING
        if low in SMALL or text[back].mark:
            return False
    return False


def timed(text: Sequence[Token], at: int) -> bool:
    """Whether this is "every evening"."""
    return at > 0 and text[at].low in TIMES and GRAVE.get(text[at - 1].low) == "all"


def passive(text: Sequence[Token], at: int) -> bool:
    if text[at].raw[0].isupper():  # "it was Marlow who"
        return False
    while at and (text[at - 1].low in GRAVE or text[at - 1].low == "also"):
        at -= 1
    return at > 0 and text[at - 1].low in BEING


def by(text: Sequence[Token], at: int) -> bool:
    """Whether a word stands after "by", with nothing but an article and other such words between."""
    for back in range(at - 1, max(-1, at - 4), -1):
        if text[back].low == "by":
            return True
        if text[back].mark or text[back].low in SMALL - ARTICLES:
            return False
    return False
