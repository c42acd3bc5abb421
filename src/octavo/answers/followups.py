"""Rewrites a follow-up question so that it stands alone, from the words of the conversation and no model.

"Why?" after "Is the whale white?" becomes "Why is the whale white?", pronouns become names, "And in winter?"
takes over the question before it. A question that stands alone stays as it is, and so does one that cannot be
read with fair certainty, or is not English: a wrong rewrite is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from octavo.answers.questions import Expected, QuestionKind, parse_question
from octavo.text.clean import collapse
from octavo.text.english import Token, stem, tokenize
from octavo.types import QUESTION_MOST

_WORDS = """verb allow ask attack avoid become begin believe break bring build buy call carry catch cause
change choose clean come contain cook cost create cut describe destroy die discover do drive eat end escape
exist explain fall feed feel fight find fly found get give go grow happen have hear help hold hunt install
invent join keep kill know lead learn leave live look lose love make marry mean meet move need occur open own
pay play produce put read remove replace return rise run sail say see sell send set show sink sleep speak
stand start stay stop survive take teach tell think travel try turn use visit wait want win work write|he king
prince man boy father brother son husband uncle lord duke emperor mr sir john james william henry george
charles thomas robert edward|she queen princess woman girl mother sister daughter wife aunt lady mrs miss ms
mary elizabeth jane anne emma alice|who captain author writer doctor teacher child scientist president soldier
sailor leader person hero general founder|beast fox wolf bear lion cat dog rabbit bird horse whale
dragon|place paris london rome berlin england france germany spain italy china japan india russia america
europe africa asia canada australia|time winter summer spring autumn morning evening night day week month year
century war january february march april may june july august september october november december end|group
people men women children teeth feet police crew|trait white black red green blue grey brown big small large
tall long short old young new good bad dead alive afraid happy sad angry mad rich poor safe hot cold warm high
low fast slow hard easy born|be is are was were|aux is are was were do does did has have had can could will
would should may might must|article the a an this that these those some any each every all both no our your my
his her its their|owner his her its their|lead in on at for with without during before after under from to by
near against inside outside|join if when after before once while since because although unless until and or
but that who which so|pause down up away out back home often usually always never ever still also then now
again too as well not else more most less be been have|wh what which who whom whose when where why how|going
go get come travel sail move|adverb when where why how|person i you we he she they it|of of s"""
_TRAITS = ("ed", "ing", "ous", "ful", "able", "ible", "less", "ive", "ent", "ant", "wn", "ten", "ken")
_OTHER_NUMBER = {"is": "are", "was": "were", "does": "do", "are": "is", "were": "was", "do": "does"}
_SORTS = ("he", "she", "who", "beast", "place", "time", "group")
_PLACES = ("first", "second", "third", "fourth", "fifth", "last")

_AND, _END = r"(?i)^(?:(?:and|but|so|or|ok|okay|well|also)\b[,\s]*)*", r"[\s?!.]*$"
_SMALL_TALK = re.compile(
    r"(?i)^(?:(?:ok(?:ay)?|thanks?|thank you|hello|hi|hey|great|cool|nice|yes|no|really|bye|good \w+|i see|"
    r"wow|please|(?:very|so) much|(?:are|and|what about|how are|who are)? ?you(?: sure)?|"
    r"is (?:that|this|it) (?:true|right|correct|all|so))\b[\s,!.?]*)+$"
)
_BARE = re.compile(
    rf"{_AND}(why not|why|how (?:come|many|much|long|often|far|old)|how|when|where|whom?|by whom)(?: exactly|"
    r" so|(?<=why) (?:is|was) (?:that|this|it)|(?P<done> \w+ (?:(?:he|she|it|they) do (?:that|this|it|so)|"
    rf"(?:it|that|this) (?:happen|occur))))?{_END}"
)
_MORE = re.compile(
    rf"{_AND}(?:please |can you )?(?:(?:tell|give) me (?:some )?more|more|go on|continue|elaborate|explain)"
    rf"(?: details?| further| more| (?:about )?(?:it|that|this))*(?:,? please)?{_END}"
)
_NTH = re.compile(
    rf"(?i)\bthe (?:({'|'.join(_PLACES)})(?: (?:one|point|item|rule|reason)\b|(?=\W*$))|"
    r"(former|latter)(?=\W*$| (?:is|was|has|have|had|did|do|from|die|live)\b))"
)
_FRAGMENT = re.compile(rf"({_AND[4:]})((?:what|how) about|what of)?\s*([^,;:?!()\"“]+?){_END}", re.I)
_EMPTY_IT = re.compile(
    r"(?i)\b(?:is|was|will|does|did|ma[dk]e) it (?:\w+ly )?(?:be )?(?:(?:\w+ )?(?:to|that|if|for|like)\b|"
    r"rain|sa[iy]|from\b|take\b(?! place))|did it work|\bit(?:['’]s| is| was| \w+ be) (?:\w+ )?(?:that|to)\b"
)
_PRONOUN = re.compile(
    r"(?i)\b(?:(?P<he>he|him|his)|(?P<she>she|hers|her)|(?P<they>they|them|theirs|their|these|those)|"
    r"(?P<there>there)|(?P<it>(?:this|that) one|its|it|this|that))(?![\w'’-])"
)
_REFUSED = re.compile(r"(?i)\b(?:(?:do|does) not|(?:do|does)n['’]t|can ?not) (?:say|answer|find|mention)\b")
_SENTENCE = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\b[A-Z])[.!?]+[\"”’)]*\s+(?=[\"“‘(]?[A-Z0-9])")
_ITEM = re.compile(r"(?m)^[ \t]*(?:[-*•]|\(?(?:\d{1,2}|[a-z])[.)])[ \t]+(.+)$")
_SERIES = re.compile(r"(?:\b(?:are|were|includes?|included|named)|:)\s+([^.;:]+?,? (?:and|or) [^.;,]+)")
_MARK = re.compile(r"\s*\[\d+(?:,\s*\d+)*\]")


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, as it was interpreted, and what was answered."""

    question: str
    answer: str


