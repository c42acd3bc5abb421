"""Find what a text defines: glossary entries, "an X is …", "… called X", abbreviations, other names, code.

Each finding is marked where it stands. How often a term occurs decides later whether it is one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from octavo.text.bookmap.blocks import Blocks
from octavo.text.bookmap.marks import Definition, How, OtherName, Run, Stretch
from octavo.text.english import list_words, measure_rarity, stem
from octavo.types import ElementKind

if TYPE_CHECKING:
    from octavo.text.blocks import Block
    from octavo.types import Span

TERM_WORDS = 4
# A list of fewer entries than this is not taken for a glossary.
GLOSSARY_LEAST = 3
INDEX_LEAST = 5
_TERM = r"[^\W_][\w./+’'-]*(?: [^\W_][\w./+’'-]*){0,3}?"
_IS = re.compile(
    rf"(?:(?:An?|The|Each|Every|a|an|the) )?[“\"‘]?(?P<term>{_TERM})[”\"’]?(?: \([^)]{{1,40}}\))? "
    r"(?:(?:is|are)(?: (?:simply|usually|basically|therefore|also|thus|defined as|short for))? "
    r"(?:an?|the|any|one|those|that|what)\b|(?:is|are) (?:used|designed|intended|responsible|made up)\b|"
    r"means?\b|refers? to\b|denotes?\b|consists? of\b|comprises?\b)"
)
_CALLED = re.compile(
    r"\b(?:called|known as|referred to as|termed)(?: (?:an?|the))? "
    rf"(?!(?:out|aloud|along|on|upon|up|after|back|for|so)\b)[“\"‘]?(?P<term>{_TERM})"
    r"(?=[”\"’.,;:!?)]| (?:and|or|which|that|is|are|was|were|in|on|for|with|by|to|at|from|because|since)\b)"
)
_HEAD = re.compile(r"[^\W_][^.,;:!?|]{0,58}[^\s.,;:!?|]")
_SAID = re.compile(r"[“\"(]?[^\W\d_a-z].{25,}[.”\"]$")
_PAIR = re.compile(
    r"(?:[-*•] |\| ?)?(?P<term>-{0,2}[^\W_](?:[^.;:!?|—–]|\.(?=\w)){1,48}?)"
    r"(?: \| |: | — | – )(?P<said>[^|].{19,}$)"
)
# The name of a setting or an option, in the first column of a table.
_NAMES_CODE = re.compile(r"-{0,2}[A-Za-z]\w{0,40}(?:[_.:/-]\w{1,40}){1,8}|--?[A-Za-z]\w{0,40}")
# What a term that is explained takes stands after it: "shift [n]", "cd DIR", "printf(format, …)".
_TAKES = re.compile(r"[\[<({=,;|“”‘’\"`…]|: | [–—] | (?=[A-Z_]{2,}\b)")
# An entry as dictionaries have it: "GAM. Noun—A social meeting of ships".
_DICTIONARY = re.compile(
    r"^[“\"]?(?P<term>[^\W\d_][\w’'-]{1,30}(?: [\w’'-]{1,30}){0,2})[”\"]?[.,:;—–-]{1,2} ?[(\[_]?"
    r"(?:(?i:noun|verb|adjective|adverb)|n|v\. ?[it]|v|adj|adv)\b[.)\]_]*"
    r"(?: ?[.,:;—–-]+ ?| )(?P<said>\S.{19,})",
    re.MULTILINE,
)
_INDEXED = re.compile(
    r"^(?:[-*•] )?(?P<term>[^\W\d_][^\n,;:!?|]{1,48}?),? "
    r"\d{1,4}(?:[–-]\d{1,4})?(?:, \d{1,4}(?:[–-]\d{1,4})?){0,40}$",
    re.MULTILINE,
)
_SHORT = re.compile(r" \((?:the )?[“\"]?(?P<short>[A-Z][A-Za-z0-9-]{1,9})[”\"]?\)")
_LONG = re.compile(r"\b(?P<short>[A-Z][A-Za-z0-9]{1,9}) \((?:the )?(?P<long>[A-Z][^\n().;:!?]{4,80})\)")
_CLAUSE = re.compile(r"[\n().;:!?]")
_NOUN_ENDINGS = ("s", "ship", "ness", "ion", "ment", "ity", "ance", "ence", "ism", "ing", "ure")
# How far before its abbreviation a long form may begin.
_LONG_MOST = 90
_ONE = re.compile(
    r",? (?:also |otherwise |better )?(?:called|known as|nicknamed|surnamed|alias) (?:the )?[“\"‘]?"
)
_APPOSED = re.compile(r", the ")
_APPOSED_END = re.compile(r"[’”\"]?(?:[.;:!?)—]|, (?!and\b|or\b|the\b|[A-Z]))")
_WORDS = re.compile(r"[^\W_][\w'’]*")
_CODE = re.compile(
    # Most words fail the first look ahead, which is cheap.
    r"(?<![\w/.:@-])(?=\w*[^\s\w,;]|\w*_|[a-z]+[A-Z]|[A-Z][a-z]+[A-Z])(?:"
    r"--[a-z][\w-]+|(?:[A-Za-z][\w.+-]{0,60}/){1,8}[\w.+-]{0,60}\w|\w+(?:::\w+)+!?|[A-Za-z]\w{0,79}?_\w{1,79}+(?:\(\))?|[a-z]+[A-Z]\w+|"
    r"[A-Z][a-z]+[A-Z]\w+|[A-Za-z]\w+(?:\(\)|!(?=\())|\.[a-z]{2,8}|[\w-]+\.(?:md|rs|py|toml|json|html|js|txt|lock)"
    r"|[a-z][a-z0-9]+(?:-[a-z0-9]+)+)(?![\w/@])"
)


def find_definitions(
    text: str, sentences: Sequence[Stretch], blocks: Sequence[Span], parts: Sequence[Block] = ()
) -> list[Definition]:
    """Return the terms that a text defines, each once in a sentence, in order.

    `blocks` are its code and tables, `parts` all of its blocks.
    """
    found: dict[tuple[int, int], Definition] = {}
    inside = Blocks(blocks)
    starts = [sentence.start for sentence in sentences]
    for term, said in _find_entries(text, inside):
        number = max(0, bisect_right(starts, said) - 1)
        found.setdefault((term.start, term.end), Definition(*term, number, How.GLOSSARY))
    for entry in _DICTIONARY.finditer(text):
        if _is_entry(entry["term"]):
            number = max(0, bisect_right(starts, entry.start("said")) - 1)
            found.setdefault(entry.span("term"), Definition(*entry.span("term"), number, How.GLOSSARY))
    for term, said in _find_explained(text, parts):
        number = max(0, bisect_right(starts, said) - 1)
        found.setdefault((term.start, term.end), Definition(*term, number, How.ENTRY))
    for term in _find_index_entries(text):
        number = max(0, bisect_right(starts, term.start) - 1)
        found.setdefault((term.start, term.end), Definition(*term, number, How.LISTED))
    for number, sentence in enumerate(sentences):
        if inside.hold(sentence.start) or sentence.end - sentence.start > 600:
            continue
        for term, how in _find_in_sentence(text, sentence):
            found.setdefault((term.start, term.end), Definition(*term, number, how))
    return sorted(found.values())


def _find_in_sentence(text: str, sentence: Stretch) -> Iterator[tuple[Stretch, How]]:
    opening = _IS.match(text, sentence.start, sentence.end)
    if opening and _is_term(opening["term"]) and not _is_adjective(opening):
        yield Stretch(*opening.span("term")), How.IS
    for called in _CALLED.finditer(text, sentence.start, sentence.end):
        if _is_term(called["term"]):
            yield Stretch(*called.span("term")), How.CALLED


def _is_adjective(opening: re.Match[str]) -> bool:
    """Tell whether a sentence opens with a common word and no article, as in "Few are the men …"."""
    term = opening["term"]
    bare = opening.start("term") == opening.start() and " " not in term
    return bare and measure_rarity(stem(term)) < 1.0 and not term.endswith(_NOUN_ENDINGS)


def _is_term(term: str) -> bool:
    """Tell whether words can be a term: no small words, and not only words that stand for anything."""
    words = [word.lower() for word in _WORDS.findall(term)]
    small = list_words("stop", "stop_in_questions", "pronouns", "determiners", "question_words", "not_names")
    return bool(words) and len(term) > 1 and words[-1] not in list_words("not_terms") and not small & {*words}


def _find_entries(text: str, inside: Blocks) -> Iterator[tuple[Stretch, int]]:
    """Yield the entries of a glossary: the term, and where its definition begins."""
    heads: list[tuple[Stretch, int]] = []
    pairs: list[tuple[Stretch, int]] = []
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for above, line, below, start in zip(["", *lines], lines, [*lines[1:], ""], starts, strict=False):
        code = inside.hold(start)
        if not code and not above and _HEAD.fullmatch(line) and _SAID.match(below) and _is_entry(line):
            heads.append((Stretch(start, start + len(line)), start + len(line) + 1))
        pair = _PAIR.match(line)
        # A row of a table may be an entry, a line of code may not.
        named = pair and (_is_entry(pair["term"]) or _NAMES_CODE.fullmatch(pair["term"]))
        if pair and named and not (code and " | " not in line):
            term = Stretch(start + pair.start("term"), start + pair.end("term"))
            pairs.append((term, start + pair.start("said")))
    for entries in (heads, pairs):
        if len(entries) >= GLOSSARY_LEAST:
            yield from entries


def _find_explained(text: str, parts: Sequence[Block]) -> Iterator[tuple[Stretch, int]]:
    """Yield the terms that the book marks as such, and where the text begins that explains each.

    Several terms may share one, and code that shows how they are written may stand before it.
    """
    waiting: list[Stretch] = []
    for part in parts:
        if part.kind is ElementKind.CODE:
            continue
        said = part.start
        if part.kind is ElementKind.TERM:
            line = text.find("\n", part.words, part.end)
            waiting += _cut_term(text, part.words, part.end if line < 0 else line)
            if line < 0:
                continue
            said = line + 1
        if part.kind in (ElementKind.TERM, ElementKind.PARAGRAPH, ElementKind.ITEM):
            yield from ((term, said) for term in waiting)
        waiting = []


def _cut_term(text: str, start: int, end: int) -> list[Stretch]:
    """Return the term at the beginning of a line, without what it takes. An option is one word."""
    while start < end and not (text[start].isalnum() or text[start] in "-_./$@#*!%&+?~^:"):
        start += 1
    takes = _TAKES.search(text, start + 1, end) if start < end else None
    if takes and (text[start].islower() or not takes[0].isspace()):
        end = takes.start()
    words = text[start:end].split()
    if not 0 < len(words) <= TERM_WORDS + 1:
        return []
    end = start + len(words[0]) if words[0].startswith("-") else start + len(text[start:end].rstrip(" .:"))
    return [Stretch(start, end)] if end > start else []


def _find_index_entries(text: str) -> list[Stretch]:
    """Return the entries of an index: lines that end with the numbers of pages."""
    lines = [match for match in _INDEXED.finditer(text) if _is_entry(match["term"])]
    return [Stretch(*match.span("term")) for match in lines] if len(lines) >= INDEX_LEAST else []


def _is_entry(term: str) -> bool:
    """Tell whether a line's beginning can be an entry of a glossary."""
    words = [word.lower() for word in _WORDS.findall(term)]
    if not words or len(words) > TERM_WORDS + 2 or not words[0].isalpha():
        return False
    return words[0] not in list_words("not_terms", "not_names", "extremes", "pronouns") and _is_term(
        words[-1]
    )


