"""Lists the words and names of English prose that a question may have though its book does not.

    python training/known_words.py DATA src/octavo/text/known.txt

DATA holds `books.jsonl.xz`, `contexts.jsonl.xz`, and `qa.jsonl.xz` and `rank.jsonl.xz`, whose rows point at
contexts. Contexts of the sets that are left out for their licence (`LEFT_OUT`) are not read. A word is listed
if two of the books have it, or three of the contexts. Contexts come from the web, and have misspelt words
too: a word that differs from a much commoner one by a letter left out, doubled or exchanged is listed only if
two books have it. Only words in small letters are counted. A name, which more contexts write with a capital
in the middle of a sentence, is listed with one, if enough of them do.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data import LEFT_OUT

from octavo.search.spelling import SHORTEST, list_corrections

BOOKS, CONTEXTS, NAMED = 2, 3, 6
# So many times as many contexts have a word as have its misspelling.
COMMONER = 20
WIDTH = 110
HEADER = "# Words of English prose; names have a capital. Made by training/known_words.py."
_LONG = f"{{{SHORTEST - 1},}}(?![\\w'’-])"
_WORD = re.compile(rf"(?<![\w'’.-])[a-z][a-z]{_LONG}")
_NAME = re.compile(rf"(?<=[a-z,;] )[A-Z][a-z]{_LONG}")


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _list_left_out(data: Path) -> set[int]:
    """List the numbers of the contexts that only sets without a settled licence have.

    Contexts stand set by set, so those between are of the same set, although no row points at them.
    """
    sets: defaultdict[str, set[int]] = defaultdict(set)
    for name in ("qa.jsonl.xz", "rank.jsonl.xz"):
        for row in _read_rows(data / name):
            sets[row["set"]].update((row["c"],) if "c" in row else (row["p"], *row["n"]))
    kept = {number for name, having in sets.items() if name not in LEFT_OUT for number in having}
    left_out = (sets[name] for name in LEFT_OUT if name in sets)
    return {number for having in left_out for number in range(min(having), max(having) + 1)} - kept


def _find_words(value: object) -> set[str]:
    if isinstance(value, str):
        return set(_WORD.findall(value))
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {word for one in values for word in _find_words(one)}


def _find_names(text: str) -> set[str]:
    return {name.lower() for name in _NAME.findall(text)}


def list_known(data: Path) -> list[str]:
    """List the words that enough books or contexts have."""
    books: defaultdict[str, set[str]] = defaultdict(set)
    for row in _read_rows(data / "books.jsonl.xz"):
        for word in _find_words(row["paragraphs"]):
            books[word].add(row["book"])
    contexts, names = Counter[str](), Counter[str]()
    left_out = _list_left_out(data)
    for row in _read_rows(data / "contexts.jsonl.xz"):
        if row["i"] in left_out:
            continue
        contexts.update(_find_words(row["t"]))
        names.update(_find_names(row["t"]))
    known = {word for word, having in books.items() if len(having) >= BOOKS}
    for word, count in contexts.items():
        commoner = (contexts[other] >= COMMONER * count for other in list_corrections(word))
        if count >= CONTEXTS and not any(commoner):
            known.add(word)
    words = {word for word in known if names[word] <= contexts[word]}
    # A plural with s is known with its singular.
    plurals = {word for word in words if word.endswith("s") and word[:-1] in words}
    named = (name for name, count in names.items() if count >= NAMED and count > contexts[name])
    return sorted((words - plurals) | {name.capitalize() for name in named})


def write_list(words: list[str], path: Path) -> None:
    """Write words in lines of a readable length."""
    lines, line = [HEADER], ""
    for word in words:
        if len(line) + len(word) >= WIDTH:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    path.write_text("\n".join([*lines, line, ""]), encoding="utf-8")


if __name__ == "__main__":
    write_list(list_known(Path(sys.argv[1])), Path(sys.argv[2]))
