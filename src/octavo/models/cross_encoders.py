"""The cross-encoders of the data package: the reader, the verifiers, and the large model.

The reader scores how well a passage fits a question, whether it answers it at all, and which words do. The
verifier scores whether a passage supports a sentence. A second one learnt from what language models write,
and is asked by the gate. All three are small encoders trained from the embedder's own weights. The large
model does the work of reader and verifier, at four to five times the cost. From it a large verifier was
trained for the gate. The multilingual reader does the work of reader and verifier in many languages. All
were trained with `training/`, are checked by SHA-256, loaded on first use, and run without torch. Each
pair of texts is a batch of its own on one thread, and several pairs run in parallel: the same pair always
gets the same scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any
from unicodedata import combining

from octavo.errors import ModelError
from octavo.models import weights
from octavo.models.embedding import count_cores, load_tokenizer, open_session
from octavo.models.multilingual import END, START, MultilingualTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from octavo.settings import Settings

    Scores = NDArray[np.float32]

# The most word pieces of a question, of a claim, of all that the reader or the verifier sees, of an answer.
QUESTION_MOST, CLAIM_MOST, READ_MOST, CHECKED_MOST = 48, 80, 288, 320
LARGE_READ_MOST = 320
LONGEST = 30
NOWHERE = -99.0
_CLS, _SEP = 101, 102
# The marks around question and passage: [CLS], [SEP] between the two, [SEP] at the end.
_MARKS = 3


@dataclass(frozen=True, slots=True)
class HeadedText:
    """The text of a passage, and the headings it stands under."""

    text: str
    heading: str = ""

    @property
    def with_heading(self) -> str:
        return f"{self.heading}: {self.text}" if self.heading else self.text


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """The words that answer best, by their characters. `margin` is their lead over "no answer"."""

    margin: float
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PassageScore:
    """The reader's scores of one passage. `rank` compares passages, `answerable` is in log odds."""

    rank: float
    answerable: float
    _silence: float
    _begins: Scores
    _ends: Scores
    _places: NDArray[np.int32]

    def find_answer(self, start: int, end: int) -> AnswerSpan:
        """Find the words that answer best among the characters `start` to `end` of the passage."""
        import numpy as np

        inside = np.flatnonzero((self._places[:, 0] >= start) & (self._places[:, 1] <= end))
        if not len(inside):
            return AnswerSpan(NOWHERE)
        first, last = int(inside[0]), int(inside[-1]) + 1
        total = self._begins[first:last, None] + self._ends[None, first:last]
        total[~(np.tri(last - first, k=LONGEST - 1, dtype=bool) & np.tri(last - first, dtype=bool).T)] = (
            NOWHERE
        )
        begin, stop = np.unravel_index(int(total.argmax()), total.shape)
        margin = float(total[begin, stop]) - self._silence
        places = self._places[first:last]
        return AnswerSpan(round(margin, 4), int(places[begin, 0]), int(places[stop, 1]))


class Reader:
    """Scores passages for a question. Blocking: call it through `concurrency.run_blocking`."""

    name = weights.READER.name
    _most = READ_MOST

    def __init__(self, *, threads: int = 0) -> None:
        self._model = _PairModel(weights.READER, threads=threads)

    def read(self, question: str, passages: Sequence[HeadedText]) -> list[PassageScore]:
        asked = self._model.split(question)[0][:QUESTION_MOST]
        return self._model.map(lambda passage: self._read_one(asked, passage), passages)

    def count_pieces(self, question: str, passage: HeadedText) -> int:
        """Count the word pieces of question and passage that `read` would see, with the model's own marks."""
        asked = min(QUESTION_MOST, len(self._model.split(question)[0]))
        return min(self._most, asked + len(self._model.split(passage.with_heading)[0]) + _MARKS)

    def _read_one(self, asked: list[int], passage: HeadedText) -> PassageScore:
        import numpy as np

        ids, places = self._model.split(passage.with_heading)
        room = self._most - len(asked) - _MARKS
        out = self._model.run(asked, ids[:room])
        shift, begin = len(passage.with_heading) - len(passage.text), len(asked) + 2
        span = out["span"][0]
        return PassageScore(
            rank=float(out["rank"][0, 0]),
            answerable=float(out["answerable"][0, 0]),
            _silence=float(span[0, 0] + span[0, 1]),
            _begins=span[begin : begin + len(ids[:room]), 0],
            _ends=span[begin : begin + len(ids[:room]), 1],
            _places=np.array(places[:room], np.int32).reshape(-1, 2) - shift,
        )


