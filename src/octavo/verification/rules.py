"""The rules that a paraphrase has to keep to: what one sentence of a book has against a statement.

Each rule yields what it objects to. The docstrings give examples that a test runs: "Wrong" shows a statement,
the sentence it should rest on and the objection; "Right" a statement and a sentence that no rule objects to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from octavo.verification.lexemes import (
    ARTICLES,
    BEING,
    CONDITIONS,
    CONTRASTS,
    FREE,
    LINKS,
    PREPOSITIONS,
    PRONOUNS,
    TIMES,
    Lexeme,
    find_decisive,
    is_agent,
    is_among,
    is_circumstance,
    is_passive,
    is_repeated_time,
    read_lexemes,
)

NEW_WORD = ": not in the sentences"
"""How an objection to a new word ends."""
_PART = re.compile(r"[,:](?!\d)|[;—–()]|\b(?:but|while|because|although|and(?!\s+\w+\s*(?:[.,;]|$)))\b")
_BRACKETS = re.compile(r"\(([^()]*)\)")
_OPENING = re.compile(r"\s*(?:With|Without|Under|For|Except)\b([^,;]*),")
_ASIDE = re.compile(r",\s*(?:which|who|whom|whose|where)\b([^,;.]*)")
# In a statement of so few words, their order tells who does what.
_FEW = 5
# Decisive words that a statement may not lose, and that it may not gain.
_LOST = frozenset(
    {
        *("if", "unless", "except", "whether", "may", "might", "could", "some", "few", "little", "not"),
        *("rarely", "seldom", "hardly", "scarcely", "barely", "almost", "nearly", "likely", "probably"),
        *("usually", "sometimes"),
    }
)
_GAINED = frozenset({"if", "unless", "except", "some", "not", "all", "only", "every"})
_NARROW = frozenset({"not", "only", "few", "little", "if", "when", "hardly", "rarely", "seldom"})


@dataclass(frozen=True, slots=True)
class SharedWord:
    """A word that statement and sentence share: its place in each."""

    here: int
    there: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A statement beside a sentence: the words they share, and those that only the statement has.

    `kept` are the keys of the sentence's words that the statement shares. `clauses` are those of the sentence
    that it uses; of the others, what is a condition of all. `before` is the sentence before, where that is
    cited too. It and the `topic` may tell who "it" is, the `headings` where it was.
    """

    said: Sequence[Lexeme]
    text: str
    there: Sequence[Lexeme]
    shared: Sequence[SharedWord]
    alone: Sequence[int]
    kept: set[str]
    clauses: Sequence[Sequence[Lexeme]]
    before: Sequence[Lexeme] = ()
    headings: Sequence[Lexeme] = ()
    topic: Sequence[Lexeme] = ()


Rule = Callable[[Comparison], Iterator[str]]


def find_faults(
    said: Sequence[Lexeme],
    text: str,
    *,
    before: Sequence[Lexeme] = (),
    headings: Sequence[Lexeme] = (),
    topic: Sequence[Lexeme] = (),
) -> Iterator[str]:
    """Yield everything that speaks against a statement that is to rest on a sentence."""
    compared = _compare(said, text, before=before, headings=headings, topic=topic)
    for rule in RULES:
        yield from rule(compared)


def count_faults(said: Sequence[Lexeme], text: str) -> dict[str, int]:
    """Count the objections of each rule to a statement that is to rest on a text, by the rule's name.

    `new` and `shared` count the statement's words that the text does not have, and has.
    """
    compared = _compare(said, text)
    found = {rule.__name__.removeprefix("find_"): sum(1 for _ in rule(compared)) for rule in RULES}
    return found | {"new": len(compared.alone), "shared": len(compared.shared)}


def may_overrule(said: str, text: str) -> bool:
    """Say whether a judge by meaning may let a statement through that the rules object to.

    Not where all its words are the text's own, and either there are only a few of them, so that their order
    tells everything, or a condition, a hedge, a limit or a denial is lost or gained.
    """
    compared = _compare(read_lexemes(said), text)
    if compared.alone:
        return True
    if sum(word.content for word in compared.said) <= _FEW:
        return False
    mine = find_decisive(compared.said)
    theirs = [word for clause in compared.clauses for word in find_decisive(clause)]
    changed = ({*theirs} - {*mine}) & _LOST | ({*mine} - {*theirs}) & _GAINED
    return not changed and mine.count("not") == theirs.count("not")


