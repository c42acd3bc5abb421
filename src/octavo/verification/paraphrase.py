"""Whether a sentence in other words still says what its sentences say: judged by rules, and strictly.

A paraphrase may change the voice, move "in 1874" to the front, leave out a circumstance, put a name in the
place of "it", or join two sentences. It may not bring in a word, a number or a name that is not there, lose
or gain a "not", "some", "may", "if" or "at most", turn around who did it and who suffered it, or lend one
sentence the subject of another. What the rules cannot follow is objected to: a true sentence may be lost, a
false one should not get through. They are written for English. Of other languages only the smallest words are
known, so that little passes but what keeps to the words and their order.

What one sentence of a book has against a statement that is to rest on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from octavo.text.language import common, language
from octavo.text.sentences import sentences
from octavo.verification.context import Cited, lists, readings, topic_of, without_setting
from octavo.verification.tokens import (
    ARTICLES,
    BEING,
    CONTRAST,
    FREE,
    GRAVE,
    LINKING,
    PLACING,
    PRONOUNS,
    TIMES,
    Token,
    by,
    grave,
    known,
    passive,
    placed,
    states,
    timed,
    words,
)

_PART = re.compile(r"[,:](?!\d)|[;—–()]|\b(?:but|while|because|although|and(?!\s+\w+\s*(?:[.,;]|$)))\b")
_BRACKETS = re.compile(r"\(([^()]*)\)")
_OPENING = re.compile(r"\s*(?:With|Without|Under|For|Except)\b([^,;]*),")
_ASIDE = re.compile(r",\s*(?:which|who|whom|whose|where)\b([^,;.]*)")
_CONDITIONS = frozenset({"if", "unless", "whether", "when", "whenever", "once", "except"})
_NARROW = frozenset({"not", "only", "few", "little", "if", "when", "hardly", "rarely", "seldom"})


@dataclass(frozen=True, slots=True)
class Shared:
    """A word that claim and sentence share: its place in each."""

    here: int
    there: int


@dataclass(frozen=True, slots=True)
class Laid:
    """A statement laid against a sentence: the words they share, and those that only the statement has."""

    said: Sequence[Token]
    there: Sequence[Token]
    shared: Sequence[Shared]
    alone: Sequence[int]
    clauses: Sequence[Sequence[Token]]
    """The clauses of the sentence that the statement uses; of others, what is a condition of all."""

    @property
    def kept(self) -> set[str]:
        return {self.there[s.there].key for s in self.shared}


def faults(
    said: Sequence[Token],
    text: str,
    *,
    before: Sequence[Token] = (),
    headings: Sequence[Token] = (),
    topic: Sequence[Token] = (),
) -> Iterator[str]:
    """Everything that speaks against it.

    `before` is the sentence before, where that is cited too; it and the `topic` may tell who "it" is, the
    `headings` where it was.
    """
    laid = _lay(said, text)
    yield from _foreign(laid, before, headings, topic)
    if not laid.shared:
        yield "the sentences do not say so"
    yield from _changed(laid)
    yield from _left_out(laid, text)
    yield from _loosened(laid)
    yield from _counting(laid)
    yield from _turned(laid)


def _lay(said: Sequence[Token], text: str) -> Laid:
    there = words(text)
    free = [j for j, word in enumerate(there) if word.content]
    shared, alone = list[Shared](), list[int]()
    for i, word in enumerate(said):
        same = [j for j in free if there[j].key == word.key] or [j for j in free if known(word, [there[j]])]
        if word.content and same:
            shared.append(Shared(i, same[0]))
            free.remove(same[0])
        elif word.content and not known(word, [there[s.there] for s in shared]):
            alone.append(i)
    kept = {there[s.there].key for s in shared}
    main = _BRACKETS.sub(" ", text)
    clauses = [words(part) for part in (*_PART.split(main), *(b[1] for b in _BRACKETS.finditer(text)))]
    used = [
        clause if any(w.content and w.key in kept for w in clause) else conditions
        for clause in clauses
        if (conditions := [w for w in clause if w.low in _CONDITIONS]) or clause
    ]
    return Laid(said, there, shared, alone, used)


def _foreign(
    laid: Laid, before: Sequence[Token], headings: Sequence[Token], topic: Sequence[Token]
) -> Iterator[str]:
    """Words from elsewhere: a heading may say where it was, and it or the sentence before who "he" is."""
    said = laid.said
    for at in laid.alone:
        where = known(said[at], headings) and placed(said, at)
        named = {
            *(word.key for i, word in enumerate(before) if not placed(before, i)),
            *(w.key for w in topic),
        }
        meant = said[at].key in named and _for_pronoun(laid, at)
        if not where and not meant:
            yield f"{said[at].raw}: not in the sentences"
    there = {word.low for word in laid.there}
    cleft = {"it"} if len(said) > 1 and said[0].low == "it" and said[1].low in BEING else set[str]()
    there |= CONTRAST if there & CONTRAST else set()
    for word in said:
        if word.low in (PLACING - FREE) | PRONOUNS | LINKING and word.low not in there | cleft:
            yield f"{word.raw}: not in the sentences"


def _for_pronoun(laid: Laid, at: int) -> bool:
    """Whether a word stands where the sentence has "it" or "his": after or before the same word."""
    said, there, first, last = laid.said, laid.there, at, at
    inside = {*laid.alone, *(i for i, word in enumerate(said) if word.low in ARTICLES | {"of"})}
    while first - 1 in inside:
        first -= 1
    while last + 1 in laid.alone or (last + 2 in laid.alone and last + 1 in inside):
        last += 1
    before, after = said[first - 1 : first], said[last + 1 : last + 2]
    return any(
        (before and j and before[0].key == there[j - 1].key)
        or (after and j + 1 < len(there) and after[0].key == there[j + 1].key)
        for j, word in enumerate(there)
        if word.low in PRONOUNS and not any(w.low == "own" for w in there[j + 1 : j + 2])
    )


def _changed(laid: Laid) -> Iterator[str]:
    """Small words that change everything, lost or gained. "All" and "only" may be lost: that says less."""
    mine, theirs = grave(laid.said), [word for clause in laid.clauses for word in grave(clause)]
    for word in sorted({*mine} - {*theirs}):
        yield f"the sentences do not say {word!r}"
    for word in sorted({*theirs} - {*mine} - {"all", "only"}):
        yield f"the sentences say {word!r}"
    if mine.count("not") != theirs.count("not"):
        yield "negation differs"


def _left_out(laid: Laid, text: str) -> Iterator[str]:
    """What may not be: of whom it is said, what is rare or denied or only so, "idle" connections, "a day"."""
    kept, mine = laid.kept, {*grave(laid.said)}
    suffered = {word.key for i, word in enumerate(laid.said) if word.content and passive(laid.said, i)}
    for clause in laid.clauses:
        content = [word for word in clause if word.content]
        gone = [word.raw for word in content if word.key not in kept]
        if gone and {*grave(clause)} & mine & _NARROW:
            yield f"{gone[0]} is left out"
        subject = [word for i, word in enumerate(clause) if word.content and not placed(clause, i)][:1]
        titled = subject and subject[0].raw[0].isupper()  # "Captain" Marlow
        if subject and subject[0].raw in gone and not titled and not suffered & {w.key for w in content}:
            yield f"it is said of {subject[0].raw}"
    for before, word, after in zip(laid.there, laid.there[1:], laid.there[2:], strict=False):
        alone = not before.content or before.key in kept
        bare = word.content and word.raw.islower() and alone and before.low not in ARTICLES | PRONOUNS
        if bare and word.key not in kept and after.content and after.key in kept:
            yield f"{word.raw} is left out"
        rate = before.content and word.low in ARTICLES | {"per"} and after.low in TIMES
        if rate and after.key not in kept:
            yield f"{word.raw} {after.raw} is left out"
    limits = _OPENING.match(text)  # "With the embedded store, …" says when the rest is so
    if limits and not kept & {word.key for word in words(limits[1]) if word.content}:
        yield f"{limits[0].rstrip(',')} is left out"
    for aside in _ASIDE.finditer(text):
        inside, after_it = ({w.key for w in words(t) if w.content} for t in (aside[1], text[aside.end() :]))
        of_whom = [word for word in words(text[: aside.start()]) if word.content][-1:]
        if of_whom and kept & inside and kept & after_it - inside and of_whom[0].key not in kept:
            yield f"it is said of {of_whom[0].raw}"


def _loosened(laid: Laid) -> Iterator[str]:
    """A verb lost between its words, a word that is no more "from" or "to", another that is now "before"."""
    kept, said, there = laid.kept, laid.said, laid.there
    for clause in laid.clauses:
        last = max((i for i, word in enumerate(clause) if word.content and word.key in kept), default=0)
        for before, word in pairwise(clause[:last]):
            lost = word.content and word.key not in kept and not word.number
            if lost and before.content and before.key in kept:
                yield f"{word.raw} is left out"
    for s in laid.shared:
        mine, theirs = _by_what(said, s.here), _by_what(there, s.there)
        if ("to" in mine - theirs) or (theirs - {"of"} and not mine and not there[s.there].number):
            yield f"{there[s.there].raw} is said otherwise"
    led = dict[str, set[str]]()
    for i, word in enumerate(there):
        led.setdefault(word.low, set()).update(_led(there, i))
    for i, word in enumerate(said):
        leads = word.low in (PLACING - FREE) | _CONDITIONS and word.low in led
        if leads and not {*_led(said, i)[:1]} <= led[word.low]:
            yield f"{word.raw} stands before something else"


def _by_what(text: Sequence[Token], at: int) -> set[str]:
    """The "to" or "from" that a word depends on, if any."""
    back = [text[i].low for i in range(at - 1, max(-1, at - 4), -1)]
    return {*back} & PLACING if placed(text, at) else set()


def _led(text: Sequence[Token], at: int) -> list[str]:
    """The content words after a place, up to the next mark."""
    end = next((i for i in range(at + 1, len(text)) if text[i].mark), len(text))
    return [word.key for word in text[at + 1 : end] if word.content]


def _counting(laid: Laid) -> Iterator[str]:
    """A number goes with what it counts."""
    mine, theirs = _counted(laid.said), _counted(laid.there)
    for number in mine.keys() & theirs.keys():
        if any(a != b and a and b for a, b in zip(mine[number], theirs[number], strict=True)):
            yield f"{number} counts something else"


def _counted(text: Sequence[Token]) -> dict[str, tuple[str, str]]:
    """For each number, the word after it and the one after that one's "of"."""
    found: dict[str, tuple[str, str]] = {}
    for i, (number, unit) in enumerate(pairwise(text)):
        if number.number and unit.content:
            rest = [word for word in text[i + 2 : i + 5] if word.low not in ARTICLES]
            of = len(rest) > 1 and rest[0].low == "of" and rest[1].content
            found[number.key] = (unit.key, rest[1].key if of else "")
    return found


