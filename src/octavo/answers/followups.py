"""Rewrite a follow-up question so that it stands alone, from the words of the conversation and no model.

"Why?" after "Is the whale white?" becomes "Why is the whale white?", pronouns become names, "And in winter?"
takes over the question before it. A question that stands alone stays as it is, and so does one that cannot be
read with fair certainty, or is not English: a wrong rewrite is worse than none.

`RULES` are tried in order. Their docstrings give examples that a test runs: the question before, its answer,
the follow-up, and what becomes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from octavo.answers.questions import Expected, QuestionKind, parse_question
from octavo.answers.topics import EXAMPLE, SOURCE, add_event, ask_for_example, ask_for_source, replace_one
from octavo.answers.turns import (
    AND,
    CITATION,
    END,
    REFUSED,
    SENTENCE,
    Turn,
    lower_first,
    read_answer,
)
from octavo.text.clean import collapse
from octavo.text.english import list_words, stem, tokenize
from octavo.text.layout import list_items
from octavo.text.phrases import (
    Phrase,
    find_coordinated,
    find_phrases,
    is_listed,
    is_verb,
    list_verbs,
    lower_words,
)
from octavo.types import QUESTION_MOST

_OTHER_NUMBER = {"is": "are", "was": "were", "does": "do", "are": "is", "were": "was", "do": "does"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "last")
_BE = "present_and_past_of_be"

_SMALL_TALK = re.compile(
    r"(?i)^(?:(?:ok(?:ay)?|thanks?|thank you|hello|hi|hey|great|cool|nice|yes|no|really|bye|good \w+|i see|"
    r"wow|please|(?:very|so) much|(?:are|and|what about|how are|who are)? ?you(?: sure)?|"
    r"what (?:can|do) you do|what are you|how do you work|help(?: me)?|"
    r"is (?:that|this|it) (?:true|right|correct|all|so))\b[\s,!.?]*)+$"
)
_BARE = re.compile(
    rf"{AND}(why not|why|how (?:come|many|much|long|often|far|old)|how|when|where|whom?|by whom)(?: exactly|"
    r" so|(?<=why) (?:is|was) (?:that|this|it)|(?P<done> \w+ (?:(?:he|she|it|they) do (?:that|this|it|so)|"
    rf"(?:it|that|this) (?:happen|occur))))?{END}"
)
_MORE = re.compile(
    rf"{AND}(?:please |can you )?(?:(?:tell|give) me (?:some )?more|more|go on|continue|elaborate|explain)"
    rf"(?: details?| further| more| (?:about )?(?:it|that|this))*(?:,? please)?{END}"
)
_TASK = re.compile(r"(?i)how (?:(?:do|can|should) (?:i|you|we)|to) (.+)")
_ORDINAL = re.compile(
    rf"(?i)\bthe (?:({'|'.join(_ORDINALS)})(?: (?:one|point|item|rule|reason)\b|(?=\W*$))|"
    r"(former|latter)(?=\W*$| (?:is|was|has|have|had|did|do|from|die|live)\b))"
)
# Who says more ("the second reason that he gives") says what it is of.
_ABOUT_ORDINAL = re.compile(
    rf"{AND}(?:what|how) about the (?:{'|'.join(_ORDINALS)}|former|latter)"
    rf"(?: (?:one|point|item|rule|reason))?{END}"
)
_THE_SOURCE = re.compile(rf"{AND}what is the sources?{END}")
_FRAGMENT = re.compile(rf"({AND[4:]})((?:what|how) about|what of)?\s*([^,;:?!()\"“]+?){END}", re.I)
_EMPTY_IT = re.compile(
    r"(?i)\b(?:is|was|will|does|did|ma[dk]e) it (?:\w+ly )?(?:be )?(?:(?:\w+ )?(?:to|that|if|for|like)\b|"
    r"rain|sa[iy]|from\b|take\b(?! place))|did it work|\bit(?:['’]s| is| was| \w+ be) (?:\w+ )?(?:that|to)\b"
)
_WHO_ARE = re.compile(r"(?i)\s*who (?:are|were)\b")
_PRONOUN = re.compile(
    r"(?i)\b(?:(?P<he>he|him|his)|(?P<she>she|hers|her)|(?P<they>they|them|theirs|their|these|those)|"
    r"(?P<there>there)|(?P<it>(?:this|that) one|its|it|this|that))(?![\w'’-])"
)
_DEFINED = re.compile(
    r"(?i)(?:what|who)(?: is| was|['’]s) "
    r"(?P<name>(?:an? |the )?[\w.+-]+(?: (?!of\b|for\b|in\b)[\w.+-]+){0,2})"
)
_KIND_ASKED = re.compile(
    r"(?i)(?:which|what) (?P<kinds>(?:(?!of\b)[\w-]+ ){0,2}[\w-]+s) "
    r"(?:are|were|do|does|did|can|could|should|must|may|have)\b"
)
_ASKS_WHO = re.compile(r"(?i)who(?: is| was|['’]s)\b")
_PROPERTY = re.compile(
    r"(?i)(?:the )?(?:name|title|purpose|meaning|definition|number|date|size|length|colou?r|cost|price|age"
    r"|aim|goal|role|function) of (?=\w)"
)
_OWNER = re.compile(r"['’]s?$")
_SERIES = re.compile(r"(?:\b(?:are|were|includes?|included|named)|:)\s+([^.;:]+?,? (?:and|or) [^.;,]+)")
# Characters that are read of a question and of an answer, turns that are looked back, and the longest
# follow-up and answer (in words) that are rewritten.
_MOST_QUESTION, _MOST_ANSWER, _MOST_TURNS, _MOST_FOLLOW_UP, _MOST_ANSWER_WORDS = 2_000, 4_000, 4, 200, 25


Rule = Callable[[str, Sequence[Turn]], str | None]


def interpret(question: str, history: Sequence[Turn]) -> str:
    """Return the question standing alone: itself if it does already, else in words of the turns before."""
    text, made = collapse(question), ""
    turns = [
        turn for turn in map(_shorten, reversed(history[-_MOST_TURNS:])) if _says_something(turn.question)
    ]
    if turns and len(text) <= _MOST_FOLLOW_UP and _says_something(text):
        made = next((found for rule in RULES if (found := rule(text, turns))), "")
    rewritten = made and made != text and len(made) <= QUESTION_MOST
    return made[:1].upper() + made[1:] if rewritten else question[:QUESTION_MOST]


def _shorten(turn: Turn) -> Turn:
    return Turn(collapse(turn.question[:_MOST_QUESTION]).rstrip(" ?!."), turn.answer[:_MOST_ANSWER])


def is_small_talk(text: str) -> bool:
    """Whether a message is only a greeting, thanks or the like, and asks nothing."""
    return bool(_SMALL_TALK.match(collapse(text))) and not _BARE.match(text)


def has_no_referent(text: str) -> bool:
    """Whether a message can only be understood after another: "why?", "tell me more", "the second one?"."""
    said = collapse(text)
    points = any(rule.match(said) for rule in (_BARE, _MORE, SOURCE, EXAMPLE, _ABOUT_ORDINAL))
    # A book may have a source of its own: of the Nile, or of the money.
    return points and _THE_SOURCE.match(said) is None


def _says_something(text: str) -> bool:
    return bool(tokenize(text)) and not _SMALL_TALK.match(text)


# "Why?", "How many?", "When did it happen?"


def complete_bare_question(text: str, turns: Sequence[Turn]) -> str | None:
    """Complete a question word that stands alone.

    After: Did the king flee? | Yes. | Why did he do that? | Why did the king flee?
    After: What does Ahab eat? | The book doesn't say. | Why? | Why? (What does Ahab eat?)
    """
    found = _BARE.match(text)
    if not found:
        return None
    asks = {"how come": "why", "whom": "who"}.get(found[1].lower(), found[1].lower())
    made = _ask_how_many(turns[0].question) if asks == "how many" else _ask_again(asks, turns[0])
    return made or (None if found["done"] else f"{found[1]}? ({turns[0].question}?)")


def _ask_again(asks: str, last: Turn) -> str | None:
    """Ask another thing about the last turn, by the first rule that applies."""
    return (
        _ask_about_answer(asks, last)
        or _ask_why_not(asks, last)
        or _ask_about_action(asks, last)
        or _exchange_adverb(asks, last)
    )


def _ask_about_answer(asks: str, last: Turn) -> str | None:
    """Ask about what was answered, where the question itself cannot be asked again.

    After: What colour is the whale? | The whale is white. | why | Why is the whale white?
    After: Can the battery be replaced? | No. The battery is sealed. | Why not? | Why is the battery sealed?
    """
    first, _, rest = last.question.partition(" ")
    answered = _invert_answer(last)
    again = is_listed(first, "auxiliaries")
    again = again or (is_listed(first, "question_adverbs") and asks not in ("why", "how"))
    if answered and asks != first.lower() and (_is_denied(last) or " or " in rest or not again):
        return f"{asks.removesuffix(' not')} {answered}?"
    return None


def _ask_why_not(asks: str, last: Turn) -> str | None:
    """Ask why something is not so.

    After: Can whales breathe water? | No. | Why not? | Why can't whales breathe water?
    """
    first, _, rest = last.question.partition(" ")
    first = first.lower()
    if asks == "why not" or (asks == "why" and _is_denied(last) and is_listed(first, "auxiliaries")):
        return f"why {first.replace('can', 'ca').replace('will', 'wo').replace('may', 'ca')}n't {rest}?"
    return None


def _ask_about_action(asks: str, last: Turn) -> str | None:
    """Ask about what was asked with "is" or "did".

    After: Is the whale white? | Yes. | And why is that? | Why is the whale white?
    After: Did anyone survive the wreck? | Yes. | who? | Who did survive the wreck?
    """
    first, _, rest = last.question.partition(" ")
    if not is_listed(first, "auxiliaries"):
        return None
    rest = re.sub(r"(?i)^(?:any|some)(?:one|body) ", "", rest) if asks == "who" else rest
    by_whom = asks == "who" and rest.endswith(tuple(list_words("trait_endings")))
    return f"{'by whom' if by_whom else asks} {first.lower()} {rest}?"


def _exchange_adverb(asks: str, last: Turn) -> str | None:
    """Put one question word for another.

    After: When was Queen Victoria crowned? | In 1838. | Where? | Where was Queen Victoria crowned?
    """
    first, _, rest = last.question.partition(" ")
    verb_follows = is_listed(rest.split(" ")[0], "auxiliaries")
    if is_listed(first, "question_adverbs") and verb_follows and asks != first.lower():
        return f"{asks} {rest}?"
    return None


def _is_denied(turn: Turn) -> bool:
    return re.match(r"(?i)\s*no\b", turn.answer) is not None


def _ask_how_many(before: str) -> str | None:
    """Ask how many of what the question before is about there are."""
    return _count_kinds(before) or _count_subject(before) or _count_object(before)


def _count_kinds(before: str) -> str | None:
    """Count what the question before asks to name.

    After: Who are the mates of the Pequod? | Starbuck. | How many? | How many mates of the Pequod are there?
    """
    kinds = re.match(r"(?i)(?:who|what|which) are (?:the )?(.+)", before)
    return f"how many {kinds[1]} are there?" if kinds else None


def _count_subject(before: str) -> str | None:
    """Count who or what did it.

    After: Who survived the wreck? | Ishmael. | How many? | How many people survived the wreck?
    """
    found = re.match(r"(?i)(who) (.+)|(?:what|which) ((\w+s) .+)", before)
    if found and found[1]:
        return f"how many people {found[2]}?"
    return f"how many {found[3]}?" if found and stem(found[4]) not in list_verbs() else None


def _count_object(before: str) -> str | None:
    """Count the last thing that stands in the plural.

    After: Do sperm whales have teeth? | Yes. | How many? | How many teeth do sperm whales have?
    """
    if not is_listed(before.split(" ")[0], "auxiliaries"):
        return None
    many = [phrase for phrase in find_phrases(before) if phrase.plural]
    if not many:
        return None
    last = max(many, key=lambda phrase: phrase.start)
    counted = re.sub("^(?:the|any|some) ", "", last.text)
    return f"how many {collapse(f'{counted} {lower_first(before[: last.start])}{before[last.end :]}')}?"


# "Tell me more"


def ask_for_more(text: str, turns: Sequence[Turn]) -> str | None:
    """Say what more is wanted about.

    After: Who is Captain Ahab? | A captain. | Tell me more | Tell me more about Captain Ahab.
    After: How do I clean the pump? | Rinse it. | go on | Tell me more about how to clean the pump.
    """
    if not _MORE.match(text):
        return None
    task, found = _TASK.match(turns[0].question), find_phrases(turns[0].question)
    topic = f"how to {task[1]}" if task else lower_first(found[0].text) if found else ""
    return f"Tell me more about {topic}." if topic else None


# "The second one", "the latter"


def resolve_ordinal(text: str, turns: Sequence[Turn]) -> str | None:
    """Put the item of a list for "the second one" or "the latter".

    After: Who are they? | They are Starbuck, Stubb and Flask. | Is the last one old? | Is Flask old?
    """
    found = _ORDINAL.search(text)
    if found is None or (found[1] and REFUSED.search(CITATION.sub("", turns[0].answer))):
        return None
    items = _find_items(turns[0]) if found[1] else _find_pair(turns[0])
    place = _ORDINALS.index(found[1].lower()) if found[1] else int(found[2].lower() == "latter")
    chosen = items[-1:] if place == _ORDINALS.index("last") else items[place : place + 1]
    is_sentence = items == SENTENCE.split(collapse(CITATION.sub("", turns[0].answer)))
    item = "".join(chosen) if is_sentence else re.split(r":\s|\s[–—]\s", "".join(chosen))[0]
    item = item.strip(" .*")
    if not item:
        return None
    said = lower_first(item) if len(item.split()) <= 6 else f"“{item}”"
    lead = re.sub(rf"{AND}(?:(?:what|how) about\s*)?", "", text[: found.start()])
    return f"{lead}{said}{text[found.end() :]}" if lead else f"Tell me more about {said}."


def _find_items(last: Turn) -> list[str]:
    """Return what the answer lists: its list, a series in one of its sentences, or its sentences."""
    answer = CITATION.sub("", last.answer)
    runs, sentences = _SERIES.findall(collapse(answer)), SENTENCE.split(collapse(answer))
    series = [re.split(r",\s+(?:and |or )?|\s+(?:and|or)\s+", run) for run in runs]
    return next((items for items in [list_items(answer), *series, sentences] if len(items) > 1), [])


def _find_pair(last: Turn) -> list[str]:
    """Return the first two things that question or answer joins with "and" or "or"."""
    sources = (last.question, read_answer(CITATION.sub("", last.answer)))
    pairs = [pair for source in sources for pair in find_coordinated(source, "and", "or")]
    return [phrase.text for phrase in pairs[0]] if pairs else []


# "And in winter?", "What about wolves?"


def complete_fragment(text: str, turns: Sequence[Turn]) -> str | None:
    """Ask the question before about something else.

    After: What do bears eat in summer? | Berries. | And in winter? | What do bears eat in winter?
    After: What do bears eat in summer? | Berries. | what about wolves? | What do wolves eat in summer?
    After: How long do the males live? | Ten years. | What about a puppy? | How long does a puppy live?
    """
    found, before = _FRAGMENT.match(text), turns[0].question
    if not found:
        return None
    rest = lower_first(replace_pronouns(found[3], turns) or found[3])
    words, fresh = tokenize(rest), find_phrases(rest)
    whole = any(
        is_listed(word.text, "auxiliaries", "question_words", "personal_pronouns") or is_verb(words, n)
        for n, word in enumerate(words)
    )
    if not fresh or whole or len(words) > 8:
        return None
    old = _find_counterpart(fresh[0], find_phrases(before), words[0].text.lower())
    if is_listed(words[0].text, "phrase_leads"):
        start = old.start - len(old.lead) - 1 if old else len(before)
        return f"{before[:start].strip()} {rest}{before[old.end :] if old else ''}?"
    if old is None or not (found[1] or found[2]):
        return None
    verb = _OTHER_NUMBER.get(old.lead) if fresh[0].plural != old.plural else None
    opening = f"{before[: old.start - len(old.lead) - 1]}{verb} " if verb else before[: old.start]
    return f"{opening}{rest}{before[old.end :]}?"


def _find_counterpart(new: Phrase, olds: Sequence[Phrase], lead: str) -> Phrase | None:
    """Return the phrase of the question before whose place a new one takes.

    After "in winter", a time after a preposition; else one with the same word, of the same sort, or a name.
    """
    time = new.sort == "time"
    if is_listed(lead, "phrase_leads"):
        near = (p for p in olds if is_listed(p.lead, "phrase_leads") and (p.sort == "time") == time)
        return next((p for p in near if time or p.lead == lead), None)
    content = {t.stem for t in tokenize(new.text) if not t.stop}
    found = [p for p in olds if content & {t.stem for t in tokenize(p.text)}]
    if " of " not in new.text:
        found += [p for p in olds if p.name == new.name and p.sort == new.sort]
        found += [p for p in olds if p.name and new.name and "" in (p.sort, new.sort) and _fits(p, new)]
        found += [p for p in olds if p.sort != "time" and not new.name and not time and len(content) <= 2]
    return found[0] if found else None


def _fits(old: Phrase, new: Phrase) -> bool:
    """Say whether a place may stand where the old phrase does."""
    led = old.lead == "of" or is_listed(old.lead, "phrase_leads", "auxiliaries")
    return new.sort != "place" or led


# Pronouns


def replace_pronouns(text: str, turns: Sequence[Turn]) -> str | None:
    """Put names for pronouns that mean somebody of the turns before.

    After: Who wrote Moby Dick? | Melville wrote it. | When was he born? | When was Melville born?
    After: Is the whale white? | Yes. | What does it eat? | What does the whale eat?
    After: Where does Ahab live? | In Nantucket. | What does he do there? | What does Ahab do in Nantucket?
    After: What is piuparts? | It is a testing tool. | How does it work? | How does piuparts work?
    After: What is the name of the ship? | The Dove. | Who owns it? | Who owns the ship?
    After: Which mail formats does it read? | Four. | List them | List the mail formats
    After: What is Ahab's leg like? | White. | Who was his father? | Who was Ahab's father?
    After: Who are the mates? | Flask was one of the wrought ones. | List them | List the mates
    """
    made, at, seen, taken = "", 0, set[str](), list[str]()
    for found in _PRONOUN.finditer(text):
        kind, meant = str(found.lastgroup), None
        if kind not in seen and _refers(text, found):
            seen.add(kind)
            meant = None if _is_resolved_inside(text, found, kind) else _find_antecedent(kind, turns, taken)
        if meant and meant.text.lower() not in text.lower():
            taken.append(meant.text)
            made, at = made + text[at : found.start()] + _inflect(text, found, meant), found.end()
    return re.sub(AND, "", made + text[at:]) if taken else None


def find_it(text: str) -> re.Match[str] | None:
    """Find the first "it" or "its" of a question that means something."""
    found = (one for one in _PRONOUN.finditer(text) if one[0].lower() in ("it", "its"))
    return next((one for one in found if _refers(text, one)), None)


def _find_antecedent(kind: str, turns: Sequence[Turn], taken: Sequence[str] = ()) -> Phrase | None:
    """Return what a pronoun means: the last question's subject, its other phrases, then the answer's.

    "Them" may be what the last two questions asked for, one each.
    """
    pair = _find_asked_pair(turns) if kind == "they" else None
    if pair:
        return pair
    for turn in turns:
        fitting = [p for p in _list_candidates(kind, turn) if _agrees(kind, p) and p.text not in taken]
        if fitting:
            meant = _choose_person(kind, fitting, turn) if kind in ("he", "she") else fitting[0]
            return meant._replace(text=lower_first(_OWNER.sub("", meant.text))) if meant else None
    return None


def _choose_person(kind: str, fitting: Sequence[Phrase], turn: Turn) -> Phrase | None:
    """Choose whom "he" or "she" means: one who is known to be a man or a woman before one who is not.

    Of two names in a question of whom nothing is known, none is chosen.
    """
    if fitting[0].sort:
        return fitting[0]
    asked = [phrase for phrase in fitting if phrase.text in turn.question]
    unknown = {_OWNER.sub("", phrase.text) for phrase in asked if not phrase.sort}
    doubted = None if len(unknown) > 1 else fitting[0]
    return next((phrase for phrase in asked if phrase.sort == kind), doubted)


def _find_asked_pair(turns: Sequence[Turn]) -> Phrase | None:
    """Join what the last two questions asked for: "What is a skiff?" and "What is a dinghy?"."""
    asked = [found["name"] for turn in turns[:2] if (found := _DEFINED.fullmatch(turn.question))]
    if len(asked) < 2 or asked[0].lower() == asked[1].lower():
        return None
    return Phrase(f"{asked[1]} and {asked[0]}", 0, 0, "", name=False)


def _list_asked(question: str) -> list[Phrase]:
    """Return the phrases of a question, what it is about before its name or purpose."""
    both = [p._replace(text=f"{p.text} and {q.text}") for p, q in find_coordinated(question, "and")]
    phrases = find_phrases(question)
    owners = [
        phrase._replace(text=phrase.text[found.end() :], start=phrase.start + found.end())
        for phrase in phrases
        if (found := _PROPERTY.match(phrase.text))
    ]
    found = _KIND_ASKED.match(question)
    kinds = (
        [Phrase(f"the {found['kinds']}", found.start("kinds"), found.end("kinds"), "", name=False)]
        if found
        else []
    )
    return [*both, *owners, *phrases, *kinds]


def _list_candidates(kind: str, turn: Turn) -> list[Phrase]:
    """Return the phrases of a turn; the answer's come first where the question asked who or where."""
    if kind == "it" and _ASKS_WHO.match(turn.question):
        # Who somebody is was asked, and nobody is an "it".
        return []
    asked = _list_asked(turn.question)
    question = turn.question.lower()
    told = [p for p in find_phrases(read_answer(turn.answer)) if p.text.lower() not in question]
    parsed, wanted = parse_question(turn.question), Expected.PLACE if kind == "there" else Expected.PERSON
    late = kind != "it" and parsed.expected is wanted and parsed.kind is not QuestionKind.DEFINITION
    # "Who are the mates?" says itself who "they" are.
    late = late and not (kind == "they" and _WHO_ARE.match(turn.question) is not None)
    late = late or (kind == "there" and not any(is_listed(p.lead, "phrase_leads") for p in asked))
    return [*told, *asked] if late else [*asked, *told]


