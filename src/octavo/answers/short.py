"""Chooses the words that open an answer: a name, a number, a date or a phrase, cut from the book.

The trained reader points at the words. They are taken only if it clearly prefers them to "no answer", if the
question asks for something that a few words can say, if the text around them speaks of what is asked, and if
they read as an answer: whole words, not those of the question, at most half of the sentence, without a loose
end. How something came about is answered by a manner ("in a shore boat"), and the longest or highest by a
text that has an extreme or a limit. Other answers have no short form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from octavo.answers.features import match_focus
from octavo.answers.questions import Expected, QuestionKind
from octavo.text.english import Token, list_words, tokenize
from octavo.verification.claims import Phrase

if TYPE_CHECKING:
    from octavo.answers.features import SentenceScore
    from octavo.answers.questions import ParsedQuestion
    from octavo.verification.claims import Claim, Sentence

LEAST_MARGIN, LONGEST = 2.0, 12
# A sentence that begins with so many words of the answer opens it well enough by itself.
LONGEST_FIRST = 4
_ASKED = frozenset([QuestionKind.FACT, QuestionKind.DEFINITION])
_TOLD = frozenset([Expected.REASON, Expected.SPEECH])
# Line breaks, cells of tables, brackets and code are no part of a phrase.
_BROKEN = re.compile(r"[\n|\[\]{}<>`]")
_EDGE = " \t,;:–—-"
_PAIRS = (("(", ")"), ("“", "”"), ("‘", "’"))
_WORD = re.compile(r"\w+")
_HOW = re.compile(r"\s*how (?:do|does|did|is|are|was|were|has|have|had|can|could)\b", re.IGNORECASE)
_CONTRASTED = re.compile(r",? (?:while|whereas|but not|in contrast to|unlike|rather than)\b")
_EITHER_LIMIT = r"between|limit(?:s|ed)?|ever|record|than any|of all|most|least"
_MOST_LIMIT = re.compile(
    rf"\b(?:up to|at most|no (?:more|longer|later) than|max(?:imum)?|{_EITHER_LIMIT})\b", re.IGNORECASE
)
_LEAST_LIMIT = re.compile(
    rf"\b(?:at least|no (?:less|fewer|sooner) than|min(?:imum)?|{_EITHER_LIMIT})\b", re.IGNORECASE
)
_LOW = frozenset(["shortest", "smallest", "lowest", "fewest", "earliest", "youngest", "lightest", "cheapest"])
_JOINS = frozenset(["and", "or", "but", "nor", "that", "which", "who", "whose", "so", "than"])
_LOOSE_ENDS = _JOINS | {"by", "as"} | list_words("determiners", "prepositions", "being")


def choose_short(
    parsed: ParsedQuestion, sentence: Sentence, seen: SentenceScore, *, around: str
) -> Phrase | None:
    """Choose the reader's words if it is sure of them and they answer by themselves.

    `around` is the sentence with its heading and the one before it.
    """
    if parsed.kind not in _ASKED or parsed.expected in _TOLD or seen.margin < LEAST_MARGIN:
        return None
    if not _speaks_of_it(parsed, around) or not has_extreme(parsed, around):
        return None
    start, end = _widen_to_words(sentence.text, seen.start, seen.end)
    text = sentence.text[start:end]
    fits = _reads_well(parsed, text, sentence.text) and _is_manner(parsed, text)
    fits = fits and not _is_contrasted(parsed, sentence.text, start)
    return Phrase(sentence.id, start, end) if fits else None


def _speaks_of_it(parsed: ParsedQuestion, around: str) -> bool:
    """Whether a text has at least one of the words that matter in the question."""
    return not parsed.focus or any(match_focus(parsed.focus, (t.stem for t in tokenize(around))))


def has_extreme(parsed: ParsedQuestion, around: str) -> bool:
    """Whether a text has an extreme or a limit, if the question asks for the longest or the like.

    A minimum says nothing about the longest.
    """
    asked = [focus.text.lower() for focus in parsed.focus if _is_superlative(focus.text)]
    if not asked:
        return True
    limit = _LEAST_LIMIT if any(word in _LOW for word in asked) else _MOST_LIMIT
    return limit.search(around) is not None or any(_is_superlative(token.text) for token in tokenize(around))


def _is_superlative(word: str) -> bool:
    low = word.lower()
    return low.endswith("est") and len(low) > 4 and low not in list_words("not_extremes")


def _is_manner(parsed: ParsedQuestion, text: str) -> bool:
    """Whether words can say how something came about, if that is asked."""
    if not _HOW.match(parsed.text) or parsed.expected is not Expected.ANYTHING:
        return True
    first = tokenize(text)[0].text.lower()
    return first in list_words("prepositions") or first.endswith(("ing", "ly"))


def _is_contrasted(parsed: ParsedQuestion, sentence: str, start: int) -> bool:
    """Whether words stand on the other side of a contrast than all that the question names.

    "Hold keeps a package as it is, while keep cancels all actions" says of hold not what comes last.
    """
    turns = [0, *(found.start() for found in _CONTRASTED.finditer(sentence)), len(sentence)]
    sides = [sentence[first:last] for first, last in pairwise(turns)]
    own = next(number for number, end in enumerate(turns[1:]) if start < end)
    named = [any(match_focus(parsed.focus, (t.stem for t in tokenize(side)))) for side in sides]
    return len(sides) > 1 and not named[own] and any(named)


def _widen_to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Move the ends of a span to the borders of words, without marks of punctuation at either end."""
    while 0 < start < end and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while start < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    while start < end and text[start] in _EDGE:
        start += 1
    while start < end and text[end - 1] in _EDGE:
        end -= 1
    return start, end


