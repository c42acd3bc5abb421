"""Leaves the name of a book's subject out of a question, so that the question can be embedded without it.

A report on Boeing has "Boeing" on every other page. In a question to that report the name says nothing, but
it draws the vector to pages that speak of the company in general. The search by words knows that, because a
word that many passages have weighs little; the embedder does not. A report that calls its company "we" has
the name less often, but has it in the title.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from octavo.records.words import ANY_WORD

if TYPE_CHECKING:
    from octavo.store.bm25 import Bm25Encoder

# A name that one in so many passages has is that of the subject. Of a name in the book's title, fewer do.
ONE_IN, ONE_IN_TITLED = 7, 20
# Fewer passages, with the name or in all, prove nothing.
FEWEST_WITH_NAME, FEWEST_PASSAGES = 5, 20
# With fewer words than this a question is left as it is.
FEWEST_WORDS = 3
_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")
_POSSESSIVE = re.compile(r"[’']s$")


def leave_out_subject(
    question: str, counts: Mapping[int, int], encoder: Bm25Encoder, *, title: str = ""
) -> str:
    """Return the question without the names that many passages of the book have.

    A name is a word with a capital, except the first. `counts` has how many passages have each word; it is
    empty if nobody has counted the words of the book.
    """
    passages = counts.get(ANY_WORD, 0)
    if passages < FEWEST_PASSAGES:
        return question
    titled = encoder.encode_query(title).keys()
    least, least_titled = (max(passages / share, FEWEST_WITH_NAME) for share in (ONE_IN, ONE_IN_TITLED))

    def keep(found: re.Match[str]) -> str:
        word = _POSSESSIVE.sub("", found[0])
        if not word[0].isupper() or (found.start() == 0 and not word.isupper()):
            return found[0]
        for index in encoder.encode_query(word):
            if counts.get(index, 0) >= (least_titled if index in titled else least):
                return ""
        return found[0]

    bare = " ".join(_WORD.sub(keep, question).split())
    return bare if len(_WORD.findall(bare)) >= FEWEST_WORDS else question