def _agrees(kind: str, phrase: Phrase) -> bool:
    """Say whether a pronoun can stand for a phrase: "they" for a plural, "she" for no king."""
    place = phrase.sort == "place" or phrase.lead in ("in", "at", "from", "near")
    # "What is piuparts" asks for one thing, whatever its last letter.
    plural = phrase.plural and phrase.lead not in ("is", "was")
    if phrase.sort == "time" or (kind != "there" and (kind == "they") != plural):
        return False
    if kind in ("they", "there"):
        named = phrase.name and phrase.lead in ("to", "of", "on") and not phrase.sort
        return kind == "they" or place or named
    person = phrase.name and not place and phrase.text[:4].lower() != "the "
    sorts = ("", "place") if kind == "it" else (kind, "who", "" if person else kind)
    return phrase.sort in (*sorts, "beast")


def _inflect(text: str, found: re.Match[str], meant: Phrase) -> str:
    """Write a name as the pronoun was: "his" as "Ahab's", "there" as "in Nantucket"."""
    before, after = lower_words(text[: found.start()])[-1:], tokenize(text[found.end() :])[:1]
    low = found[0].lower()
    if low == "there":
        return f"{'to' if before and is_listed(before[0], 'motion_verbs') else 'in'} {meant.text}"
    noun_follows = after and not after[0].stop
    owns = low == "her" and noun_follows and not is_listed(after[0].text, "phrase_leads", "phrase_ends")
    if owns or low in ("his", "its", "their", "theirs", "hers"):
        return f"{meant.text}'" if meant.plural and meant.text.endswith("s") else f"{meant.text}'s"
    return meant.text