def _reads_well(parsed: ParsedQuestion, text: str, sentence: str) -> bool:
    """Whether words answer by themselves."""
    tokens, whole = tokenize(text), len(tokenize(sentence))
    if not 1 <= len(tokens) <= LONGEST or 2 * len(tokens) > whole:
        return False
    if len(tokens) > LONGEST_FIRST and sentence.startswith(text):
        return False
    if _BROKEN.search(text) or not _is_balanced(text):
        return False
    asked = {token.stem for token in parsed.tokens}
    new = [token for token in tokens if _has_meaning(token) and token.stem not in asked]
    # What something is takes more than one word: "Dr. Watson" says nothing about Watson.
    if len(new) < (2 if parsed.kind is QuestionKind.DEFINITION else 1):
        return False
    return tokens[0].text.lower() not in _JOINS and tokens[-1].text.lower() not in _LOOSE_ENDS


def _has_meaning(token: Token) -> bool:
    return token.number or not token.stop


def _is_balanced(text: str) -> bool:
    """Whether every bracket and quotation mark that opens is closed."""
    # An apostrophe looks like a closing quotation mark.
    inside = re.sub(r"(?<=\w)’(?=\w|$)", "", text)
    return inside.count('"') % 2 == 0 and all(inside.count(a) == inside.count(b) for a, b in _PAIRS)


def fit_short(
    short: Phrase | None, claims: Sequence[Claim], *, most: int
) -> tuple[Phrase | None, tuple[Claim, ...]]:
    """Make room for a short answer within `most` words: give up other claims, or else the short answer."""
    home = next((claim for claim in claims if short and short.sentence in claim.sentences), None)
    if short is None or home is None:
        return None, tuple(claims)
    left = most - LONGEST - count_words(home.text)
    if left < 0:
        return None, tuple(claims)
    kept = [home]
    for claim in claims:
        if claim is not home and count_words(claim.text) <= left:
            kept.append(claim)
            left -= count_words(claim.text)
    return short, tuple(claim for claim in claims if claim in kept)


def lead_with_short(
    short: Phrase | None, claims: Sequence[Claim], sentences: Mapping[str, Sentence]
) -> tuple[Phrase | None, tuple[Claim, ...]]:
    """Put the claim first that a short answer belongs to: it rests on the sentence, and has the words."""
    sentence = sentences.get(short.sentence) if short else None
    if short is None or sentence is None:
        return None, tuple(claims)
    words = sentence.text[short.start : short.end]
    home = next((c for c in claims if short.sentence in c.sentences and words and words in c.text), None)
    if home is None:
        return None, tuple(claims)
    return short, (home, *(claim for claim in claims if claim is not home))


def count_words(text: str) -> int:
    return len(_WORD.findall(text))
