"""Makes claims in a passage's own words by rule: a lie beside an honest claim that looks like it.

    python training/own_words.py DATA SUITE TARGET

The passages are those of `passages.py`, of the part `fit`. Where a sentence has a condition, a hedge, a limit
or a denial, the lie drops or changes it, and the honest claim keeps it. Two sentences that follow each other
are joined: honestly by "and", or by a cause or an order in time that the passage does not tell. And what one
sentence says is said of another sentence's subject.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from passages import find_part, list_passages, split_text
from written import write_rows

IF_FIRST = re.compile(r"(If|When|Unless|Once|Until|After|Before|Where) ([^,;:]{8,90}), (.{15,})")
IF_LAST = re.compile(r"(.{20,}?),? (if|unless|until|only if|only when|except when) ([^,;:]{8,90})\.")
SPEAKER = re.compile(
    r"([A-Z][^,;.]{2,40}?) (?:said|says|believed|believes|claimed|claims|argued|argues|thought|thinks"
    r"|suggested|suggests|reported|feared|hoped|supposed) that (.{15,})"
)
DENIED = re.compile(r"(?<= )(?:not|never|hardly|scarcely|barely) (?=[a-z])")
TRIED = re.compile(
    r"\b(?:tried|wanted|hoped|wished|planned|intended|refused|failed|began|threatened) to (\w+)"
)
OTHERS = {
    "may": "must", "might": "will", "can": "must", "should": "may", "would": "will", "must": "may",
    "perhaps": "certainly", "probably": "certainly", "possibly": "certainly", "usually": "always",
    "often": "always", "sometimes": "always", "generally": "always", "nearly": "exactly", "rarely": "often",
    "seldom": "often", "partly": "entirely", "mostly": "entirely", "mainly": "entirely",
    "some of the": "all of the", "most of the": "all of the", "many of the": "none of the",
    "few of the": "most of the", "some": "all", "most": "all", "many": "all", "few": "many", "several": "all",
    "at most": "at least", "at least": "at most", "up to": "more than", "fewer than": "more than",
    "less than": "more than", "more than": "less than", "only": "even",
}  # fmt: skip
OTHER = re.compile(
    rf"(?<!the )(?<!a )(?<!very )\b(?:{'|'.join(sorted(OTHERS, key=len, reverse=True))}) (?=[a-z\d])"
)
SUBJECT = re.compile(
    r"((?:(?:The|A|An|His|Her|Their|Its|This|These|Our|My|Every|Each|All|Some) )?"
    r"(?:[\w'’-]+ ){0,3}?[\w'’-]+) "
    r"((?:is|are|was|were|has|have|had|can|may|will|must|should|could|would|did|does)\b.{10,}"
    r"|\w+(?:ed|s) (?:the|a|an|his|her|its|their|to|in|on|by|with|from|for|that|into|at)\b.{5,})"
)
ASIDE = re.compile(r", (?:which|who|whose|where|with|including|such as|for example)\b[^,;]{5,80},")
NO_NAME = re.compile(
    r"(?:he|she|it|they|we|i|you|this|these|there|that|what|who|which|the|an?|his|her|its|their|some|all|in|on)",
    re.IGNORECASE,
)
LINKS = ("because", "so that", "and therefore", "after", "before", "which is why", "even though", "only if")
Pair = tuple[str, str]


def lower(text: str) -> str:
    """A text as it goes on inside a sentence."""
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first != "I" and NO_NAME.fullmatch(first) else text


def end(text: str) -> str:
    text = text.strip().rstrip(".,;:")
    return text[:1].upper() + text[1:] + "."


def shorten(claim: str, chance: random.Random) -> str:
    """Drop what stands in brackets, and mostly an aside between commas."""
    bare = re.sub(r"\s*\([^)]*\)", "", claim)
    return ASIDE.sub("", bare, count=1) if chance.random() < 0.7 else bare


def lose_condition(sentence: str) -> Pair | None:
    if found := IF_FIRST.fullmatch(sentence):
        word, when, what = found.groups()
        return end(f"{what.rstrip('.')} {word.lower()} {when}"), end(what)
    if found := IF_LAST.fullmatch(sentence):
        what, word, when = found.groups()
        return end(f"{word} {when}, {lower(what)}"), end(what)
    return None


def lose_speaker(sentence: str) -> Pair | None:
    found = SPEAKER.fullmatch(sentence)
    return (end(f"According to {lower(found[1])}, {lower(found[2])}"), end(found[2])) if found else None


def change_limit(sentence: str) -> Pair | None:
    found = OTHER.search(sentence)
    if not found:
        return None
    return sentence, sentence[: found.start()] + OTHERS[found[0].strip()] + sentence[found.end() - 1 :]


def lose_denial(sentence: str) -> Pair | None:
    found = DENIED.search(sentence)
    return (sentence, sentence[: found.start()] + sentence[found.end() :]) if found else None


def do_it(sentence: str) -> Pair | None:
    found = TRIED.search(sentence)
    if not found:
        return None
    deed = found[1] + ("d" if found[1].endswith("e") else "ed")
    return sentence, sentence[: found.start()] + deed + sentence[found.end() :]


def join(first: str, second: str, chance: random.Random) -> Pair:
    """Two sentences as one."""
    one, two = first.rstrip("."), lower(second)
    return end(f"{one}, and {two}"), end(f"{one} {chance.choice(LINKS)} {two}")


def stitch(first: str, second: str) -> Pair | None:
    """What the second sentence says, and the same said of the subject of the first."""
    one, two = SUBJECT.fullmatch(first), SUBJECT.fullmatch(second)
    if not one or not two or NO_NAME.fullmatch(one[1]) or NO_NAME.fullmatch(two[1]):
        return None
    plural = [found[1].endswith("s") for found in (one, two)]
    if one[1].lower() == two[1].lower() or plural[0] != plural[1]:
        return None
    said = two[2].split(", ")[0]
    return end(f"{two[1]} {said}"), end(f"{one[1]} {said}")


CHANGES: Sequence[Callable[[str], Pair | None]] = (
    lose_condition,
    lose_speaker,
    change_limit,
    lose_denial,
    do_it,
)


def is_plain(sentence: str) -> bool:
    return 7 <= len(sentence.split()) <= 45 and sentence.endswith(".") and not {*'"“”'} & {*sentence}


def make_claims(sentences: Sequence[str], chance: random.Random) -> Iterator[tuple[str, int, bool]]:
    """Claims about sentences that follow each other: text, the sentence's place, whether it is honest."""
    for n, sentence in enumerate(sentences):
        if not is_plain(sentence):
            continue
        made = [change(sentence) for change in CHANGES]
        follows = sentences[n + 1] if n + 1 < len(sentences) else ""
        if is_plain(follows):
            made.append(join(sentence, follows, chance) if chance.random() < 0.12 else None)
            made.append(stitch(sentence, follows))
        for pair in filter(None, made):
            yield from (
                (shorten(claim, chance), n, honest) for claim, honest in zip(pair, (True, False), strict=True)
            )


def main(data: Path, suite: Path, target: Path, *, most: int = 240) -> None:
    chance, made = random.Random(7), []
    for book, (_, passages) in sorted(list_passages(data, suite).items()):
        if find_part(book) != "fit":
            continue
        every = list(dict.fromkeys(passages))
        chance.shuffle(every)
        for heading, text in every[:most]:
            sentences = split_text(text)
            found = list(make_claims(sentences, chance))
            for claim, at, honest in chance.sample(found, min(4, len(found))):
                about = {"heading": heading, "sentences": sentences, "at": at}
                made.append(about | {"c": claim, "honest": honest})
    write_rows(target, made)
    print(f"{len(made):,} claims, {sum(row['honest'] for row in made):,} of them honest")


if __name__ == "__main__":
    main(*(Path(name) for name in sys.argv[1:]))