def _refers(text: str, found: re.Match[str]) -> bool:
    """Say whether a pronoun means somebody: not "it" in "is it true that", nor "there" in "is there"."""
    low, after = found[0].lower(), tokenize(text[found.end() :])
    before = ["", *lower_words(text[: found.start()])][-1]
    if low == "there":
        exists = re.match("is|are|was|were", before) or (after and is_listed(after[0].text, _BE))
        return bool(before and not exists)
    if low not in ("this", "that", "these", "those"):
        return low != "it" or not _EMPTY_IT.search(text)
    if not after:
        return bool(before) and not re.match("sa[iy]|th[io]|kn[eo]|d[io]|like|bel|prob", before)
    last = len(after) == 1 and is_listed(before, _BE)
    return last or (is_listed(before, "auxiliaries") and is_verb(after, 0))


def _is_resolved_inside(text: str, found: re.Match[str], kind: str) -> bool:
    """Say whether the question itself tells whom the pronoun means: "Did the king love his wife?"."""
    start, low, words, phrases = found.start(), found[0].lower(), [*lower_words(text), ""], find_phrases(text)
    opens = is_listed(words[0], "clause_joins", "phrase_leads")
    if phrases and opens and not is_listed(words[1], "auxiliaries", "question_words"):
        return True
    own = [p for p in phrases if p.end <= start and (kind != "there" or _agrees(kind, p))]
    if is_listed(low, "possessives"):
        gaps = [text[p.end : start].strip().lower() for p in own if {p.sort, kind} != {"he", "she"}]
        return any(not is_listed(gap, "phrase_leads") and gap not in ("of", "s", "than") for gap in gaps)
    said = [] if kind == "there" else _find_words_before(text, start)
    nested = low in ("he", "she", "they") and said and not is_listed(said[-1], "auxiliaries")
    after_with = said[-1:] == ["with"] and own
    return bool(nested or after_with) or any(is_listed(word, "clause_joins") for word in said)