def _turned(laid: Laid) -> Iterator[str]:
    """Who did it and who suffered it: they change places if, and only if, the voice changes."""
    said, there, shared = laid.said, laid.there, laid.shared
    voices = {s for s in shared if passive(said, s.here) != passive(there, s.there)}
    gained = {s for s in shared if by(said, s.here) and not by(there, s.there)}
    lost = {s for s in shared if by(there, s.there) and not by(said, s.here)}
    changed, moved, apart = voices | gained | lost, set[Shared](), _clauses_moved(laid)
    for one, other in combinations(shared, 2):
        kept_order = (one.here < other.here) == (one.there < other.there)
        if not kept_order and not _may_move(laid, one, other) and apart.get(one) == apart.get(other):
            moved |= {one, other}
        beside = one.there + 1 == other.there and one.there and there[one.there - 1].low in ARTICLES
        if beside and not changed and any(w.low in PLACING | BEING for w in said[one.here + 1 : other.here]):
            yield f"{there[one.there].raw} {there[other.there].raw}: is parted"
    if bool(moved) != bool(changed) or (gained and lost) or bool(voices & moved) != bool(changed):
        yield "who does it, and to whom, is turned around"


def _clauses_moved(laid: Laid) -> dict[Shared, tuple[int, int]]:
    """The clause of each word in statement and sentence where clauses moved as a whole; else nothing."""
    mine, theirs = _numbered(laid.said), _numbered(laid.there)
    found = {s: (mine[s.here], theirs[s.there]) for s in laid.shared}
    whole = len({*found.values()}) == len({clause for clause, _ in found.values()})
    return found if whole else {}