def _compare(
    said: Sequence[Lexeme],
    text: str,
    *,
    before: Sequence[Lexeme] = (),
    headings: Sequence[Lexeme] = (),
    topic: Sequence[Lexeme] = (),
) -> Comparison:
    there = read_lexemes(text)
    shared, alone = _share_words(said, there)
    kept = {there[s.there].key for s in shared}
    clauses = _find_used_clauses(text, kept)
    return Comparison(said, text, there, shared, alone, kept, clauses, before, headings, topic)


def _share_words(said: Sequence[Lexeme], there: Sequence[Lexeme]) -> tuple[list[SharedWord], list[int]]:
    """Pair the words of a statement with those of a sentence; return also the places that have no pair."""
    free = [j for j, word in enumerate(there) if word.content]
    shared, alone = list[SharedWord](), list[int]()
    for i, word in enumerate(said):
        if not word.content:
            continue
        same = [j for j in free if there[j].key == word.key]
        same = same or [j for j in free if is_among(word, [there[j]])]
        if same:
            shared.append(SharedWord(i, same[0]))
            free.remove(same[0])
        elif not is_among(word, [there[s.there] for s in shared]):
            alone.append(i)
    return shared, alone


def _find_used_clauses(text: str, kept: set[str]) -> list[Sequence[Lexeme]]:
    """Return the clauses that share a word with the statement; of the others, their conditions."""
    main, inside = _BRACKETS.sub(" ", text), (bracket[1] for bracket in _BRACKETS.finditer(text))
    clauses = [read_lexemes(part) for part in (*_PART.split(main), *inside)]
    used = list[Sequence[Lexeme]]()
    for clause in clauses:
        conditions = [word for word in clause if word.low in CONDITIONS]
        if clause:
            used.append(clause if any(w.content and w.key in kept for w in clause) else conditions)
    return used


def find_new_words(compared: Comparison) -> Iterator[str]:
    """Object to words from elsewhere.

    A heading may say where it was, and it or the sentence before who "he" is.

    Wrong: The beam was seen in Zanzibar. | The beam was seen. | Zanzibar: not in the sentences
    Right: The ships were counted by the master at dawn. | The master counted the ships at dawn.
    """
    said, before = compared.said, compared.before
    named = {word.key for i, word in enumerate(before) if not is_circumstance(before, i)}
    named |= {word.key for word in compared.topic}
    for at in compared.alone:
        where = is_among(said[at], compared.headings) and is_circumstance(said, at)
        meant = said[at].key in named and _replaces_pronoun(compared, at)
        if not where and not meant:
            yield f"{said[at].raw}{NEW_WORD}"


def find_new_small_words(compared: Comparison) -> Iterator[str]:
    """Object to prepositions, pronouns and links that the sentence does not have.

    "It was the master who" is only another order of words, and one contrast is as good as another.

    Wrong: The pier fell because rain fell. | The pier fell, rain fell. | because: not in the sentences
    Right: The pier fell, but the tower stood. | The pier fell although the tower stood.
    """
    said, there = compared.said, {word.low for word in compared.there}
    if len(said) > 1 and said[0].low == "it" and said[1].low in BEING:
        there |= {"it"}
    if there & CONTRASTS:
        there |= CONTRASTS
    for word in said:
        if word.low in (PREPOSITIONS - FREE) | PRONOUNS | LINKS and word.low not in there:
            yield f"{word.raw}{NEW_WORD}"


def _replaces_pronoun(compared: Comparison, at: int) -> bool:
    """Say whether a word stands where the sentence has "it" or "his": after or before the same word."""
    said, there, first, last = compared.said, compared.there, at, at
    inside = {*compared.alone, *(i for i, word in enumerate(said) if word.low in ARTICLES | {"of"})}
    while first - 1 in inside:
        first -= 1
    while last + 1 in compared.alone or (last + 2 in compared.alone and last + 1 in inside):
        last += 1
    before, after = said[first - 1 : first], said[last + 1 : last + 2]
    return any(
        (before and j and before[0].key == there[j - 1].key)
        or (after and j + 1 < len(there) and after[0].key == there[j + 1].key)
        for j, word in enumerate(there)
        if word.low in PRONOUNS and not any(w.low == "own" for w in there[j + 1 : j + 2])
    )


