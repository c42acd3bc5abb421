"""Is this sentence borne out by these passages? Answered from the words alone, without a language model.

`check` finds the few neighbouring sentences that carry the claim, lays the claim's words against them in
order, and measures what is shared and what was exchanged: numbers, names, opposites, negations. A small
logistic model, fitted on public data, turns the measures into a score; `reasons` says in words what speaks
against the claim. The snippet is an exact piece of the passage it comes from. A cosine between sentences, or
a trained verifier's opinion, helps where the caller can give one, and is never needed. The work is linear in
the length of the texts.

How a sentence speaks: whether it asks, is about the one who speaks, or begins with "No".

A question claims nothing, and what a speaker says about himself is in no passage that does not speak of an
"I". Rough and for English; where these are not sure, the sentence is an ordinary claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import exp
from operator import or_
from typing import TYPE_CHECKING

from octavo.text.english import (
    Word,
    data,
    listed,
    little,
    number_stems,
    opposites,
    rarity,
    split,
    words_of,
    written,
)
from octavo.text.sentences import parts

if TYPE_CHECKING:
    from octavo.verification.claims import SupportModel

_QUOTES, _QUESTION, _AFTER_QUESTION = "\"'“”‘’«»", re.compile("[?？؟\u037e]"), "?？؟\u037e!.…)]*_ \t\n"
_TELLING = re.compile(
    r"(?:did you (?:also )?know|do you know|are you aware|have you (?:ever )?heard|did you hear)\b"
    r"(?! (?:who|what|when|where|why|how|which|if|whether|about|of)\b)"
)
_NO = re.compile(
    r"^[\s\"'“‘«]*(?:no|nope|not (?:really|exactly|quite))\b\s*[,.!;:–—]+\s*(?=[^\s\d])", re.IGNORECASE
)
_SPEAKER = re.compile(r"(?<![\w./(])(?:[Ii](?=\s+[a-z]|['’](?:m|ve|d|ll)\b)|[Mm]e|[Mm]y|[Mm]yself)\b")
_CAPITAL_BEFORE = re.compile(r"([A-Z][\w’']*)\s+$")
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]yself)\b")


def without_no(said: str) -> str:
    """What is said without a "No," that answers somebody and denies nothing of what follows."""
    return _NO.sub("", said)


def asks_only(claim: str) -> bool:
    """Whether it is a question that tells nothing. "Did you know that …?" does, and so may a title."""
    bare = claim.strip()
    if bare[:1] in _QUOTES and bare[-1:] in _QUOTES:
        bare = bare[1:-1]
    said = bare.rstrip(_AFTER_QUESTION)
    if not _QUESTION.search(bare, len(said)):
        return False
    words = split(re.split(r"[,.!?;:…]", said)[-1].lower())
    while words and words[0] in written("greeting"):
        words = words[1:]
    return bool(words) and words[0] in written("asking") and not _TELLING.match(" ".join(words))


def of_speaker(claim: str, passages: Iterable[str]) -> bool:
    """Whether it is about an "I" that no passage speaks of. "World War I" and "Charles I" are none."""
    for said in _SPEAKER.finditer(claim):
        before = _CAPITAL_BEFORE.search(claim, max(0, said.start() - 40), said.start())
        counted = said[0] == "I" and before and before[1].lower() not in written("greeting") | little()
        if not counted:
            return not any(map(_FIRST_PERSON.search, passages))
    return False


Exchange = tuple[Word, Word]
Similarity = Callable[[str, Sequence[str]], Sequence[float]]

MOST_CLAIM, MOST_PASSAGE, MOST_PASSAGES = 2_000, 20_000, 200
_WINDOW, _LONGEST = 3, 700  # sentences of a window, characters of a sentence
_SEARCHED, _COMPARED, _CROSSED = 100, 4, 12  # windows compared word for word, and by cosine; names
_EXTRA, _CLOSE = 0.06, 0.75  # what a further sentence must add; the share that one sentence alone must hold
_VERBATIM, _LEAD_IN = 0.99, 0.9
_AROUND, _SURE = 350, 4.0  # characters around a window that a verifier sees; the most its opinion counts
_PAUSE = re.compile(r"""(?<=[.!?])["'”’)\]]*\s+|(?<=[。！？])|\n\s*\n\s*""")
_ABBREVIATED = re.compile(r"\b(?:Mrs?|Ms|Dr|St|Prof|Rev|[SJ]r|vs|No|Vol|Fig|al|e\.g|i\.e|[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Support:
    """The verdict on one claim: where it is borne out, how surely, and what speaks against it."""

    supported: bool
    score: float
    passage: int | None = None
    snippet: str | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What was measured, each feature in [0, 1]; or the score that is `given` where nothing is weighed.

    `against` is what speaks against any such sentence, in log odds.
    """

    features: Mapping[str, float]
    window: Window | None = None
    given: float | None = None
    reasons: tuple[str, ...] = ()
    against: float = 0.0


@dataclass(frozen=True, slots=True)
class Window:
    """Neighbouring sentences of one passage, and which of the claim's terms they hold (one bit each)."""

    passage: int
    start: int
    end: int
    sentences: int = 1
    held: int = 0
    share: float = 1.0

    def of(self, passages: Sequence[str]) -> str:
        return passages[self.passage][self.start : self.end]

    def surrounded(self, passages: Sequence[str]) -> str:
        """The window with what stands around it."""
        return passages[self.passage][max(0, self.start - _AROUND) : self.end + _AROUND]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the claim is about: a bit for each different word, and a weight, the rarer the heavier."""

    bits: Mapping[str, int]
    weights: Sequence[float]
    known: dict[int, float]

    def weigh(self, mask: int) -> float:
        if mask not in self.known:
            self.known[mask] = sum(w for i, w in enumerate(self.weights) if mask >> i & 1)
        return self.known[mask]


@dataclass(frozen=True, slots=True)
class Laid:
    """The claim laid against a window: `pairs` are the places where both say the same, in order."""

    claim: Sequence[Word]
    there: Sequence[Word]
    pairs: Sequence[tuple[int, int]]

    def gaps(self) -> Iterator[tuple[Sequence[Word], Sequence[Word]]]:
        """What stands before, between and after the pairs, in the claim and in the window."""
        ends = [(-1, -1), *self.pairs, (len(self.claim), len(self.there))]
        for (i, j), (k, m) in pairwise(ends):
            yield self.claim[i + 1 : k], self.there[j + 1 : m]


def check(
    claim: str,
    passages: Sequence[str],
    *,
    similarity: Similarity | None = None,
    opinion: SupportModel | None = None,
) -> Support:
    """Whether the passages bear the claim out.

    `similarity(claim, texts)` may give cosines, `opinion(claim, texts)` log odds that a text bears it out.
    """
    reading = measure(claim, passages, similarity=similarity)
    score, window = reading.given, reading.window
    if score is None:
        weights = data()["weights"]["lexical" if similarity is None else "similarity"]
        total = sum(weight * reading.features.get(name, 1.0) for name, weight in weights.items())
        total -= reading.against
        if opinion is not None and window is not None:
            (told,) = opinion(claim[:MOST_CLAIM], [window.surrounded(passages)])
            total += data()["opinion"] * min(_SURE, max(-_SURE, float(told)))
        score = round(1.0 / (1.0 + exp(-total)), 4)
    place, snippet = (window.passage, window.of(passages)) if window else (None, None)
    return Support(score >= data()["threshold"], score, place, snippet, reading.reasons)


def measure(claim: str, passages: Sequence[str], *, similarity: Similarity | None = None) -> Reading:
    """Every feature of the claim against the passages, before anything is weighed."""
    whole = claim[:MOST_CLAIM]
    claim = without_no(whole)
    words = words_of(claim)
    if not words:
        return Reading({}, given=0.0, reasons=("the claim has no words",))
    asks = asks_only(claim)
    if not asks and _says_nothing(claim, words) and any(passages):
        return Reading({}, given=_LEAD_IN)
    terms, wanted = _terms(words), [split(text.lower()) for text in {whole, claim}]
    windows = sorted(_windows(terms, passages), key=lambda w: _EXTRA * w.sentences - w.share)
    if not windows:
        return Reading({}, given=0.0, reasons=("no passage shares a word with the claim",))
    full = (w for w in windows[:_SEARCHED] if w.share > 0.999)
    same = next((w for w in full if split(w.of(passages).lower()) in wanted), None)
    if same:
        return Reading({}, same, given=_VERBATIM)
    enough = 0.8 * len(terms.bits)
    alone = (w for w in windows if w.sentences == 1 and (w.share >= _CLOSE or w.held.bit_count() >= enough))
    close = next(alone, windows[0])
    there = words_of(without_no(close.of(passages)))
    laid = Laid(words, there, _align([w.stem for w in words], [w.stem for w in there]))
    reasons = list[str]()
    features = _coverage(words, terms, windows) | _order(laid) | _facts(words, terms, windows, reasons)
    features |= _alterations(laid, features["aligned"] ** 2, reasons)
    if similarity is not None:
        cosines = similarity(claim, [w.of(passages) for w in windows[:_COMPARED]])
        features["cosine"] = min(1.0, max(0.0, *map(float, cosines)))
    against = 0.0
    if asks:
        reasons.append("a question claims nothing")
        against += data()["asks"]
    if of_speaker(claim, (passage[:MOST_PASSAGE] for passage in passages[:MOST_PASSAGES])):
        reasons.append("it is about the speaker, the passages are not")
        against += data()["of_speaker"]
    return Reading(features, close, reasons=tuple(dict.fromkeys(reasons)), against=against)


def _says_nothing(claim: str, words: Sequence[Word]) -> bool:
    """A list's number, or a lead-in such as "Here is a summary of the passage:", claims nothing."""
    about, negations = listed("about"), listed("negations")
    said = {w.stem for w in words if w.content or w.stem in about | negations}
    return bool((said and said <= about) or re.fullmatch(r"\s*\(?\d{1,2}[.)]\s*", claim))


def _terms(words: Sequence[Word]) -> Terms:
    bare = not any(w.content for w in words)
    weights: dict[str, float] = {}
    for word in words:
        weight = 1.0 if word.number or word.name else 0.2 + 0.8 * rarity(word.stem)
        weights.setdefault(word.stem, weight if word.content or bare else 0.0)
    return Terms({key: 1 << i for i, key in enumerate(weights)}, tuple(weights.values()), {})


def _sentences(text: str) -> list[tuple[int, int]]:
    """Quick and rough: a passage is a few sentences, and a wrong cut costs little."""
    spans, start = list[tuple[int, int]](), 0
    for pause in _PAUSE.finditer(text):
        if not _ABBREVIATED.search(text, max(start, pause.start() - 8), pause.start()):
            spans += parts(text, start, pause.end(), most=_LONGEST)
            start = pause.end()
    return [*spans, *parts(text, start, len(text), most=_LONGEST)]


def _windows(terms: Terms, passages: Sequence[str]) -> Iterator[Window]:
    """Every run of up to three neighbouring sentences that holds something of the claim."""
    total = terms.weigh(-1)
    for number, passage in enumerate(passages[:MOST_PASSAGES]):
        text = passage[:MOST_PASSAGE]
        spans = _sentences(text)
        found = [terms.bits.keys() & set(number_stems(split(text[a:b]))) for a, b in spans]
        masks = [sum(terms.bits[key] for key in keys) for keys in found]
        for first in range(len(spans)):
            held = 0
            for last in range(first, min(first + _WINDOW, len(spans))):
                more, held = masks[last] & ~held, held | masks[last]
                share = terms.weigh(held) / total if more else 0.0
                if share:
                    yield Window(number, spans[first][0], spans[last][1], last - first + 1, held, share)


def _align(claim: Sequence[str], there: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence, by the bit-parallel method: one step for each word of the claim."""
    places: dict[str, int] = {}
    for j, key in enumerate(there):
        places[key] = places.get(key, 0) | 1 << j
    full = (1 << len(there)) - 1
    row, rows = full, []
    for key in claim:
        hit = row & places.get(key, 0)
        row = ((row + hit) | (row - hit)) & full
        rows.append(row)
    pairs, i, j = list[tuple[int, int]](), len(claim), len(there)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1
            continue
        i -= 1
        if not i or rows[i - 1] >> (j - 1) & 1:
            j -= 1
            pairs.append((i, j))
    return pairs[::-1]


def _coverage(words: Sequence[Word], terms: Terms, windows: Sequence[Window]) -> dict[str, float]:
    """How much of the claim is there: in one sentence, in one window, anywhere, and of its weakest clause."""
    clauses: dict[int, int] = {}
    for word in words:
        clauses[word.clause] = clauses.get(word.clause, 0) | terms.bits[word.stem]
    masks = [0]
    for mask in clauses.values():  # a clause of one or two words goes with its neighbour
        if min(mask.bit_count(), masks[-1].bit_count()) < 3:
            masks[-1] |= mask
        else:
            masks.append(mask)
    held = {w.held for w in windows}
    shares = [max(terms.weigh(h & m) for h in held) / terms.weigh(m) for m in masks if terms.weigh(m)]
    return {
        "sentence": max((w.share for w in windows if w.sentences == 1), default=0.0),
        "window": max(w.share for w in windows),
        "weakest": min(shares),
        "spoken": reduce(or_, held).bit_count() / len(terms.bits),
    }


def _order(laid: Laid) -> dict[str, float]:
    """Whether the words stand together and in order as they do there, and who is speaking."""
    seen, mine = (set(pairwise(w.stem for w in text)) for text in (laid.there, laid.claim))
    words, there = ({w.stem for w in text} for text in (laid.claim, laid.there))
    content = [w.content for w in laid.claim]
    return {
        "aligned": sum(content[i] for i, _ in laid.pairs) / max(1, sum(content)),
        "bigrams": len(mine & seen) / len(mine) if mine else 1.0,
        "words": len(words & there) / len(words),
        "person": float(bool(words & listed("person") - there)),
    }


def _facts(
    words: Sequence[Word], terms: Terms, windows: Sequence[Window], told: list[str]
) -> dict[str, float]:
    """Numbers and names of the claim that no passage has; a reason tells of those the best window lacks."""
    anywhere = reduce(or_, (w.held for w in windows))
    found = dict[str, float]()
    for kind in ("number", "name"):
        mine = {w.stem: w.raw for w in words if getattr(w, kind)}
        nowhere = sum(not terms.bits[key] & anywhere for key in mine)
        found[f"{kind}_absent"] = min(1.0, nowhere / max(1, min(len(mine), 2)))
        gone = [raw for key, raw in mine.items() if not terms.bits[key] & windows[0].held]
        told += [f"{kind} {raw} is not in the passage" for raw in gone]
    return found


def _alterations(laid: Laid, close: float, reasons: list[str]) -> dict[str, float]:
    """One thing put for another: the closer the rest of the wording, the more it says."""
    opposed_words, negations = opposites(), listed("negations")
    facts, opposed, denied = _crossed(laid), list[Exchange](), _denied(laid)
    for mine, theirs in laid.gaps():
        both = [(w, t) for w in mine for t in theirs] if len(theirs) <= 7 else []
        turned = [(w, t) for w, t in both if (w.stem, t.stem) in opposed_words]
        if len(mine) <= 5:
            facts += [(w, t) for w, t in both if (w.number and t.number) or (w.name and t.name)]
        odd = [w for w in (*mine, *theirs) if w.stem in negations]
        if turned and len(odd) == 1:
            continue  # "not allowed" is what "forbidden" says
        opposed += turned
        denied += odd if len(odd) == 1 and len(mine) + len(theirs) <= 3 else []
    reasons += [f"{w.raw} stands where the passage has {t.raw}" for w, t in [*facts, *opposed][:3]]
    reasons += [f"negation differs at {w.raw}" for w in denied[:1]]
    kinds = {"swapped": facts, "opposite": opposed, "negation": denied}
    return {kind: close * bool(found) for kind, found in kinds.items()}


def _crossed(laid: Laid) -> list[Exchange]:
    """Names that changed places around the same word: "Cain slew Abel", "Abel slew Cain"."""
    mine, theirs = ({w.stem: i for i, w in enumerate(t) if w.name} for t in (laid.claim, laid.there))
    found = list[Exchange]()
    for one, other in pairwise([key for key in mine if key in theirs][:_CROSSED]):
        if mine[other] - mine[one] <= 4 and 0 < theirs[one] - theirs[other] <= 4:
            here = {w.stem for w in laid.claim[mine[one] : mine[other]] if w.content and not w.name}
            if any(w.stem in here for w in laid.there[theirs[other] : theirs[one]]):
                found.append((laid.claim[mine[one]], laid.there[theirs[other]]))
    return found


def _denied(laid: Laid) -> list[Word]:
    """Words that both texts have, and only one of them denies."""
    mine, theirs = _negated(laid.claim), _negated(laid.there)
    differ = [i for i, j in laid.pairs if 1 in (mine.get(i), theirs.get(j)) and (i in mine) != (j in theirs)]
    return [laid.claim[i] for i in differ]


def _negated(words: Sequence[Word]) -> dict[int, int]:
    """Places of the words that a negation governs: the first, second and third after it in its clause."""
    negations = listed("negations")
    found, since, clause = dict[int, int](), 3, -1
    for place, word in enumerate(words):
        if word.stem in negations:
            since, clause = 0, word.clause
        elif word.content and since < 3 and word.clause == clause:
            since += 1
            found[place] = since
    return found
