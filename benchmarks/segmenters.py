"""How well Chinese and Japanese sections are found by words alone: pairs of characters beside a segmenter.

    python -m pip install jieba janome
    python -m benchmarks.segmenters MANUALS

The questions and the book are those of `benchmarks.languages`, each asked in the book's language. The same
BM25 ranks the sections for both kinds of words.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from unicodedata import normalize

from benchmarks.languages import list_questions, read_books, read_items
from octavo.text.languages import prepare_words

K1, B = 1.2, 0.75
# Particles, auxiliary verbs and marks: a search engine leaves them out.
_FORM_WORDS = ("助詞", "助動詞", "記号")

Split = Callable[[str], list[str]]


def split_pairs(language: str) -> Split:
    return lambda text: re.findall(r"\w+", prepare_words(text, language))


def load_segmenter(language: str) -> Split:
    if language == "zh":
        cut = import_module("jieba").cut_for_search
        return lambda text: [word for word in cut(text) if re.match(r"\w", word)]
    tokenizer = import_module("janome.tokenizer").Tokenizer()
    return lambda text: [
        token.surface if token.base_form == "*" else token.base_form
        for token in tokenizer.tokenize(text)
        if re.match(r"\w", token.surface) and not token.part_of_speech.startswith(_FORM_WORDS)
    ]


class Ranker:
    """Ranks sections by BM25."""

    def __init__(self, texts: Sequence[str], split: Split) -> None:
        self._split = split
        self._counts = [self._count(text) for text in texts]
        self._holders = Counter(word for counts in self._counts for word in counts)
        self._average = sum(counts.total() for counts in self._counts) / len(texts)

    def rank(self, query: str) -> list[int]:
        words = self._count(query)
        scores = [sum(self._score(word, counts) for word in words) for counts in self._counts]
        return sorted(range(len(scores)), key=lambda at: (-scores[at], at))

    def _count(self, text: str) -> Counter[str]:
        return Counter(word.casefold() for word in self._split(normalize("NFKC", text)))

    def _score(self, word: str, counts: Counter[str]) -> float:
        holders = self._holders[word]
        rarity = math.log(1 + (len(self._counts) - holders + 0.5) / (holders + 0.5))
        length = 1 - B + B * counts.total() / self._average
        return rarity * counts[word] * (K1 + 1) / (counts[word] + K1 * length)


def main() -> None:
    said = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    said.add_argument("manuals", type=Path)
    books = read_books(said.parse_args().manuals, ["zh", "ja"])
    for language, entries in books.items():
        places = list(entries)
        texts = [f"{entry.question}\n{entry.text}" for entry in entries.values()]
        asked = [
            (question, item.place)
            for item, question, _, _ in list_questions(read_items(), language, "same", books)
            if item.place
        ]
        for name, split in (("pairs", split_pairs(language)), ("segmenter", load_segmenter(language))):
            ranker = Ranker(texts, split)
            ranks = [[places[at] for at in ranker.rank(question)].index(place) for question, place in asked]
            first, five = (sum(rank < depth for rank in ranks) / len(ranks) for depth in (1, 5))
            print(f"{language} {name}: hit@1 {first:.3f}, hit@5 {five:.3f} of {len(ranks)}")


if __name__ == "__main__":
    main()