def _find_words_before(text: str, start: int) -> list[str]:
    """Return the words from the first one that says something up to a place; a comma counts as "and"."""
    for token in tokenize(text[:start]):
        if not token.stop and not is_listed(token.text, "auxiliaries", "clause_joins"):
            return lower_words(text[token.start : start].replace(",", " and "))
    return []


# Answers


def _invert_answer(turn: Turn) -> str:
    """Turn an answer into the rest of a question: "The whale is white" into "is the whale white"."""
    said = read_answer(turn.answer)
    if opening := re.match(r"(?i)(?:he|she|it|they)\b", said):
        meant = _find_antecedent(opening[0].lower(), (Turn(turn.question, ""),))
        said = f"{meant.text}{said[opening.end() :]}" if meant else ""
    words, asked = tokenize(said), {t.stem for t in tokenize(turn.question) if not t.stop}
    long = len(words) > _MOST_ANSWER_WORDS
    if long or not asked & {t.stem for t in words} or re.search(r"[?!:;“”\"]", said):
        return ""
    for number, word in enumerate(words[1:9], start=1):
        low, subject, rest = word.text.lower(), lower_first(said[: word.start].strip()), said[word.end :]
        if is_listed(low, "clause_joins") or "," in subject:
            break
        if is_listed(low, "auxiliaries") and low[:2] not in ("ha", "do", "di"):
            return f"{low} {subject}{rest}"
        if is_verb(words, number):
            base = list_verbs().get(word.stem, "live")
            return f"{'do' if low == base else 'does' if low[-1] == 's' else 'did'} {subject} {base}{rest}"
    return ""


RULES: tuple[Rule, ...] = (
    complete_bare_question,
    add_event,
    ask_for_more,
    ask_for_source,
    ask_for_example,
    replace_one,
    resolve_ordinal,
    complete_fragment,
    replace_pronouns,
)