def find_nothing_shared(compared: Comparison) -> Iterator[str]:
    """Object to a statement that has no word of the sentence.

    Wrong: Whales sleep. | The pier fell. | the sentences do not say so
    """
    if not compared.shared:
        yield "the sentences do not say so"


def find_decisive_changes(compared: Comparison) -> Iterator[str]:
    """Object to a "not", "some", "may" or "if" that is lost or gained.

    "All" and "only" may be lost: that says less.

    Wrong: The index keeps the vector. | The index may keep the vector. | the sentences say 'may'
    Wrong: Some boats were lost. | Boats were lost. | the sentences do not say 'some'
    Wrong: The frost did not reach the pier. | The frost reached the pier. | negation differs
    Right: Captains paid the master. | All captains paid the master.
    """
    mine = find_decisive(compared.said)
    theirs = [word for clause in compared.clauses for word in find_decisive(clause)]
    for word in sorted({*mine} - {*theirs}):
        yield f"the sentences do not say {word!r}"
    for word in sorted({*theirs} - {*mine} - {"all", "only"}):
        yield f"the sentences say {word!r}"
    if mine.count("not") != theirs.count("not"):
        yield "negation differs"


def find_lost_parts(compared: Comparison) -> Iterator[str]:
    """Object to what is left out of a clause although the rest depends on it."""
    for clause in compared.clauses:
        yield from _find_lost_limit(compared, clause)
        yield from _find_lost_subject(compared, clause)


def _find_lost_limit(compared: Comparison, clause: Sequence[Lexeme]) -> Iterator[str]:
    """Object where something is rare, denied or only so, and a word of it is left out.

    Wrong: Frost did not reach the pier. | Frost did not reach the northern pier. | northern is left out
    """
    gone = [word.raw for word in clause if word.content and word.key not in compared.kept]
    if gone and {*find_decisive(clause)} & {*find_decisive(compared.said)} & _NARROW:
        yield f"{gone[0]} is left out"


def _find_lost_subject(compared: Comparison, clause: Sequence[Lexeme]) -> Iterator[str]:
    """Object where the one of whom it is said is left out; a title ("Captain" Marlow) may be.

    Wrong: Counted the ships. | The master counted the ships. | it is said of master
    Right: Marlow blamed the master. | Captain Marlow blamed the master.
    """
    content = [word for word in clause if word.content]
    acting = [word for i, word in enumerate(clause) if word.content and not is_circumstance(clause, i)]
    if not acting or acting[0].key in compared.kept or acting[0].raw[0].isupper():
        return
    said = compared.said
    suffered = {word.key for i, word in enumerate(said) if word.content and is_passive(said, i)}
    if not suffered & {word.key for word in content}:
        yield f"it is said of {acting[0].raw}"


def find_lost_details(compared: Comparison) -> Iterator[str]:
    """Object to a word left out of the middle: an attribute, or the time of a rate."""
    for three in zip(compared.there, compared.there[1:], compared.there[2:], strict=False):
        yield from _find_lost_attribute(compared, *three)
        yield from _find_lost_rate(compared, *three)


def _find_lost_attribute(compared: Comparison, before: Lexeme, word: Lexeme, after: Lexeme) -> Iterator[str]:
    """Object where "idle" connections become connections.

    Wrong: The server closes connections. | The server closes idle connections. | idle is left out
    """
    kept = compared.kept
    begins = (not before.content or before.key in kept) and before.low not in ARTICLES | PRONOUNS
    lost = word.content and word.raw.islower() and word.key not in kept
    if begins and lost and after.content and after.key in kept:
        yield f"{word.raw} is left out"


def _find_lost_rate(compared: Comparison, before: Lexeme, word: Lexeme, after: Lexeme) -> Iterator[str]:
    """Object where "ten letters a day" become ten letters.

    Wrong: The clerk sorts ten letters. | The clerk sorts ten letters a day. | a day is left out
    """
    rate = before.content and word.low in ARTICLES | {"per"} and after.low in TIMES
    if rate and after.key not in compared.kept:
        yield f"{word.raw} {after.raw} is left out"