class _Phrase(NamedTuple):
    text: str
    start: int
    end: int
    lead: str
    name: bool

    @property
    def head(self) -> str:
        return _low(re.split(r"(?i)(?<=\w) of\b", self.text)[0])[-1]

    @property
    def sort(self) -> str:
        known = [self.head, self.head.removesuffix("s"), _low(self.text)[0] if self.name else ""]
        found = (sort for sort in _SORTS for word in known if _is(word, sort))
        return "time" if re.fullmatch(r"\d+s?|\w+day", self.head) else next(found, "")

    @property
    def plural(self) -> bool:
        inflected = re.search(r"(?<![sui'’])s$", self.head) and (not self.name or self.text[:3] == "the")
        return bool(inflected) or self.sort == "group" or " and " in self.text


def interpret(question: str, history: Sequence[Turn]) -> str:
    """The question, standing alone: itself when it already does, else in the words of the turns before."""
    text, made = collapse(question), ""
    cut = [Turn(collapse(t.question[:2000]).rstrip(" ?!."), t.answer[:4000]) for t in history[-4:]]
    turns = [t for t in reversed(cut) if tokenize(t.question) and not _SMALL_TALK.match(t.question)]
    if turns and tokenize(text) and len(text) <= 200 and not _SMALL_TALK.match(text):
        made = next((m for rule in (_bare, _more, _nth, _fragment, _named) if (m := rule(text, turns))), "")
    rewritten = made and made != text and len(made) <= QUESTION_MOST
    return made[:1].upper() + made[1:] if rewritten else question[:QUESTION_MOST]


def _small(text: str) -> str:
    first = tokenize(text)[:1]
    return text[:1].lower() + text[1:] if first and first[0].stop and first[0].text != "I" else text


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    rows = (row.split() for row in _WORDS.split("|"))
    return {sort: {stem(w) if sort == "verb" else w: w for w in words} for sort, *words in rows}


