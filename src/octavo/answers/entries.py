"""Find what a glossary or a reference says of one of its entries: a term, a command, an option, a key.

The book explains an entry under its name, and seldom names it again: "shift" has "Rename the parameters …".
No reader model takes that for an answer to "what does shift do?".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.text.english import list_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from octavo.answers.workspace import Workspace
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.model import MapQuote
    from octavo.verification.claims import Sentence

# So many sentences of an entry are quoted, if they have no more words than this.
MOST_SENTENCES, MOST_WORDS = 3, 80


async def find_entry(name: str, workspace: Workspace) -> list[Sentence]:
    """Find the first sentences of the entry of this name, if the book has only one."""
    opened = await workspace.open_map()
    entries = await run_blocking(list_entries, name, opened[1]) if opened else []
    if opened is None or len(entries) != 1:
        return []
    first = (await workspace.read_places(opened[0].id, entries))[:1]
    seen = await workspace.look_around(first[0]) if first else []
    return [*first, *await workspace.take(_choose_rest(first, seen))]


def list_entries(name: str, describer: MapDescriber) -> list[MapQuote]:
    """List what glossaries and references say of a name. "The -p option" is the entry "-p"."""
    words, nouns = name.split(), list_words("entry_nouns")
    while len(words) > 1 and words[-1].lower() in nouns:
        words = words[:-1]
    while len(words) > 1 and words[0].lower() in nouns:
        words = words[1:]
    left = " ".join(words)
    return describer.find_entries(name) or (describer.find_entries(left) if left.lower() not in nouns else [])


def _choose_rest(first: Sequence[Sentence], seen: Sequence[Sentence]) -> list[Sentence]:
    """Choose how the first sentence goes on in its block."""
    chosen = list(first)
    for sentence in seen:
        if not chosen or sentence.start < chosen[-1].end:
            continue
        words = sum(len(one.text.split()) for one in (*chosen, sentence))
        if sentence.block.begins(sentence.start) or words > MOST_WORDS:
            break
        chosen.append(sentence)
        if len(chosen) == MOST_SENTENCES:
            break
    return chosen[len(first) :]
