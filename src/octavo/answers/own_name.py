"""Put the word by which a book calls itself in the place of the reader's: "the purpose of this document".

Readers speak of "the book". The book speaks of "this manual" or "this document", and a question in its own
word finds what it says of itself.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking

if TYPE_CHECKING:
    from collections.abc import Iterable

    from octavo.answers.workspace import Workspace

_KINDS = "book|manual|document|guide|handbook|reference|tutorial|documentation|textbook|report|paper"
# "The document" and "the reference" may be things that a book speaks of.
_ASKED = re.compile(
    rf"\b(?:the (?P<the>book|manual|handbook|textbook)|this (?P<this>{_KINDS}))\b(?! of\b)", re.IGNORECASE
)
_OWN = re.compile(rf"\b[Tt]his (?P<kind>{_KINDS})\b")
# So often a book has to call itself by a word.
LEAST = 2


async def ask_in_own_word(question: str, workspace: Workspace) -> str | None:
    """Return a question with the book's own word for itself, or None if it has the word or no other."""
    asked = _ASKED.search(question)
    if asked is None:
        return None
    sections, visible = await workspace.list_sections()
    own = await run_blocking(find_own_word, [s.text for s in sections if s.id in visible])
    if own is None or own == (asked["the"] or asked["this"]).lower():
        return None
    return f"{question[: asked.start()]}this {own}{question[asked.end() :]}"


def find_own_word(texts: Iterable[str]) -> str | None:
    """Find the word by which a text calls itself most: "document" if it says "this document"."""
    counts = Counter(found["kind"] for text in texts for found in _OWN.finditer(text))
    word, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    return word if count >= LEAST else None