def _is(word: str, *sorts: str) -> bool:
    return any(word.lower() in _words()[sort] for sort in sorts)


def _low(text: str) -> list[str]:
    return [token.text.lower() for token in tokenize(text)]


def _verbal(words: Sequence[Token], number: int) -> bool:
    word, before = words[number], words[number - 1].text.lower() if number else ""
    of = number + 1 < len(words) and words[number + 1].text.lower() == "of"
    noun = of or _is(before, "article", "trait") or before.endswith(("'s", "’s"))
    return not noun and (_is(word.stem, "verb") or word.text == "lives") and not (number and word.capital)


def _phrases(text: str) -> list[_Phrase]:
    words, found, run = tokenize(text), list[_Phrase](), list[int]()
    for number, word in enumerate(words):
        low, before = word.text.lower(), words[number - 1].text.lower() if number else ""
        whole = not number or text[words[number - 1].end : word.start].strip() in ("", "-", "'", "’")
        starts = _is(low, "article")
        joins = whole and bool(run) and (low in ("of", "s") or (starts and before == "of"))
        small = word.stop or _is(low, "pause", "lead") or low.endswith("ly") or _is(before, "person")
        out = not starts and not joins and (small or _verbal(words, number))
        if run and (out or not whole or (starts and not joins)):
            found += _closed(text, words, run, number)
            run = []
        run += [] if out else [number]
    found += _closed(text, words, run, len(words))
    return sorted(found, key=lambda p: not _is(p.lead, "aux"))


def _closed(text: str, words: Sequence[Token], run: list[int], after: int) -> Iterator[_Phrase]:
    while run and _is(words[run[-1]].text, "article", "of"):
        run = run[:-1]
    if not run or _is(words[run[0]].text, "owner"):
        return
    lead = words[run[0] - 1].text.lower() if run[0] else ""
    run = _without_predicate(words, run, after, lead) if _is(lead, "aux") else run
    asks = [n for n in range(run[0]) if words[n].text.lower() in ("what", "which", "whose", "how")]
    if asks and all(w.stop and not _is(w.text, "aux") for w in words[asks[-1] + 1 : run[0]]):
        return
    end = words[run[-1]].end
    for first in (run[0], *(n + 1 for n in run[:-1] if words[n].text.lower() == "of")):
        own = [words[n] for n in run if n >= first and not _is(words[n].text, "article")]
        content = (own or [words[first]])[0]
        owner = content.text[-2:] in ("'s", "’s") and content.end < end
        start, before = words[first].start, lead if first == run[0] else "of"
        yield _Phrase(text[start:end], start, end, before, content.capital and not owner)
        if owner and content.capital:
            yield _Phrase(content.text[:-2], content.start, content.end, "", True)


def _without_predicate(words: Sequence[Token], run: list[int], after: int, lead: str) -> list[int]:
    last, asks = words[run[-1]], words[0].text.lower() in ("what", "which", "who", "whose", "where", "how")
    if words[run[0]].capital and not last.capital:
        lower = (i for i, n in enumerate(run) if not words[n].capital and words[n].text not in ("of", "the"))
        return run[: next(lower, len(run))]
    if last.capital or sum(not _is(words[n].text, "article") for n in run) < 2:
        return run
    if _is(lead, "be"):
        trait = _is(last.text, "trait") or last.text.endswith(_TRAITS) or _is(last.stem, "verb")
        return run[:-1] if trait or (after == len(words) and not asks) else run
    complete = after < len(words) and (_is(words[after].text, "pause") or _verbal(words, after))
    return run if complete else run[:-1]


def _agrees(kind: str, phrase: _Phrase) -> bool:
    place = phrase.sort == "place" or phrase.lead in ("in", "at", "from", "near")
    if phrase.sort == "time" or (kind != "there" and (kind == "they") != phrase.plural):
        return False
    if kind in ("they", "there"):
        named = phrase.name and phrase.lead in ("to", "of", "on") and not phrase.sort
        return kind == "they" or place or named
    person = phrase.name and not place and phrase.text[:4].lower() != "the "
    sorts = ("", "place") if kind == "it" else (kind, "who", "" if person else kind)
    return phrase.sort in (*sorts, "beast")