def find_lost_opening(compared: Comparison) -> Iterator[str]:
    """Object where an opening that says when the rest is so is left out.

    Wrong: Ships wait. | Without a pilot, ships wait. | Without a pilot is left out
    """
    limits = _OPENING.match(compared.text)
    if limits and not compared.kept & _find_keys(limits[1]):
        yield f"{limits[0].rstrip(',')} is left out"


def find_lost_antecedent(compared: Comparison) -> Iterator[str]:
    """Object where a relative clause is told without the one it is about.

    Wrong: Tolland made forty pounds. | The bees, which Tolland kept, made forty pounds. | it is said of bees
    """
    kept, text = compared.kept, compared.text
    for aside in _ASIDE.finditer(text):
        inside, after = _find_keys(aside[1]), _find_keys(text[aside.end() :])
        about = [word for word in read_lexemes(text[: aside.start()]) if word.content][-1:]
        if about and kept & inside and kept & after - inside and about[0].key not in kept:
            yield f"it is said of {about[0].raw}"


def _find_keys(text: str) -> set[str]:
    return {word.key for word in read_lexemes(text) if word.content}


def find_lost_verbs(compared: Comparison) -> Iterator[str]:
    """Object to a word lost between two that are kept: most often a verb.

    Wrong: The keeper the lamp. | The keeper trimmed the lamp. | trimmed is left out
    """
    kept = compared.kept
    for clause in compared.clauses:
        last = max((i for i, word in enumerate(clause) if word.content and word.key in kept), default=0)
        for before, word in pairwise(clause[:last]):
            lost = word.content and word.key not in kept and not word.number
            if lost and before.content and before.key in kept:
                yield f"{word.raw} is left out"


def find_changed_roles(compared: Comparison) -> Iterator[str]:
    """Object where a word is no longer "from" something, or is "to" it now.

    Wrong: The server sends the client. | The server sends to the client. | client is said otherwise
    """
    said, there = compared.said, compared.there
    for s in compared.shared:
        mine, theirs = _find_prepositions(said, s.here), _find_prepositions(there, s.there)
        if ("to" in mine - theirs) or (theirs - {"of"} and not mine and not there[s.there].number):
            yield f"{there[s.there].raw} is said otherwise"


def _find_prepositions(text: Sequence[Lexeme], at: int) -> set[str]:
    """Return the "to" or "from" that a word depends on, if any."""
    back = [text[i].low for i in range(at - 1, max(-1, at - 4), -1)]
    return {*back} & PREPOSITIONS if is_circumstance(text, at) else set()


def find_moved_prepositions(compared: Comparison) -> Iterator[str]:
    """Object where "before" or "if" stands before something else.

    Wrong: The storm came before supper. | Supper came before the storm. | before stands before something else
    """
    led = dict[str, set[str]]()
    for i, word in enumerate(compared.there):
        led.setdefault(word.low, set()).update(_find_led(compared.there, i))
    for i, word in enumerate(compared.said):
        leads = word.low in (PREPOSITIONS - FREE) | CONDITIONS and word.low in led
        if leads and not {*_find_led(compared.said, i)[:1]} <= led[word.low]:
            yield f"{word.raw} stands before something else"


def _find_led(text: Sequence[Lexeme], at: int) -> list[str]:
    """Return the content words after a place, up to the next mark."""
    end = next((i for i in range(at + 1, len(text)) if text[i].mark), len(text))
    return [word.key for word in text[at + 1 : end] if word.content]


def find_miscounts(compared: Comparison) -> Iterator[str]:
    """Object where a number counts something else.

    Wrong: Seven nets were lost. | Seven boats were lost with all their nets. | 7 counts something else
    """
    mine, theirs = _find_counted(compared.said), _find_counted(compared.there)
    for number in (number for number in mine if number in theirs):
        if any(a != b and a and b for a, b in zip(mine[number], theirs[number], strict=True)):
            yield f"{number} counts something else"


