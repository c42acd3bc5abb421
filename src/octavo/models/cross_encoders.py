"""The models that come with Octavo: one reads a passage for a question, the other checks a sentence.

The reader tells how well a passage fits a question, whether it answers it at all, and which words do. The
verifier tells whether a passage bears a sentence out. Both are small encoders trained from the embedder's own
weights (`training/`), checked by SHA-256, loaded when they are first needed, and run without torch. A pair of
texts goes through by itself on one thread, several pairs side by side: the same pair gives the same scores in
any company.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import exp, log1p
from threading import Lock
from typing import TYPE_CHECKING, Any
from unicodedata import combining

from octavo.errors import ModelError
from octavo.models import weights
from octavo.models.embedding import cores, session, tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from octavo.settings import Settings

    Scores = NDArray[np.float32]

QUESTION_MOST, CLAIM_MOST, READ_MOST, CHECKED_MOST = 48, 80, 288, 320
LONGEST = 30  # pieces of an answer
NOWHERE = -99.0
_CLS, _SEP = 101, 102


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to be read, and the headings it stands under."""

    text: str
    heading: str = ""

    @property
    def introduced(self) -> str:
        return f"{self.heading}: {self.text}" if self.heading else self.text


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a stretch that answer best, by their characters; `margin`: how far before "no answer"."""

    margin: float
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PassageScore:
    """What the reader makes of one passage. `rank` compares passages, `answerable` is in log odds."""

    rank: float
    answerable: float
    _silence: float
    _begins: Scores
    _ends: Scores
    _places: NDArray[np.int32]

    @property
    def fit(self) -> float:
        """How well the passage suits the question, beside others: is it about it, and may it answer?

        How far a passage is from answering tells nothing; so that part levels off.
        """
        return self.rank + 2 * log1p(exp(min(self.answerable, 30.0)))

    def within(self, start: int, end: int) -> Words:
        """The words that answer best among the characters `start` to `end` of the passage."""
        import numpy as np

        inside = np.flatnonzero((self._places[:, 0] >= start) & (self._places[:, 1] <= end))
        if not len(inside):
            return Words(NOWHERE)
        first, last = int(inside[0]), int(inside[-1]) + 1
        total = self._begins[first:last, None] + self._ends[None, first:last]
        total[~(np.tri(last - first, k=LONGEST - 1, dtype=bool) & np.tri(last - first, dtype=bool).T)] = (
            NOWHERE
        )
        begin, stop = np.unravel_index(int(total.argmax()), total.shape)
        margin = float(total[begin, stop]) - self._silence
        places = self._places[first:last]
        return Words(round(margin, 4), int(places[begin, 0]), int(places[stop, 1]))


class Reader:
    """Blocking: call it through `concurrency.run_blocking`."""

    name = weights.READER.name

    def __init__(self, *, threads: int = 0) -> None:
        self._pairs = _Pairs(weights.READER, threads=threads)

    def read(self, question: str, passages: Sequence[Passage]) -> list[PassageScore]:
        asked = self._pairs.pieces(question)[0][:QUESTION_MOST]
        return self._pairs.each(lambda passage: self._score(asked, passage), passages)

    def _score(self, asked: list[int], passage: Passage) -> PassageScore:
        import numpy as np

        ids, places = self._pairs.pieces(passage.introduced)
        room = READ_MOST - len(asked) - 3
        out = self._pairs.run(asked, ids[:room])
        shift, begin = len(passage.introduced) - len(passage.text), len(asked) + 2
        span = out["span"][0]
        return PassageScore(
            rank=float(out["rank"][0, 0]),
            answerable=float(out["answerable"][0, 0]),
            _silence=float(span[0, 0] + span[0, 1]),
            _begins=span[begin : begin + len(ids[:room]), 0],
            _ends=span[begin : begin + len(ids[:room]), 1],
            _places=np.array(places[:room], np.int32).reshape(-1, 2) - shift,
        )


class Verifier:
    """Blocking: call it through `concurrency.run_blocking`."""

    name = weights.VERIFIER.name

    def __init__(self, *, threads: int = 0) -> None:
        self._pairs = _Pairs(weights.VERIFIER, threads=threads)

    def support(self, claim: str, passages: Sequence[str]) -> list[float]:
        """For each passage the log odds that it bears the claim out."""
        claimed = self._pairs.pieces(claim)[0][:CLAIM_MOST]
        room = CHECKED_MOST - CLAIM_MOST

        def one(passage: str) -> float:
            out = self._pairs.run(claimed, self._pairs.pieces(passage)[0][:room])
            return float(out["support"][0, 0])

        return self._pairs.each(one, passages)


class LocalModels:
    """Both. Their files are read when they are first used, by whichever thread comes first."""

    def __init__(self, settings: Settings) -> None:
        self.reader = Reader(threads=settings.threads)
        self.verifier = Verifier(threads=settings.threads)


class _Pairs:
    """Two texts at a time through a graph of `models.pair_graph`."""

    def __init__(self, shipped: weights.Shipped, *, threads: int) -> None:
        self._shipped, self._threads = shipped, threads or cores()
        self._loading = Lock()

    @cached_property
    def _session(self) -> Any:
        return session(self._shipped.find())

    @cached_property
    def _encoder(self) -> Any:
        return tokenizer(weights.shipped_tokenizer())

    def pieces(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Word pieces without the model's own marks, and the characters each one covers."""
        with self._loading:
            self._encoder, self._session  # noqa: B018
        encoded = self._encoder.encode(text, add_special_tokens=False)
        return encoded.ids, encoded.offsets if text.isascii() else _with_marks(encoded.offsets, text)

    def each(self, work: Any, given: Sequence[Any]) -> list[Any]:
        if len(given) < 2 or self._threads == 1:
            return [work(item) for item in given]
        with ThreadPoolExecutor(min(self._threads, len(given))) as pool:
            return list(pool.map(work, given))

    def run(self, first: list[int], second: list[int]) -> dict[str, Scores]:
        import numpy as np

        ids = [_CLS, *first, _SEP, *second, _SEP]
        kinds = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        values = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": kinds}
        feeds = {name: np.array([value], np.int64) for name, value in values.items()}
        try:
            outputs = [output.name for output in self._session.get_outputs()]
            return dict(zip(outputs, self._session.run(outputs, feeds), strict=True))
        except Exception as failed:
            raise ModelError(f"{self._shipped.file} failed on {len(ids)} pieces: {failed}") from failed


def _with_marks(places: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """The places with the accents that follow a letter as signs of their own: the tokenizer drops those."""
    found = []
    for start, end in places:
        while end < len(text) and combining(text[end]):
            end += 1
        found.append((start, end))
    return found