def _antecedent(kind: str, turns: Sequence[Turn], taken: Sequence[str] = ()) -> _Phrase | None:
    """Whom or what a pronoun means: the last question's subject, its other phrases, then the answer's."""
    for turn in turns:
        both = [p._replace(text=f"{p.text} and {q.text}") for p, q in _coordinated(turn.question, "and")]
        asked = [*both, *_phrases(turn.question)]
        told = [p for p in _phrases(_told(turn.answer)) if p.text.lower() not in turn.question.lower()]
        parsed, wanted = parse_question(turn.question), Expected.PLACE if kind == "there" else Expected.PERSON
        late = kind != "it" and parsed.expected is wanted and parsed.kind is not QuestionKind.DEFINITION
        late = late or (kind == "there" and not any(_is(p.lead, "lead") for p in asked))
        for phrase in [*told, *asked] if late else [*asked, *told]:
            if _agrees(kind, phrase) and phrase.text not in taken:
                return phrase._replace(text=_small(phrase.text))
    return None


def _coordinated(text: str, *joins: str) -> list[tuple[_Phrase, _Phrase]]:
    found = sorted(_phrases(text), key=lambda p: p.start)
    return [(p, q) for p, q in pairwise(found) if text[p.end : q.start].strip(" ,") in joins]


def _told(answer: str) -> str:
    said = re.sub(r"(?i)^(?:yes|no)\b[,.:;\s]*", "", collapse(_MARK.sub("", answer)))
    return "" if _REFUSED.search(answer) else _SENTENCE.split(said)[0].strip(' ."“”')


def _inverted(turn: Turn) -> str:
    said = _told(turn.answer)
    if opening := re.match(r"(?i)(?:he|she|it|they)\b", said):
        meant = _antecedent(opening[0].lower(), (Turn(turn.question, ""),))
        said = f"{meant.text}{said[opening.end() :]}" if meant else ""
    words, asked = tokenize(said), {t.stem for t in tokenize(turn.question) if not t.stop}
    if len(words) > 25 or not asked & {t.stem for t in words} or re.search(r"[?!:;“”\"]", said):
        return ""
    for number, word in enumerate(words[1:9], start=1):
        low, subject, rest = word.text.lower(), _small(said[: word.start].strip()), said[word.end :]
        if _is(low, "join") or "," in subject:
            break
        if _is(low, "aux") and low[:2] not in ("ha", "do", "di"):
            return f"{low} {subject}{rest}"
        if _verbal(words, number):
            base = _words()["verb"].get(word.stem, "live")
            return f"{'do' if low == base else 'does' if low[-1] == 's' else 'did'} {subject} {base}{rest}"
    return ""


def _bare(text: str, turns: Sequence[Turn]) -> str | None:
    if not (found := _BARE.match(text)):
        return None
    asks = {"how come": "why", "whom": "who"}.get(found[1].lower(), found[1].lower())
    made = _counted(turns[0].question) if asks == "how many" else _clause(asks, turns[0])
    return made or (None if found["done"] else f"{found[1]}? ({turns[0].question}?)")


def _clause(asks: str, last: Turn) -> str | None:
    first, _, rest = last.question.partition(" ")
    first, told, denied = first.lower(), _inverted(last), re.match(r"(?i)\s*no\b", last.answer)
    bends = _is(first, "aux") or (_is(first, "adverb") and asks not in ("why", "how"))
    if told and asks != first and (denied or " or " in rest or not bends):
        return f"{asks.removesuffix(' not')} {told}?"
    if asks == "why not" or (asks == "why" and denied and _is(first, "aux")):
        return f"why {first.replace('can', 'ca').replace('will', 'wo').replace('may', 'ca')}n't {rest}?"
    if _is(first, "aux"):
        rest = re.sub(r"(?i)^(?:any|some)(?:one|body) ", "", rest) if asks == "who" else rest
        return f"{'by whom' if asks == 'who' and rest.endswith(_TRAITS) else asks} {first} {rest}?"
    moves = _is(first, "adverb") and _is(rest.split(" ")[0], "aux") and asks != first
    return f"{asks} {rest}?" if moves else None