def _numbered(text: Sequence[Token]) -> list[int]:
    found, clause = list[int](), 0
    for word in text:
        clause += word.mark or word.low in _CONDITIONS
        found.append(clause)
    return found


def _may_move(laid: Laid, one: Shared, other: Shared) -> bool:
    """Circumstances may stand anywhere, and "the keeper of the light" may be the light's keeper."""
    said, there = laid.said, laid.there
    for word, beside in ((one, other), (other, one)):
        at = word.here
        owner = any("'s" in w.raw for w in said[at : at + 2] if w.content)
        free = placed(said, at) or timed(said, at) or owner or said[at].number
        joined = beside.here == at + 1 and there[word.there - 1].low in ARTICLES | {"of"}
        if (free or joined) and (placed(there, word.there) or timed(there, word.there)):
            return True
    return False


__all__ = ["Cited", "Judged", "judge", "objections"]

_JOINT = re.compile(r"\s*[;,:—–]\s*(?:and|but|while)?\s+|\s+(?:and|but|while)\s+")


@dataclass(frozen=True, slots=True)
class Judged:
    """What speaks against a claim, and its sentences as they were read: with their context, if need be."""

    against: tuple[str, ...]
    texts: tuple[str, ...]


def objections(said: str, cited: Sequence[Cited], *, given: str = "") -> tuple[str, ...]:
    """What speaks against a claim, given the sentences it rests on; nothing if it holds."""
    return judge(said, cited, given=given).against


