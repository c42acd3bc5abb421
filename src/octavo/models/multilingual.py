"""The embedder for books in other languages than English: multilingual-e5-small, trained on by us.

Its vocabulary has 250,000 pieces, and their table is larger than all the rest. So the table is a file of its
own that stays on the disk, in which a value has 4 bits and 32 values share a scale, and only the rows of a
text's own pieces are read. Questions and passages get the words in front of them that the model learnt with
(`query: `, `passage: `), so a question has another vector than the same words in a book.

Everything is loaded on first use: a library of English books loads none of it.
"""

from __future__ import annotations

import lzma
import struct
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from octavo.errors import ModelError, WeightsError
from octavo.models import weights
from octavo.models.embedding import count_cores, embed_each, normalise, open_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZE = 384
MOST_PIECES = 264
"""How many pieces the model reads here, its own marks and the words in front of a text included."""
ROW = [("scales", "<f2", (SIZE // 32,)), ("codes", "u1", (SIZE // 2,))]
"""A row of the table: a scale for each 32 values, and two values in each byte."""
QUERY, PASSAGE = "query: ", "passage: "
START, END = 0, 2
# Its cosines have a scale of their own. Measured on questions and passages that belong together, and on those
# that do not, beside the English model: see docs/languages.md.
NEUTRAL, SCALE = 0.217, 1.89
# The published weights, which shipped before they were trained on: the vectors of both lie close together.
_EARLIER = ("multilingual-e5-small:int8:4439cc72a8da:264:384",)
_UNKNOWN = 3
_MARKS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# The marks at both ends, and the pieces of "passage: ".
_AROUND = 2 + 3
_COUNT_BATCH = 1024


class MultilingualTable:
    """The pieces of the vocabulary and their vectors, for all models made from multilingual-e5-small."""

    def __init__(self, shipped: weights.MultilingualModel = weights.MULTILINGUAL) -> None:
        self._shipped = shipped
        self._loading = Lock()

    def load(self) -> None:
        """Load both, once. Any thread may be the first."""
        with self._loading:
            self._rows, self._tokenizer  # noqa: B018

    def encode(self, texts: Sequence[str]) -> list[Any]:
        """Split texts into pieces, without marks around them."""
        self.load()
        encoded: list[Any] = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return encoded

    def count(self, texts: Sequence[str]) -> list[int]:
        self.load()
        return [len(e) for e in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def read(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of these pieces."""
        self.load()
        return unpack_rows(self._rows[list(ids)])

    @cached_property
    def _rows(self) -> NDArray[Any]:
        import numpy as np

        table: NDArray[Any] = np.load(self._shipped.find_words(), mmap_mode="r", allow_pickle=False)
        return table

    @cached_property
    def _tokenizer(self) -> Any:
        return load_vocabulary(self._shipped.find_vocabulary())


def unpack_rows(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return the vectors that rows of the table stand for."""
    import numpy as np

    codes = rows["codes"].reshape(len(rows), -1, 16)
    values = np.concatenate([codes & 15, codes >> 4], axis=-1).astype(np.int8) - np.int8(8)
    vectors: NDArray[np.float32] = values * rows["scales"].astype(np.float32)[..., None]
    return vectors.reshape(len(rows), SIZE)


def load_vocabulary(path: Path) -> Any:
    """Build the tokenizer of XLM-RoBERTa from its pieces and their scores."""
    import numpy as np
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    try:
        data = lzma.decompress(path.read_bytes())
        (count,) = struct.unpack_from("<I", data)
        scores = np.frombuffer(data, "<f4", count, 4).tolist()
        pieces = data[4 + 4 * count :].decode().split("\n")
        # The model's own marks never stand in a text: a book that writes "</s>" means these characters.
        pieces = [f"\0{piece}" if piece in _MARKS else piece for piece in pieces]
        model = models.Unigram(list(zip(pieces, scores, strict=True)), _UNKNOWN, False)
    except (OSError, lzma.LZMAError, struct.error, ValueError) as failed:
        raise WeightsError(
            f"{path} cannot be read: {failed}", hint="Install the model files again."
        ) from failed
    tokenizer = Tokenizer(model)
    # The types that come with the library know none of the attributes.
    made: Any = tokenizer
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    return made


class MultilingualEmbedder:
    """Embeds passages with `embed` and questions with `embed_queries`. Blocking."""

    def __init__(
        self,
        *,
        threads: int = 0,
        shipped: weights.MultilingualModel = weights.MULTILINGUAL,
        table: MultilingualTable | None = None,
    ) -> None:
        self._shipped, self._threads = shipped, threads or count_cores()
        self._table = table or MultilingualTable(shipped)
        self._opening = Lock()

    @property
    def fingerprint(self) -> str:
        return f"{self._shipped.name}:int8:{self._shipped.sha256[:12]}:{MOST_PIECES}:{SIZE}"

    @property
    def replaces(self) -> Collection[str]:
        return _EARLIER

    @property
    def dimension(self) -> int:
        return SIZE

    @property
    def max_pieces(self) -> int:
        return MOST_PIECES - _AROUND

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        counts: list[int] = []
        for first in range(0, len(texts), _COUNT_BATCH):
            counts += self._table.count(texts[first : first + _COUNT_BATCH])
        return counts

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        return self._embed([PASSAGE + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        return self._embed([QUERY + text for text in texts])

    def scale_cosine(self, cosine: float) -> float:
        """Put a cosine on the scale of the English model, as `benchmarks/languages.py` measures the two."""
        return SCALE * (cosine - NEUTRAL)

    def _embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        encoded = [one.ids for one in self._table.encode(texts)]
        with self._opening:
            self._session  # noqa: B018
        return embed_each(self._embed_one, encoded, threads=self._threads)

    @cached_property
    def _session(self) -> Any:
        return open_session(self._shipped.find())

    def _embed_one(self, ids: list[int]) -> tuple[float, ...]:
        import numpy as np

        whole = [START, *ids[: MOST_PIECES - 2], END]
        feeds = {
            "words": self._table.read(whole)[None],
            "attention_mask": np.ones((1, len(whole)), np.int64),
        }
        try:
            vector = self._session.run(["sentence_embedding"], feeds)[0][0]
        except Exception as failed:
            raise ModelError(f"{self._shipped.file} failed on {len(whole)} pieces: {failed}") from failed
        return normalise(vector, where=self._shipped.file)