def _find_counted(text: Sequence[Lexeme]) -> dict[str, tuple[str, str]]:
    """Return for each number the word after it, and the one after that one's "of"."""
    found: dict[str, tuple[str, str]] = {}
    for i, (number, unit) in enumerate(pairwise(text)):
        if number.number and unit.content:
            rest = [word for word in text[i + 2 : i + 5] if word.low not in ARTICLES]
            of = len(rest) > 1 and rest[0].low == "of" and rest[1].content
            found[number.key] = (unit.key, rest[1].key if of else "")
    return found


def find_turned_roles(compared: Comparison) -> Iterator[str]:
    """Object where who acts and who suffers change places without a change of voice, or the other way.

    Wrong: The boy saw Ann. | Ann saw the boy. | who does it, and to whom, is turned around
    Right: The tower was built by Grey. | Grey built the tower.
    """
    said, there, shared = compared.said, compared.there, compared.shared
    voices = {s for s in shared if is_passive(said, s.here) != is_passive(there, s.there)}
    gained = {s for s in shared if is_agent(said, s.here) and not is_agent(there, s.there)}
    lost = {s for s in shared if is_agent(there, s.there) and not is_agent(said, s.here)}
    changed = voices | gained | lost
    if not changed:
        yield from _find_parted(compared)
    moved = _find_moved(compared)
    if bool(moved) != bool(changed) or (gained and lost) or bool(voices & moved) != bool(changed):
        yield "who does it, and to whom, is turned around"


def _find_parted(compared: Comparison) -> Iterator[str]:
    """Object where two words of one name are parted by "in" or "is".

    Wrong: The harbour is in the master. | The harbour master is in. | harbour master: is parted
    """
    said, there = compared.said, compared.there
    for one, other in combinations(compared.shared, 2):
        beside = one.there + 1 == other.there and one.there and there[one.there - 1].low in ARTICLES
        between = said[one.here + 1 : other.here]
        if beside and any(word.low in PREPOSITIONS | BEING for word in between):
            yield f"{there[one.there].raw} {there[other.there].raw}: is parted"


def _find_moved(compared: Comparison) -> set[SharedWord]:
    """Return the words that stand in another order than in the sentence, where they may not."""
    moved, clauses = set[SharedWord](), _find_moved_clauses(compared)
    for one, other in combinations(compared.shared, 2):
        kept_order = (one.here < other.here) == (one.there < other.there)
        together = clauses.get(one) == clauses.get(other)
        if not kept_order and together and not _may_move(compared, one, other):
            moved |= {one, other}
    return moved


def _find_moved_clauses(compared: Comparison) -> dict[SharedWord, tuple[int, int]]:
    """Return the clause of each word in statement and sentence if clauses moved as a whole; else nothing."""
    mine, theirs = _number_clauses(compared.said), _number_clauses(compared.there)
    found = {s: (mine[s.here], theirs[s.there]) for s in compared.shared}
    whole = len({*found.values()}) == len({clause for clause, _ in found.values()})
    return found if whole else {}


def _number_clauses(text: Sequence[Lexeme]) -> list[int]:
    found, clause = list[int](), 0
    for word in text:
        clause += word.mark or word.low in CONDITIONS
        found.append(clause)
    return found


def _may_move(compared: Comparison, one: SharedWord, other: SharedWord) -> bool:
    """Say whether two words may change places.

    Circumstances may stand anywhere, and "the keeper of the light" may be the light's keeper.

    Right: At dawn, the master counted the ships. | The master counted the ships at dawn.
    """
    said, there = compared.said, compared.there
    for word, beside in ((one, other), (other, one)):
        at = word.here
        owner = any("'s" in w.raw for w in said[at : at + 2] if w.content)
        free = is_circumstance(said, at) or is_repeated_time(said, at) or owner or said[at].number
        joined = beside.here == at + 1 and there[word.there - 1].low in ARTICLES | {"of"}
        if (free or joined) and (is_circumstance(there, word.there) or is_repeated_time(there, word.there)):
            return True
    return False


RULES: tuple[Rule, ...] = (
    find_new_words,
    find_new_small_words,
    find_nothing_shared,
    find_decisive_changes,
    find_lost_parts,
    find_lost_details,
    find_lost_opening,
    find_lost_antecedent,
    find_lost_verbs,
    find_changed_roles,
    find_moved_prepositions,
    find_miscounts,
    find_turned_roles,
)
"""In the order in which objections are told: the first one is what the reader sees."""