def judge(said: str, cited: Sequence[Cited], *, given: str = "") -> Judged:
    """Holds a claim against the sentences it rests on. `given` is the question: it may tell who is meant."""
    texts = [one.text for one in cited]
    quoted = {_plain(text[part.start : part.end]) for text in texts for part in sentences(text)}
    quoted |= {_plain(text) for text in texts}
    small = common(language(" ".join(texts))) - GRAVE.keys()
    carriers = [
        replace(c, text=_without(small, c.text), before=_without(small, c.before))
        for c in (*cited, *lists(cited))
    ]
    read, named = dict[Cited, str](), words(" . ".join((given, *texts)))
    for part in sentences(said):
        sentence = said[part.start : part.end]
        if _plain(sentence) not in quoted:
            wrong, found = _unsaid(_without(small, sentence), carriers, named)
            if wrong:
                return Judged((wrong,), tuple(texts))
            read |= found
    as_read = (read.get(c, one.text) for c, one in zip(carriers, cited, strict=False))
    return Judged((), (*as_read, *(text for c, text in read.items() if c in carriers[len(cited) :])))


def _plain(text: str) -> str:
    return " ".join(w.low for w in words(text) if not w.mark)


def _without(small: frozenset[str], text: str) -> str:
    return re.sub(r"\w+", lambda w: "" if w[0].casefold() in small else w[0], text) if small else text


def _unsaid(sentence: str, cited: Sequence[Cited], given: Sequence[Token]) -> tuple[str, dict[Cited, str]]:
    """What speaks against a sentence. One cited sentence has to carry it, or one each of its statements.

    If nothing does: the sentences that carry it, as they were read.
    """
    first, read = _carried(sentence, cited, given)
    if not first:
        return "", read
    for joint in _JOINT.finditer(sentence) if len(cited) > 1 else ():
        before, after = sentence[: joint.start()], sentence[joint.end() :]
        if not states(words(before)) or (_own_subject(after) and not states(words(after))):
            continue  # a bare name is in many a sentence
        wrong, read = _carried(before, cited, given)
        carrier = next(iter(read), None)
        rest = [one for one in cited if one != carrier]
        if not _own_subject(after):  # "… and wrote": the sentence after has to say it of the same one
            rest = [one for one in rest if _goes_on(one, carrier)]
        if not wrong and rest:
            wrong, more = _carried(after, rest, given)
            if not wrong:
                return "", read | more
    return first, {}


def _own_subject(text: str) -> bool:
    first = next(iter(words(text)), None)
    return first is not None and (
        first.low in ARTICLES | PRONOUNS | GRAVE.keys() or first.number or first.raw[0].isupper()
    )


def _goes_on(one: Cited, carrier: Cited | None) -> bool:
    begins = words(one.text)[:1]
    return carrier is not None and one.before == carrier.text and bool(begins) and begins[0].low in PRONOUNS


def _carried(said: str, cited: Sequence[Cited], given: Sequence[Token]) -> tuple[str, dict[Cited, str]]:
    """The sentence that carries a statement, as it was read; or what the nearest one has against it."""
    mine, nearest, worst = words(said), -1, "it names no sentence"
    for one in cited:
        before, headings, topic = words(one.before), words(one.headings), topic_of(one)
        bare = without_setting(mine, headings, given)
        forms = [mine, bare] if len(bare) < len(mine) else [mine]
        held = list[str]()
        for text in readings(mine, one, given):
            against = [
                next(faults(form, text, before=before, headings=headings, topic=topic), "") for form in forms
            ]
            if not all(against):
                held.append(text)
            elif (shared := len({w.key for w in mine} & {w.key for w in words(text)})) > nearest:
                nearest, worst = shared, against[0]
        if held:
            text = min(held, key=lambda text: _missing(mine, text))
            if _missing(mine, text)[0]:  # a heading told who or where
                text = f"{text.rstrip('.')}, {one.headings}"
            return "", {one: text}
    return worst, {}


def _missing(said: Sequence[Token], text: str) -> tuple[int, int]:
    """How many words of a statement a text does not have: those that say something, and all of them."""
    there = words(text)
    gone = [word for word in said if not known(word, there)]
    return sum(word.content for word in gone), len(gone)