def split_long(pieces: list[int], *, most: int) -> list[list[int]]:
    """Split word pieces into parts of at most `most`, each beginning in the middle of the one before."""
    if len(pieces) <= most:
        return [pieces]
    starts = range(0, len(pieces) - most // 2, most // 2)
    return [pieces[start : start + most] for start in starts]


class Verifier:
    """Scores whether passages support a claim. Blocking: call it through `concurrency.run_blocking`."""

    def __init__(self, *, threads: int = 0, shipped: weights.ShippedModel = weights.VERIFIER) -> None:
        self.name = shipped.name
        if isinstance(shipped, weights.LargeShippedModel):
            self._model: _PairModel = _LargePairModel(shipped, threads=threads)
        else:
            self._model = _PairModel(shipped, threads=threads)

    def score_support(self, claim: str, passages: Sequence[str]) -> list[float]:
        """Return for each passage the log odds that it supports the claim.

        A long claim is read in parts that overlap, and is as well supported as the worst of them.
        """
        parts = split_long(self._model.split(claim)[0], most=CLAIM_MOST)
        room = CHECKED_MOST - CLAIM_MOST

        def score_one(passage: str) -> float:
            pieces = self._model.split(passage)[0][:room]
            return min(float(self._model.run(part, pieces)["support"][0, 0]) for part in parts)

        return self._model.map(score_one, passages)


class LargeModel(Reader, Verifier):
    """Does the work of the reader and of the verifier with one large encoder, which is loaded once for both.

    It reads up to 320 pieces. Blocking: call it through `concurrency.run_blocking`.
    """

    _most = LARGE_READ_MOST

    def __init__(self, *, threads: int = 0, shipped: weights.LargeShippedModel | None = None) -> None:
        chosen = shipped or weights.LARGE
        self.name = chosen.name
        self._model = _LargePairModel(chosen, threads=threads)


class MultilingualReader(Reader, Verifier):
    """Reads passages and checks claims in any language, also a question in another language than the book.

    Blocking: call it through `concurrency.run_blocking`.
    """

    _most = LARGE_READ_MOST

    def __init__(self, *, threads: int = 0, table: MultilingualTable | None = None) -> None:
        """`table` holds the words, which the multilingual embedder may have loaded already."""
        self.name = weights.MULTILINGUAL_READER.name
        self._model = _MultilingualPairModel(weights.MULTILINGUAL_READER, threads=threads, table=table)


class LocalModels:
    """The models that read and verify. Their files are read on first use, by whichever thread comes first.

    `Settings.reader` says which of them answers questions; one that is not asked is never loaded.
    """

    def __init__(self, settings: Settings) -> None:
        self.reader = Reader(threads=settings.threads)
        self.verifier = Verifier(threads=settings.threads)
        self.gate = Verifier(threads=settings.threads, shipped=weights.GATE)
        self.gate_large = Verifier(threads=settings.threads, shipped=weights.GATE_LARGE)
        self.large = LargeModel(threads=settings.threads)
        self.multilingual = MultilingualReader(threads=settings.threads)


class _PairModel:
    """Runs a graph of `training/pair_graph.py`, which takes two texts at a time."""

    # The marks before the first text, and after each of the two.
    _start, _end = _CLS, _SEP

    def __init__(self, shipped: weights.ShippedModel, *, threads: int) -> None:
        self._shipped, self._threads = shipped, threads or count_cores()
        self._loading = Lock()

    @cached_property
    def _session(self) -> Any:
        return open_session(self._shipped.find())

    @cached_property
    def _encoder(self) -> Any:
        return load_tokenizer(weights.find_tokenizer())

    def _load(self) -> None:
        self._encoder, self._session  # noqa: B018

    def split(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Split into word pieces without the model's own marks, and the characters each one covers."""
        with self._loading:
            self._load()
        encoded = self._encoder.encode(text, add_special_tokens=False)
        return encoded.ids, encoded.offsets if text.isascii() else _extend_over_accents(encoded.offsets, text)

    def map(self, work: Any, items: Sequence[Any]) -> list[Any]:
        if len(items) < 2 or self._threads == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(min(self._threads, len(items))) as pool:
            return list(pool.map(work, items))

    def run(self, first: list[int], second: list[int]) -> dict[str, Scores]:
        ids = [self._start, *first, self._end, *second, self._end]
        kinds = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        try:
            outputs = [output.name for output in self._session.get_outputs()]
            return dict(zip(outputs, self._session.run(outputs, self._feed(ids, kinds)), strict=True))
        except Exception as failed:
            raise ModelError(f"{self._shipped.file} failed on {len(ids)} pieces: {failed}") from failed

    def _feed(self, ids: list[int], kinds: list[int]) -> dict[str, NDArray[Any]]:
        import numpy as np

        values = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": kinds}
        return {name: np.array([value], np.int64) for name, value in values.items()}


class _LargePairModel(_PairModel):
    """Runs the large graph, which takes the vectors of the words. Their table stays on the disk."""

    def __init__(self, shipped: weights.LargeShippedModel, *, threads: int) -> None:
        super().__init__(shipped, threads=threads)
        self._large = shipped

    @cached_property
    def _session(self) -> Any:
        # The graph is written in the form that runs fastest; the engine would make it slower.
        return open_session(self._large.find(), fuse=False)

    @cached_property
    def _words(self) -> NDArray[Any]:
        import numpy as np

        table: NDArray[Any] = np.load(self._large.find_words(), mmap_mode="r", allow_pickle=False)
        return table

    def _load(self) -> None:
        super()._load()
        self._words  # noqa: B018

    def _feed(self, ids: list[int], kinds: list[int]) -> dict[str, NDArray[Any]]:
        import numpy as np

        rows = self._words[ids]
        words = rows["steps"] * rows["scale"][:, None]
        return {"words": words[None], "token_type_ids": np.array([kinds], np.int64)}


class _MultilingualPairModel(_PairModel):
    """Runs the multilingual graph, which takes the vectors of the words, with a vocabulary of its own."""

    _start, _end = START, END

    def __init__(
        self, shipped: weights.MultilingualModel, *, threads: int, table: MultilingualTable | None
    ) -> None:
        super().__init__(shipped, threads=threads)
        self._table = table or MultilingualTable(shipped)

    def _load(self) -> None:
        self._session  # noqa: B018

    def split(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Split into word pieces and the characters each one covers, without the space before a word."""
        with self._loading:
            self._load()
        (encoded,) = self._table.encode([text])
        places = [(_skip_spaces(text, start, end), end) for start, end in encoded.offsets]
        return encoded.ids, places

    def _feed(self, ids: list[int], kinds: list[int]) -> dict[str, NDArray[Any]]:
        import numpy as np

        return {
            "words": self._table.read(ids)[None],
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "token_type_ids": np.array([kinds], np.int64),
        }


def _skip_spaces(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _extend_over_accents(places: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Add to each place the combining accents that follow it: the tokenizer drops those."""
    extended = []
    for start, end in places:
        while end < len(text) and combining(text[end]):
            end += 1
        extended.append((start, end))
    return extended