def _counted(before: str) -> str | None:
    if kinds := re.match(r"(?i)(?:who|what|which) are (?:the )?(.+)", before):
        return f"how many {kinds[1]} are there?"
    found = re.match(r"(?i)(who) (.+)|(?:what|which) ((\w+s) .+)", before)
    if found and (found[1] or not _is(stem(found[4]), "verb")):
        return f"how many {f'people {found[2]}' if found[1] else found[3]}?"
    many = [p for p in _phrases(before) if p.plural and _is(before.split(" ")[0], "aux")]
    last = max(many, key=lambda p: p.start, default=_Phrase("", 0, 0, "", False))
    rest = f"{re.sub('^(?:the|any|some) ', '', last.text)} {_small(before[: last.start])}{before[last.end :]}"
    return f"how many {collapse(rest)}?" if many else None


def _more(text: str, turns: Sequence[Turn]) -> str | None:
    found = _phrases(turns[0].question)
    task = re.match(r"(?i)how (?:(?:do|can|should) (?:i|you|we)|to) (.+)", turns[0].question)
    topic = f"how to {task[1]}" if task else _small(found[0].text) if found else ""
    return f"Tell me more about {topic}." if topic and _MORE.match(text) else None


def _nth(text: str, turns: Sequence[Turn]) -> str | None:
    found, question, answer = _NTH.search(text), turns[0].question, _MARK.sub("", turns[0].answer)
    if found is None or (found[1] and _REFUSED.search(answer)):
        return None
    runs, sentences = _SERIES.findall(collapse(answer)), _SENTENCE.split(collapse(answer))
    named = [re.split(r",\s+(?:and |or )?|\s+(?:and|or)\s+", run) for run in runs]
    pairs = [pair for source in (question, _told(answer)) for pair in _coordinated(source, "and", "or")]
    lists = [_ITEM.findall(answer), *named, sentences] if found[1] else [[p.text, q.text] for p, q in pairs]
    items = next((items for items in lists if len(items) > 1), [])
    place = _PLACES.index(found[1].lower()) if found[1] else int(found[2].lower() == "latter")
    whole = "".join(items[-1:] if place == 5 else items[place : place + 1])
    item = re.split(r":\s|\s[–—]\s", whole)[0].strip(" .*")
    said = _small(item) if len(item.split()) <= 6 else f"“{item[:300]}”"
    lead = re.sub(rf"{_AND}(?:(?:what|how) about\s*)?", "", text[: found.start()])
    return (f"{lead}{said}{text[found.end() :]}" if lead else f"Tell me more about {said}.") if item else None


def _fragment(text: str, turns: Sequence[Turn]) -> str | None:
    found, before = _FRAGMENT.match(text), turns[0].question
    rest = _small((_named(found[3], turns) or found[3]) if found else "")
    words, fresh = tokenize(rest), _phrases(rest)
    whole = any(_is(w.text, "aux", "wh", "person") or _verbal(words, n) for n, w in enumerate(words))
    if not found or not fresh or whole or len(words) > 8:
        return None
    old = _counterpart(fresh[0], _phrases(before), words[0].text.lower())
    if _is(words[0].text, "lead"):
        start = old.start - len(old.lead) - 1 if old else len(before)
        return f"{before[:start].strip()} {rest}{before[old.end :] if old else ''}?"
    if old is None or not (found[1] or found[2]):
        return None
    verb = _OTHER_NUMBER.get(old.lead) if fresh[0].plural != old.plural else None
    opening = f"{before[: old.start - len(old.lead) - 1]}{verb} " if verb else before[: old.start]
    return f"{opening}{rest}{before[old.end :]}?"


