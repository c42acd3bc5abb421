"""Reorders passages by what a reader prefers: books, sections, language, level and length.

A preference adds a little to the relevance of the passages that suit it, so it decides between passages that
fit a question about equally well. It never lets a passage that does not fit win over one that does, and it
hides nothing: to leave passages out, use filters. `relevance_score` stays as it was found.

Preferences are a plain object with these keys, all optional. Other keys are of no concern to retrieval.

- `books`, `sections`: a name or a list of names (a book's id or title; a section's id or title)
- `language`: the code of a language, as in `en`
- `level`: `beginner` or `advanced`: passages in plainer or in more difficult words
- `length`: `short` or `long`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from octavo.errors import InvalidValue

if TYPE_CHECKING:
    from octavo.types import Book, Chunk, Evidence

# How much each preference adds to a relevance between 0 and 1.
NAMED, LANGUAGE, MANNER = 0.25, 0.25, 0.05
POOL_TIMES, POOL_MOST = 4, 50
LEVELS = {"beginner": -1, "easy": -1, "advanced": 1, "expert": 1}
LENGTHS = {"short": -1, "long": 1}


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a reader prefers. `level` and `length` are -1, 0 or 1."""

    books: frozenset[str] = frozenset()
    sections: frozenset[str] = frozenset()
    in_language: frozenset[str] | None = None
    """The books in the preferred language."""
    level: int = 0
    length: int = 0

    def pool_size(self, top_k: int) -> int:
        """How many passages to find, so that there is something to choose from."""
        return top_k if self == NO_PREFERENCES else max(top_k, min(POOL_MOST, POOL_TIMES * top_k))

    def apply(self, found: Sequence[Evidence], *, top_k: int) -> list[Evidence]:
        """Return the best `top_k` passages, those that suit the reader first."""
        if self == NO_PREFERENCES:
            return list(found)
        difficulty = _scale(found, _measure_difficulty) if self.level else {}
        length = _scale(found, lambda chunk: len(chunk.content)) if self.length else {}

        def weigh(item: Evidence) -> float:
            chunk = item.chunk
            weight = (
                item.relevance_score + NAMED * self._names_book(chunk) + NAMED * self._names_section(chunk)
            )
            if self.in_language is not None and chunk.book_id in self.in_language:
                weight += LANGUAGE
            weight += MANNER * self.level * difficulty.get(chunk.id, 0.0)
            return weight + MANNER * self.length * length.get(chunk.id, 0.0)

        best = sorted(found, key=weigh, reverse=True)[:top_k]
        return [replace(item, rank=rank) for rank, item in enumerate(best, start=1)]

    def _names_book(self, chunk: Chunk) -> bool:
        return not self.books.isdisjoint((_fold(chunk.book_id), _fold(chunk.source_title)))

    def _names_section(self, chunk: Chunk) -> bool:
        names = (chunk.section_id, *chunk.ancestors, *chunk.heading_path, chunk.section, chunk.chapter)
        return not self.sections.isdisjoint(map(_fold, names))


NO_PREFERENCES = Preferences()


def read_preferences(given: Mapping[str, object], books: Sequence[Book]) -> Preferences:
    """Read preferences. A known key with a value that it cannot have raises `InvalidValue`."""
    language = given.get("language")
    if language is not None and not isinstance(language, str):
        raise InvalidValue("user_preferences.language", "must be the code of a language", language)
    return Preferences(
        books=_read_names(given, "books"),
        sections=_read_names(given, "sections"),
        in_language=frozenset(b.id for b in books if is_in_language(b, language)) if language else None,
        level=_read_choice(given, "level", LEVELS),
        length=_read_choice(given, "length", LENGTHS),
    )


def is_in_language(book: Book, language: str) -> bool:
    """Whether a book is in a language: `en` includes `en-GB`."""
    wanted, has = _fold(language), _fold(book.language)
    return has == wanted or has.split("-")[0] == wanted


def _read_names(given: Mapping[str, object], key: str) -> frozenset[str]:
    value = given.get(key)
    names = [value] if isinstance(value, str) else value or []
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InvalidValue(f"user_preferences.{key}", "must be a name or a list of names", value)
    return frozenset(map(_fold, names))


def _read_choice(given: Mapping[str, object], key: str, choices: Mapping[str, int]) -> int:
    value = given.get(key)
    if value is None:
        return 0
    if not isinstance(value, str) or _fold(value) not in choices:
        raise InvalidValue(f"user_preferences.{key}", f"must be one of {', '.join(choices)}", value)
    return choices[_fold(value)]


def _scale(found: Sequence[Evidence], measure: Callable[[Chunk], float]) -> dict[str, float]:
    """Measure each chunk on a scale from 0, the least among them, to 1, the most."""
    measured = {item.chunk.id: measure(item.chunk) for item in found}
    least, most = min(measured.values(), default=0.0), max(measured.values(), default=0.0)
    return {id_: (value - least) / (most - least) if most > least else 0.0 for id_, value in measured.items()}


def _measure_difficulty(chunk: Chunk) -> float:
    """Long words in long sentences are difficult."""
    words = chunk.content.split()
    sentences = 1 + sum(word.endswith((".", "!", "?")) for word in words[:-1])
    return sum(map(len, words)) / len(words) + 0.1 * len(words) / sentences


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()
