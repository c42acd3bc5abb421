"""A reader that thinks what a test tells it to, and notes what it was given to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from octavo.models.cross_encoders import HeadedText, PassageScore, Reader

WIDE = 8  # characters of a piece


class ScriptedReader(Reader):
    """A passage ranks as high as the words in it that `ranks` names; `answer` is where those words are."""

    def __init__(self, ranks: Mapping[str, float] | None = None, *, answer: str = "") -> None:
        self.ranks, self.answer = ranks or {}, answer
        self.read_for: list[tuple[str, tuple[HeadedText, ...]]] = []

    @property
    def count(self) -> int:
        return sum(len(passages) for _, passages in self.read_for)

    def read(self, question: str, passages: Sequence[HeadedText]) -> list[PassageScore]:
        self.read_for.append((question, tuple(passages)))
        return [self._told(passage.text) for passage in passages]

    def _told(self, text: str) -> PassageScore:
        rank = sum(value for words, value in self.ranks.items() if words in text)
        return make_passage_score(text, self.answer, rank=rank, answerable=rank)


class ScriptedLarge(ScriptedReader):
    """A large model: every pair of texts has so many word pieces, and every claim the same support."""

    name = "large-scripted"

    def __init__(
        self,
        ranks: Mapping[str, float] | None = None,
        *,
        answer: str = "",
        pieces: int = 100,
        support: float = 0.0,
    ) -> None:
        super().__init__(ranks, answer=answer)
        self.pieces, self.support = pieces, support
        self.claims: list[str] = []

    def count_pieces(self, question: str, passage: HeadedText) -> int:
        return self.pieces

    def score_support(self, claim: str, passages: Sequence[str]) -> list[float]:
        self.claims.append(claim)
        return [self.support for _ in passages]


def make_passage_score(text: str, answer: str, *, rank: float = 0.0, answerable: float = 0.0) -> PassageScore:
    """As if the reader were sure of `answer`, where that stands in the text, and of nothing otherwise."""
    at = text.find(answer) if answer else -1
    cuts = sorted({0, len(text), *range(0, len(text), WIDE), *((at, at + len(answer)) if at >= 0 else ())})
    places = [(a, b) for a, b in pairwise(cuts)]
    begins = [6.0 if a == at else 0.0 for a, _ in places]
    ends = [6.0 if at >= 0 and b == at + len(answer) else 0.0 for _, b in places]
    first, last = (np.array(values, np.float32) for values in (begins, ends))
    return PassageScore(rank, answerable, 3.0, first, last, np.array(places, np.int32).reshape(-1, 2))