def _counterpart(new: _Phrase, olds: Sequence[_Phrase], lead: str) -> _Phrase | None:
    time = new.sort == "time"
    if _is(lead, "lead"):
        near = (p for p in olds if _is(p.lead, "lead") and (p.sort == "time") == time)
        return next((p for p in near if time or p.lead == lead), None)
    content = {t.stem for t in tokenize(new.text) if not t.stop}
    found = [p for p in olds if content & {t.stem for t in tokenize(p.text)}]
    if " of " not in new.text:
        found += [p for p in olds if p.name == new.name and p.sort == new.sort]
        fit = [p for p in olds if new.sort != "place" or p.lead == "of" or _is(p.lead, "lead", "aux")]
        found += [p for p in fit if p.name and new.name and "" in (p.sort, new.sort)]
        found += [p for p in olds if p.sort != "time" and not new.name and not time and len(content) <= 2]
    return found[0] if found else None


def _named(text: str, turns: Sequence[Turn]) -> str | None:
    made, at, seen, taken = "", 0, set[str](), list[str]()
    for found in _PRONOUN.finditer(text):
        kind, meant = str(found.lastgroup), None
        if kind not in seen and _refers(text, found):
            seen.add(kind)
            meant = None if _says_itself(text, found, kind) else _antecedent(kind, turns, taken)
        if meant and meant.text.lower() not in text.lower():
            taken.append(meant.text)
            made, at = made + text[at : found.start()] + _form(text, found, meant), found.end()
    return re.sub(_AND, "", made + text[at:]) if taken else None


def _form(text: str, found: re.Match[str], meant: _Phrase) -> str:
    before, after, low = _low(text[: found.start()])[-1:], tokenize(text[found.end() :])[:1], found[0].lower()
    if low == "there":
        return f"{'to' if before and _is(before[0], 'going') else 'in'} {meant.text}"
    owns = low == "her" and after and not after[0].stop and not _is(after[0].text, "lead", "pause")
    if owns or low in ("his", "its", "their", "theirs", "hers"):
        return f"{meant.text}'" if meant.plural and meant.text.endswith("s") else f"{meant.text}'s"
    return meant.text


def _refers(text: str, found: re.Match[str]) -> bool:
    low, after = found[0].lower(), tokenize(text[found.end() :])
    before = ["", *_low(text[: found.start()])][-1]
    if low == "there":
        exists = re.match("is|are|was|were", before) or (after and _is(after[0].text, "be"))
        return bool(before and not exists)
    if low not in ("this", "that", "these", "those"):
        return low != "it" or not _EMPTY_IT.search(text)
    if not after:
        return bool(before) and not re.match("sa[iy]|th[io]|kn[eo]|d[io]|like|bel|prob", before)
    return (len(after) == 1 and _is(before, "be")) or (_is(before, "aux") and _verbal(after, 0))


def _says_itself(text: str, found: re.Match[str], kind: str) -> bool:
    start, low, words, phrases = found.start(), found[0].lower(), [*_low(text), ""], _phrases(text)
    if phrases and _is(words[0], "join", "lead") and not _is(words[1], "aux", "wh"):
        return True
    own = [p for p in phrases if p.end <= start and (kind != "there" or _agrees(kind, p))]
    if _is(low, "owner"):
        gaps = [text[p.end : start].strip().lower() for p in own if {p.sort, kind} != {"he", "she"}]
        return any(not _is(gap, "lead", "of") and gap != "than" for gap in gaps)
    content = [t.start for t in tokenize(text[:start]) if not t.stop and not _is(t.text, "aux", "join")]
    said = _low(text[content[0] : start].replace(",", " and ")) if content and kind != "there" else []
    nested = low in ("he", "she", "they") and said and not _is(said[-1], "aux")
    return bool(nested or (said[-1:] == ["with"] and own)) or any(_is(word, "join") for word in said)
