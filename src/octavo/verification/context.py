"""Write out the context of a cited sentence: what leads into a list, who "it" is, which "child" is meant.

On the page a sentence leans on what stands around it, and a claim that stands alone has to say it.
`write_readings` gives the sentence as it is and with such things put in; each reading is then judged by the
rules for the sentence itself. Only the page lends words. "It" is the one that the sentence before is about,
or its heading, and the question or something that is cited has to name it too. "The child" is the child
process where the passage spoke of one before. The question alone lends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from octavo.verification.lexemes import ARTICLES, PRONOUNS, Lexeme, is_among, is_circumstance, read_lexemes

_KINDS = tuple(
    frozenset(kind.split())
    for kind in ("it its this", "he his him", "she her hers", "they their theirs them these those")
)
_OWNING = frozenset({"its", "his", "her", "their"})
_CHOICE = re.compile(r"\b(?:one|any|either|some|or)\b", re.IGNORECASE)
_NOBODY = re.compile(
    r"(?:Nobody|No one) (\w+) ((?:(?:the|an?|its|his|her|their) |[A-Z])[^,;:]+?)"
    r"((?: (?:before|after|until|in|on|at)\b[^,;:]*)?)\.?"
)
_SETTING = frozenset({"of", "in", "for", "on"})
# How many runs of missing words are written out at most.
_MOST_RUNS = 3


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence that a claim rests on, and what stands around it.

    `before` is the sentence just before it, where that is cited too: it tells who "he" is. `earlier` are the
    sentences before it in its paragraph, the nearest first, cited or not. `lead` is the line over a list that
    it is an item of, and `words` are then its own, without the mark before the item. The `headings` over it
    may tell who or where, and the last of them is its `topic`. `passage` are the sentences before it in its
    passage, in any paragraph, the nearest first.
    """

    text: str
    words: str = ""
    before: str = ""
    headings: str = ""
    earlier: tuple[str, ...] = ()
    lead: str = ""
    topic: str = ""
    passage: tuple[str, ...] = ()


def join_lists(cited: Sequence[CitedSentence]) -> list[CitedSentence]:
    """Join the items of one list that are cited together into the one sentence that they are."""
    found = list[CitedSentence]()
    for lead, group in groupby(cited, key=lambda one: one.lead):
        items = [one.words.rstrip(".;, ") for one in group]
        if lead and len(items) > 1 and not _CHOICE.search(lead):
            found.append(CitedSentence(f"{_strip_colon(lead)} {', '.join(items[:-1])} and {items[-1]}."))
    return found


def write_readings(said: Sequence[Lexeme], one: CitedSentence, given: Sequence[Lexeme]) -> Iterator[str]:
    """Yield the sentence as it is, and with its context written out as far as the statement needs it.

    `given` are the words that may tell which of the page's names is meant: the question's, and what is cited.
    """
    yield one.text
    if nobody := _NOBODY.fullmatch(one.text):
        yield f"{nobody[2]} was not {nobody[1]}{nobody[3]}"
    text = one.text
    if one.lead and not _CHOICE.search(one.lead):
        text = f"{_strip_colon(one.lead)} {one.words}"
        yield text
    full = text
    for run in _find_missing(said, read_lexemes(text))[:_MOST_RUNS]:
        fuller = next(_insert(full, run, one, given), full)
        if fuller != full:
            yield fuller
            full = fuller
        yield from _insert(text, run, one, given)


def drop_setting(
    said: Sequence[Lexeme], headings: Sequence[Lexeme], given: Sequence[Lexeme]
) -> Sequence[Lexeme]:
    """Drop "of the sections in an EPUB" at the end of a statement, where headings and question say that."""
    end = len(said)
    for at in range(len(said) - 1, 0, -1):
        word = said[at]
        if word.low in _SETTING:
            end = at if any(w.content for w in said[at:end]) else end
        elif word.low not in ARTICLES and not (is_among(word, headings) and is_among(word, given)):
            break
    return said[:end]


def _strip_colon(line: str) -> str:
    return line.rstrip(": ")


@dataclass(frozen=True, slots=True)
class MissingWords:
    """Words of a statement that its sentence does not have, and the words beside them."""

    words: tuple[Lexeme, ...]
    article: bool
    before: Lexeme | None
    after: Lexeme | None

    @property
    def content(self) -> list[Lexeme]:
        return [word for word in self.words if word.content]

    @property
    def text(self) -> str:
        return ("the " if self.article else "") + " ".join(word.raw for word in self.words)