def find_other_names(text: str, runs: Sequence[Run]) -> list[OtherName]:
    """Return the pairs that a text says are one: abbreviations, "X, called Y" and "X, the Y,"."""
    found = [*_find_abbreviations(text)]
    for one, other in pairwise(runs):
        if other.start - one.end > 40:
            continue
        called = _ONE.fullmatch(text, one.end, other.start)
        apposed = _APPOSED.fullmatch(text, one.end, other.start) and _APPOSED_END.match(text, other.end)
        if called or apposed:
            found.append(OtherName(one.start, one.end, other.start, other.end))
    return sorted(found)


def _find_abbreviations(text: str) -> Iterator[OtherName]:
    for match in _SHORT.finditer(text):
        begin = max(0, match.start() - _LONG_MOST)
        clause = [mark.end() for mark in _CLAUSE.finditer(text, begin, match.start())]
        yield from _match_long_form(text, match, clause[-1] if clause else begin, match.start())
    for match in _LONG.finditer(text):
        yield from _match_long_form(text, match, *match.span("long"))


def _match_long_form(text: str, match: re.Match[str], start: int, end: int) -> Iterator[OtherName]:
    words = list(_WORDS.finditer(text, start, end))
    first = _match_initials(match["short"].rstrip("s"), [word[0] for word in words])
    if first is not None:
        yield OtherName(words[first].start(), words[-1].end(), *match.span("short"))


def _match_initials(short: str, words: Sequence[str]) -> int | None:
    """Return the word with which an abbreviation's long form begins, if their first letters spell it."""
    letters = [c.lower() for c in short if c.isalpha()]
    at = len(words)
    for letter in reversed(letters):
        at -= 1
        while (
            at >= 0
            and words[at].lower() in ("of", "the", "and", "for", "in", "to", "a")
            and words[at][0] != letter
        ):
            at -= 1
        if at < 0 or words[at][0].lower() != letter:
            return None
    return at if len(letters) >= 2 else None


def find_codes(text: str, blocks: Sequence[Span]) -> list[Stretch]:
    """Return the words of a text that are written like code: paths, options, identifiers."""
    inside = Blocks(blocks)
    found = (
        Stretch(*match.span())
        for match in _CODE.finditer(text)
        if "://" not in text[match.start() - 3 : match.end()]
    )
    return [code for code in found if code.end - code.start <= 80 and not inside.hold(code.start)]
