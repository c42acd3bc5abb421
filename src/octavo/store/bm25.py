"""The words of a text as BM25 weights, the same for every store.

English has the rules it always had. In a query, a word that is common in English prose counts less, however
rare it is in the book: an annual report hardly has "explain" or "useful", and a question with these words is
not about them. Every other language has its own stems and stop words where the engine knows some, without the
accents that people leave out when they type. A query is encoded by the rules of every language that it may
find passages in.

The embedded engine computes them for the server too, so that a text weighs the same wherever it is stored.
The records count how rare a word is, and the weights of the query say so. An engine would count it in each of
its shards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from qdrant_edge import Bm25, Bm25Config, DisabledStemmer, StopwordsSet

from octavo.text.english import measure_rarity, tokenize
from octavo.text.languages import prepare_words

WORDS_A_CHUNK = 120
CODE_WEIGHT = 1.5
"""How much more a word of a query counts when it is set as code, between backticks."""
COMMON_WEIGHT = 0.5
"""What the commonest word of English prose counts in a query, beside a word that is rare there."""
ENGLISH = ""
_WORD = re.compile(r"[^\W_]+")
# What the stemmer may write at the end of a stem: "hope" of "hoping", "galaxi" of "galaxy".
_STEM_ENDS = ("e", "i")
_CODE = re.compile(r"(?<![`\w])(`+)([^`]+)\1(?![`\w])")
# The languages whose stems and stop words the engine knows. All others are compared as they are written.
_STEMMED: Mapping[str, str] = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
# The engine folds accents before it stems, and the rules for these languages look at accents.
_KEEPS_ACCENTS = frozenset(("arabic", "greek", "russian"))


class Bm25Encoder:
    """Encodes texts as sparse vectors: weights by index, in order of the index."""

    def encode_document(self, text: str, *, language: str = ENGLISH) -> dict[int, float]:
        if language:
            text = prepare_words(text, language)
        encoded = _find_engine(language).embed_document(text)
        return dict(sorted(zip(encoded.indices, encoded.values, strict=True)))

    def encode_query(self, text: str, *, languages: Iterable[str] = (ENGLISH,)) -> dict[int, float]:
        """Encodes a query for passages in these languages. Words that it sets as code count more: they name
        what it is about."""
        weights: dict[int, float] = {}
        for language in languages:
            for index, weight in self._encode_query(text, language).items():
                weights[index] = max(weight, weights.get(index, 0.0))
        return dict(sorted(weights.items()))

    def index_word(self, word: str) -> tuple[int, ...]:
        """Return the index that an English word is counted by; none for a stop word."""
        return tuple(_find_engine(ENGLISH).embed_query(word).indices)

    def find_stem(self, word: str) -> str:
        """Find what an English word is counted as: its beginning, or that with another last letter."""
        wanted = list(self.index_word(word))
        plain = _load_engine("other")
        for end in range(len(word), 0, -1):
            for letter in ("", *_STEM_ENDS):
                if plain.embed_query(word[:end] + letter).indices == wanted:
                    return word[:end] + letter
        return ""

    def _encode_query(self, text: str, language: str) -> dict[int, float]:
        engine = _find_engine(language)
        encoded = engine.embed_query(prepare_words(text, language) if language else text)
        weights = dict(sorted(zip(encoded.indices, encoded.values, strict=True)))
        code = " ".join(found[2] for found in _CODE.finditer(text))
        marked = set(engine.embed_query(code).indices) if code else set[int]()
        common = {} if language else _weigh_common_words(text)
        return {
            index: weight * (CODE_WEIGHT if index in marked else common.get(index, 1.0))
            for index, weight in weights.items()
        }


def _weigh_common_words(text: str) -> dict[int, float]:
    """Weigh the words of a query, by index, from `COMMON_WEIGHT` to 1 by how rare they are in prose."""
    found: dict[int, float] = {}
    for word in _WORD.findall(text):
        for index, weight in _weigh_word(word):
            found[index] = max(weight, found.get(index, 0.0))
    return found


@lru_cache(maxsize=10_000)
def _weigh_word(word: str) -> tuple[tuple[int, float], ...]:
    rarity = max((measure_rarity(token.stem) for token in tokenize(word)), default=1.0)
    weight = COMMON_WEIGHT + (1 - COMMON_WEIGHT) * rarity
    return tuple((index, weight) for index in _find_engine(ENGLISH).embed_query(word).indices)


def _find_engine(language: str) -> Bm25:
    return _load_engine(_STEMMED.get(language, "other") if language else "english")


@cache
def _load_engine(name: str) -> Bm25:
    if name == "english":
        return Bm25(Bm25Config(language=name, avg_len=WORDS_A_CHUNK))
    if name == "other":
        none, plain = StopwordsSet(), DisabledStemmer()
        config = Bm25Config(avg_len=WORDS_A_CHUNK, stopwords=none, stemmer=plain, ascii_folding=True)
    else:
        folding = name not in _KEEPS_ACCENTS
        config = Bm25Config(language=name, avg_len=WORDS_A_CHUNK, ascii_folding=folding)
    return Bm25(config)


def weigh_by_rarity(
    weights: Mapping[int, float], counts: Mapping[int, int], *, passages: int
) -> dict[int, float]:
    """Weigh the words of a query by their rarity among so many passages (inverse document frequency).

    `counts` has how many passages have each word. A word that none has cannot be found, and is left out.
    """
    weighed = {}
    for index, weight in weights.items():
        count = min(counts.get(index, 0), passages)
        if count:
            weighed[index] = weight * math.log((passages - count + 0.5) / (count + 0.5) + 1.0)
    return weighed