def _find_missing(said: Sequence[Lexeme], there: Sequence[Lexeme]) -> list[MissingWords]:
    found, at = list[MissingWords](), 0
    alone = [word.content and not is_among(word, there) for word in said]
    while at < len(said):
        if not alone[at]:
            at += 1
            continue
        end = at + 1
        while any(alone[end : end + 3]) and all(
            alone[i] or said[i].low in ARTICLES | {"of"} for i in range(end, alone.index(True, end) + 1)
        ):
            end = alone.index(True, end) + 1
        article = at > 0 and said[at - 1].low in ARTICLES
        first = at - 1 - article
        before = said[first] if first >= 0 else None
        found.append(
            MissingWords(tuple(said[at:end]), article, before, said[end] if end < len(said) else None)
        )
        at = end
    return found


def _insert(text: str, run: MissingWords, one: CitedSentence, given: Sequence[Lexeme]) -> Iterator[str]:
    """Yield the text with the missing words, where the page has them and they only say who is meant."""
    if not run.content:
        return
    yield from _replace_pronouns(text, run, one, given)
    yield from _write_in_full(text, run, one, given)


def _replace_pronouns(
    text: str, run: MissingWords, one: CitedSentence, given: Sequence[Lexeme]
) -> Iterator[str]:
    topic = find_topic(one)
    asked = {word.key for word in (*given, *topic)}
    needed = {word.key for word in run.content}
    for pronoun in _find_pronouns(text):
        kind = next((kind for kind in _KINDS if pronoun in kind), frozenset[str]())
        names = (*_find_antecedents(kind, one), topic) if kind else ()
        if needed <= asked and any(needed <= {word.key for word in name} for name in names):
            owner = "'s" if pronoun in _OWNING and not run.words[-1].raw.endswith("'s") else ""
            yield re.sub(rf"\b{pronoun}\b", run.text + owner, text, count=1, flags=re.IGNORECASE)


def _find_pronouns(text: str) -> list[str]:
    """Return the pronouns of a text, each once; "his own" has its owner in the same sentence."""
    there = read_lexemes(text)
    owned = {i for i, word in enumerate(there[1:]) if word.low == "own"}
    return list(dict.fromkeys(w.low for i, w in enumerate(there) if w.low in PRONOUNS and i not in owned))


def find_topic(one: CitedSentence) -> Sequence[Lexeme]:
    """Return what the heading is about; later in a paragraph, only if that has spoken of it too."""
    topic = read_lexemes(one.topic or one.headings)
    keys = {word.key for text in one.earlier for word in read_lexemes(text)}
    return topic if not one.earlier or any(w.content and w.key in keys for w in topic) else ()


def _find_antecedents(kind: frozenset[str], one: CitedSentence) -> Iterator[Sequence[Lexeme]]:
    """Yield whom the sentence before is about; where it says "it" as well, also the one before that."""
    for text in one.earlier:
        there = read_lexemes(text)
        subject = _find_subject(there)
        if subject:
            yield subject
        if not any(word.low in kind for word in there):
            return


def _find_subject(there: Sequence[Lexeme]) -> list[Lexeme]:
    """Return the first words of a sentence that name someone; nothing where that is a pronoun."""
    found = list[Lexeme]()
    for i, word in enumerate(there):
        if word.content and not (is_circumstance(there, i) and not found):
            if found and word.raw[0].isupper() and found[-1].raw[0].islower():
                return found
            found.append(word)
        elif found or word.low in PRONOUNS:
            return found
    return found


def _write_in_full(
    text: str, run: MissingWords, one: CitedSentence, given: Sequence[Lexeme]
) -> Iterator[str]:
    """Write "the child" as the child process that the passage spoke of, "the male" as that of the heading."""
    keys, there = [word.key for word in run.content], read_lexemes(text)
    for beside, first in ((run.before, False), (run.after, True)):
        short = [w for w, b in zip(there[1:], there, strict=False) if beside and b.low == "the"]
        same = next((w for w in short if beside and beside.content and w.key == beside.key), None)
        if same is None or beside is None or not all(word.content for word in run.words):
            continue
        whole = [*keys, beside.key] if first else [beside.key, *keys]
        said_so = any(
            _has_keys(read_lexemes(line), whole) for line in (*one.passage, *one.headings.split(" . "))
        )
        topic = [word.key for word in read_lexemes(one.topic) if word.content]
        headed = not first and keys == topic[-len(keys) :]
        if (said_so or headed) and all(is_among(word, given) for word in run.content):
            name = " ".join(word.raw for word in run.words)
            full = f"{name} {same.raw}" if first else f"{same.raw} {name}"
            yield re.sub(rf"\b(the)\s+{re.escape(same.raw)}\b", rf"\1 {full}", text, count=1, flags=re.I)


def _has_keys(there: Sequence[Lexeme], keys: Sequence[str]) -> bool:
    listed = [word.key for word in there]
    return any(listed[i : i + len(keys)] == [*keys] for i in range(len(listed) - len(keys) + 1))
