"""Check whether passages support a sentence, from the words alone and without a language model.

`check` finds the few neighbouring sentences that hold the claim, aligns the claim's words with them, and
measures what is shared and what was exchanged: numbers, names, opposites, negations. A small logistic model,
fitted on public data, turns the measures into a score; `reasons` says in words what speaks against the claim.
The snippet is an exact piece of the passage it comes from. A trained verifier's opinion helps where there is
one, and is never needed. The work is linear in the length of the texts.

A question claims nothing, and what a speaker says about himself is in no passage that does not speak of an
"I". These two rules are rough and for English; where they are not sure, the sentence is an ordinary claim.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib.resources import files
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, Any

from octavo.text.english import list_words, measure_rarity
from octavo.text.scoring import logistic
from octavo.text.sentences import split_long
from octavo.verification.words import (
    Word,
    list_little_words,
    list_opposites,
    list_stems,
    read_words,
    split_words,
    stem_words,
)

if TYPE_CHECKING:
    from octavo.protocols import SupportModel

_QUOTES = "\"'“”‘’«»"
_QUESTION = re.compile("[?？؟\u037e]")
_AFTER_QUESTION = "?？؟\u037e!.…)]*_ \t\n"
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


Exchange = tuple[Word, Word]

# The most characters of a claim and of a passage that are read, and the most passages.
MOST_CLAIM, MOST_PASSAGE, MOST_PASSAGES = 2_000, 20_000, 200
# The most sentences of a window, and the most characters of a sentence.
_WINDOW, _LONGEST = 3, 700
# How many windows are compared word for word, and how many names are looked at for an exchange.
_SEARCHED, _CROSSED = 100, 12
# What a further sentence must add, and the share of the claim that one sentence alone must hold.
_EXTRA, _CLOSE = 0.06, 0.75
# The scores of a claim that the passage has word for word, and of one that claims nothing.
_VERBATIM, _LEAD_IN = 0.99, 0.9
# How many characters around a window a verifier sees, and the most log odds that its opinion counts.
_AROUND, _SURE = 350, 4.0
_PAUSE = re.compile(r"""(?<=[.!?])["'”’)\]]*\s+|(?<=[。！？])|\n\s*\n\s*""")
_ABBREVIATED = re.compile(r"\b(?:Mrs?|Ms|Dr|St|Prof|Rev|[SJ]r|vs|No|Vol|Fig|al|e\.g|i\.e|[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Support:
    """The verdict on one claim: whether and where it is supported, how surely, and what speaks against it."""

    supported: bool
    score: float
    passage: int | None = None
    snippet: str | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
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

    def cut(self, passages: Sequence[str]) -> str:
        """Return the text of the window."""
        return passages[self.passage][self.start : self.end]

    def cut_around(self, passages: Sequence[str]) -> str:
        """Return the text of the window with what stands around it."""
        return passages[self.passage][max(0, self.start - _AROUND) : self.end + _AROUND]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the claim is about: a bit for each different word, and a weight, the rarer the heavier."""

    bits: Mapping[str, int]
    weights: Sequence[float]
    known: dict[int, float]

    def weigh(self, mask: int) -> float:
        """Return the weight of the terms whose bits are set."""
        if mask not in self.known:
            self.known[mask] = sum(w for i, w in enumerate(self.weights) if mask >> i & 1)
        return self.known[mask]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The claim beside a window: `pairs` are the places where both say the same, in order."""

    claim: Sequence[Word]
    there: Sequence[Word]
    pairs: Sequence[tuple[int, int]]

    def find_gaps(self) -> Iterator[tuple[Sequence[Word], Sequence[Word]]]:
        """Yield what stands before, between and after the pairs, in the claim and in the window."""
        ends = [(-1, -1), *self.pairs, (len(self.claim), len(self.there))]
        for (i, j), (k, m) in pairwise(ends):
            yield self.claim[i + 1 : k], self.there[j + 1 : m]


@cache
def load_fit() -> Mapping[str, Any]:
    """Load what was fitted for checking claims: weights, threshold, and what counts by hand."""
    return dict(json.loads(files("octavo.verification").joinpath("verification.json").read_bytes()))


def check(claim: str, passages: Sequence[str], *, opinion: SupportModel | None = None) -> Support:
    """Say whether the passages support the claim. `opinion(claim, texts)` may give a verifier's log odds."""
    measured = measure(claim, passages)
    score, window, fit = measured.given, measured.window, load_fit()
    if score is None:
        total = sum(weight * measured.features.get(name, 1.0) for name, weight in fit["weights"].items())
        total -= measured.against
        if opinion is not None and window is not None:
            (odds,) = opinion(claim[:MOST_CLAIM], [window.cut_around(passages)])
            total += fit["opinion"] * min(_SURE, max(-_SURE, float(odds)))
        score = round(logistic(total), 4)
    place, snippet = (window.passage, window.cut(passages)) if window else (None, None)
    return Support(score >= fit["threshold"], score, place, snippet, measured.reasons)


def measure(claim: str, passages: Sequence[str]) -> Measurement:
    """Measure every feature of the claim against the passages, before anything is weighed."""
    whole = claim[:MOST_CLAIM]
    claim = _strip_no(whole)
    words = read_words(claim)
    if not words:
        return Measurement({}, given=0.0, reasons=("the claim has no words",))
    asks = _asks_only(claim)
    if not asks and _says_nothing(claim, words) and any(passages):
        return Measurement({}, given=_LEAD_IN)
    terms = _weigh_terms(words)
    windows = sorted(_find_windows(terms, passages), key=lambda w: _EXTRA * w.sentences - w.share)
    if not windows:
        return Measurement({}, given=0.0, reasons=("no passage shares a word with the claim",))
    same = _find_verbatim({whole, claim}, windows, passages)
    if same:
        return Measurement({}, same, given=_VERBATIM)
    close = _find_closest(terms, windows)
    there = read_words(_strip_no(close.cut(passages)))
    aligned = Alignment(words, there, _align([w.stem for w in words], [w.stem for w in there]))
    reasons = list[str]()
    features = _measure_coverage(words, terms, windows) | _measure_order(aligned)
    features |= _measure_facts(words, terms, windows, reasons)
    features |= _measure_alterations(aligned, features["aligned"] ** 2, reasons)
    against = 0.0
    if asks:
        reasons.append("a question claims nothing")
        against += load_fit()["asks"]
    if _is_about_speaker(claim, (passage[:MOST_PASSAGE] for passage in passages[:MOST_PASSAGES])):
        reasons.append("it is about the speaker, the passages are not")
        against += load_fit()["of_speaker"]
    return Measurement(features, close, reasons=tuple(dict.fromkeys(reasons)), against=against)


def claims_something(text: str) -> bool:
    """Say whether a text states anything: it is no question, no lead-in, and has words."""
    words = read_words(text[:MOST_CLAIM])
    return bool(words) and not _asks_only(text) and not _says_nothing(text, words)


def _find_verbatim(claims: set[str], windows: Sequence[Window], passages: Sequence[str]) -> Window | None:
    """Return the first window that has the words of the claim, and no others, in the same order."""
    wanted = [split_words(text.lower()) for text in claims]
    full = (w for w in windows[:_SEARCHED] if w.share > 0.999)
    return next((w for w in full if split_words(w.cut(passages).lower()) in wanted), None)


def _find_closest(terms: Terms, windows: Sequence[Window]) -> Window:
    """Return the first single sentence that holds most of the claim, or else the best window."""
    enough = 0.8 * len(terms.bits)
    alone = (w for w in windows if w.sentences == 1 and (w.share >= _CLOSE or w.held.bit_count() >= enough))
    return next(alone, windows[0])


def _strip_no(said: str) -> str:
    """Drop a "No," at the beginning that answers somebody and denies nothing of what follows."""
    return _NO.sub("", said)


def _asks_only(claim: str) -> bool:
    """Say whether it is a question that tells nothing. "Did you know that …?" does, and so may a title."""
    bare = claim.strip()
    if bare[:1] in _QUOTES and bare[-1:] in _QUOTES:
        bare = bare[1:-1]
    said = bare.rstrip(_AFTER_QUESTION)
    if not _QUESTION.search(bare, len(said)):
        return False
    words = split_words(re.split(r"[,.!?;:…]", said)[-1].lower())
    while words and words[0] in list_words("greetings"):
        words = words[1:]
    return (
        bool(words)
        and words[0] in list_words("question_words", "auxiliaries", "asking_forms")
        and not _TELLING.match(" ".join(words))
    )


def _is_about_speaker(claim: str, passages: Iterable[str]) -> bool:
    """Say whether it is about an "I" that no passage speaks of. "World War I" and "Charles I" are none."""
    for said in _SPEAKER.finditer(claim):
        before = _CAPITAL_BEFORE.search(claim, max(0, said.start() - 40), said.start())
        counted = (
            said[0] == "I"
            and before
            and before[1].lower() not in list_words("greetings") | list_little_words()
        )
        if not counted:
            return not any(map(_FIRST_PERSON.search, passages))
    return False


def _says_nothing(claim: str, words: Sequence[Word]) -> bool:
    """Say whether it claims nothing: a list's number, or a lead-in ("Here is a summary of the text:")."""
    about, negations = list_stems("lead_in"), list_stems("negations")
    said = {w.stem for w in words if w.content or w.stem in about | negations}
    return bool((said and said <= about) or re.fullmatch(r"\s*\(?\d{1,2}[.)]\s*", claim))


def _weigh_terms(words: Sequence[Word]) -> Terms:
    bare = not any(w.content for w in words)
    weights: dict[str, float] = {}
    for word in words:
        weight = 1.0 if word.number or word.name else 0.2 + 0.8 * measure_rarity(word.stem)
        weights.setdefault(word.stem, weight if word.content or bare else 0.0)
    return Terms({key: 1 << i for i, key in enumerate(weights)}, tuple(weights.values()), {})


def split_roughly(text: str) -> list[tuple[int, int]]:
    """Split a passage into sentences, quickly and roughly: a wrong cut costs little here."""
    spans, start = list[tuple[int, int]](), 0
    for pause in _PAUSE.finditer(text):
        if not _ABBREVIATED.search(text, max(start, pause.start() - 8), pause.start()):
            spans += split_long(text, start, pause.end(), most=_LONGEST)
            start = pause.end()
    return [*spans, *split_long(text, start, len(text), most=_LONGEST)]


def _find_windows(terms: Terms, passages: Sequence[str]) -> Iterator[Window]:
    """Yield every run of up to three neighbouring sentences that holds something of the claim."""
    total = terms.weigh(-1)
    for number, passage in enumerate(passages[:MOST_PASSAGES]):
        text = passage[:MOST_PASSAGE]
        spans = split_roughly(text)
        found = [terms.bits.keys() & set(stem_words(split_words(text[a:b]))) for a, b in spans]
        masks = [sum(terms.bits[key] for key in keys) for keys in found]
        for first in range(len(spans)):
            held = 0
            for last in range(first, min(first + _WINDOW, len(spans))):
                more, held = masks[last] & ~held, held | masks[last]
                share = terms.weigh(held) / total if more else 0.0
                if share:
                    yield Window(number, spans[first][0], spans[last][1], last - first + 1, held, share)


def _align(claim: Sequence[str], there: Sequence[str]) -> list[tuple[int, int]]:
    """Find a longest common subsequence by the bit-parallel method: one step for each word of the claim."""
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


def _measure_coverage(words: Sequence[Word], terms: Terms, windows: Sequence[Window]) -> dict[str, float]:
    """Measure how much of the claim is in one sentence, one window, anywhere, and of its weakest clause."""
    clauses: dict[int, int] = {}
    for word in words:
        clauses[word.clause] = clauses.get(word.clause, 0) | terms.bits[word.stem]
    masks = [0]
    # A clause of one or two words goes with its neighbour.
    for mask in clauses.values():
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


def _measure_order(aligned: Alignment) -> dict[str, float]:
    """Measure whether the words stand together and in order as they do there, and who is speaking."""
    seen, mine = (set(pairwise(w.stem for w in text)) for text in (aligned.there, aligned.claim))
    words, there = ({w.stem for w in text} for text in (aligned.claim, aligned.there))
    content = [w.content for w in aligned.claim]
    return {
        "aligned": sum(content[i] for i, _ in aligned.pairs) / max(1, sum(content)),
        "bigrams": len(mine & seen) / len(mine) if mine else 1.0,
        "words": len(words & there) / len(words),
        "person": float(bool(words & list_stems("speaker") - there)),
    }


def _measure_facts(
    words: Sequence[Word], terms: Terms, windows: Sequence[Window], reasons: list[str]
) -> dict[str, float]:
    """Measure how many numbers and names no passage has. Those that the best window lacks are reasons,
    and each one says whether another place has it.
    """
    anywhere = reduce(or_, (w.held for w in windows))
    found = dict[str, float]()
    for kind in ("number", "name"):
        mine = {w.stem: w.raw for w in words if getattr(w, kind)}
        nowhere = sum(not terms.bits[key] & anywhere for key in mine)
        found[f"{kind}_absent"] = min(1.0, nowhere / max(1, min(len(mine), 2)))
        for key, raw in mine.items():
            if not terms.bits[key] & anywhere:
                reasons.append(f"{kind} {raw} is not in the passage")
            elif not terms.bits[key] & windows[0].held:
                reasons.append(f"{kind} {raw} stands elsewhere in the passage")
    return found


def _measure_alterations(aligned: Alignment, close: float, reasons: list[str]) -> dict[str, float]:
    """Measure what was put for another thing: the closer the rest of the wording, the more it says."""
    opposites, negations = list_opposites(), list_stems("negations")
    facts, opposed, denied = _find_crossed(aligned), list[Exchange](), _find_denied(aligned)
    for mine, theirs in aligned.find_gaps():
        both = [(w, t) for w in mine for t in theirs] if len(theirs) <= 7 else []
        turned = [(w, t) for w, t in both if (w.stem, t.stem) in opposites]
        if len(mine) <= 5:
            facts += [(w, t) for w, t in both if (w.number and t.number) or (w.name and t.name)]
        odd = [w for w in (*mine, *theirs) if w.stem in negations]
        # "Not allowed" is what "forbidden" says.
        if turned and len(odd) == 1:
            continue
        opposed += turned
        denied += odd if len(odd) == 1 and len(mine) + len(theirs) <= 3 else []
    reasons += [f"{w.raw} stands where the passage has {t.raw}" for w, t in [*facts, *opposed][:3]]
    reasons += [f"negation differs at {w.raw}" for w in denied[:1]]
    kinds = {"swapped": facts, "opposite": opposed, "negation": denied}
    return {kind: close * bool(found) for kind, found in kinds.items()}


def _find_crossed(aligned: Alignment) -> list[Exchange]:
    """Find names that changed places around the same word: "Cain slew Abel", "Abel slew Cain"."""
    mine, theirs = ({w.stem: i for i, w in enumerate(t) if w.name} for t in (aligned.claim, aligned.there))
    found = list[Exchange]()
    for one, other in pairwise([key for key in mine if key in theirs][:_CROSSED]):
        if mine[other] - mine[one] <= 4 and 0 < theirs[one] - theirs[other] <= 4:
            here = {w.stem for w in aligned.claim[mine[one] : mine[other]] if w.content and not w.name}
            if any(w.stem in here for w in aligned.there[theirs[other] : theirs[one]]):
                found.append((aligned.claim[mine[one]], aligned.there[theirs[other]]))
    return found


def _find_denied(aligned: Alignment) -> list[Word]:
    """Find words that both texts have, and only one of them denies."""
    mine, theirs = _find_negated(aligned.claim), _find_negated(aligned.there)
    differ = [
        i for i, j in aligned.pairs if 1 in (mine.get(i), theirs.get(j)) and (i in mine) != (j in theirs)
    ]
    return [aligned.claim[i] for i in differ]


def _find_negated(words: Sequence[Word]) -> dict[int, int]:
    """Map the places of the words that a negation governs to 1, 2 or 3: how far after it in its clause."""
    negations = list_stems("negations")
    found, since, clause = dict[int, int](), 3, -1
    for place, word in enumerate(words):
        if word.stem in negations:
            since, clause = 0, word.clause
        elif word.content and since < 3 and word.clause == clause:
            since += 1
            found[place] = since
    return found
