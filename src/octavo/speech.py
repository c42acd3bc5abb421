"""How a sentence speaks: whether it asks, is about the one who speaks, or begins with "No".

A question claims nothing, and what a speaker says about himself is in no passage that does not speak of an
"I". Rough and for English; where these are not sure, the sentence is an ordinary claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from octavo.wordforms import little, split, written

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
