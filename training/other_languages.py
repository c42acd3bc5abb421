"""Lessons in other languages than English: the same passages in several languages, and questions about them.

    python training/other_languages.py help PACKAGES DATA/help.jsonl.xz
    python training/other_languages.py pack BATCHES training/labels/languages.jsonl.xz
    python training/other_languages.py expand DATA training/labels/languages.jsonl.xz DATA/languages.jsonl.xz

PACKAGES has a folder for each language with the help of LibreOffice in it, as Debian packages it (`dpkg -x
libreoffice-help-de_*.deb PACKAGES/de`). `help` takes the paragraphs by their ids, which are the same in all
languages. BATCHES is what a large language model wrote about some of these passages and about passages of
the training data, which it translated: questions in English and in one other language that the passage
answers, the words that answer, and questions that it does not answer. `pack` keeps what was written without
the texts it is about, `expand` puts them back.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np

LANGUAGES = {
    "en": "en-US",
    "de": "de",
    "fr": "fr",
    "es": "es",
    "ru": "ru",
    "ja": "ja",
    "zh": "zh-CN",
    "ko": "ko",
    "tr": "tr",
}
# A passage has so many characters in English, at least and at most.
LEAST, MOST, SMALL = 250, 1_000, 300
# A passage counts as translated if no more than this share of it is the English text.
LEFT = 0.15
LEAST_LANGUAGES = 5
NEAR, ALIKE = 12, 0.7
_BLOCK = re.compile(r'<(h[1-6]|p)\s+id="((?:hd|par)_id[^"]+)"[^>]*>(.*?)</\1>', re.DOTALL)
_MAC = re.compile(r'<span hidden="true" id="MAC[^>]*>(?:(?!</span>).)*</span>(?:</span>)?', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_SENTENCE = re.compile(r"(?<=[.!?。！？؟])\s*")
_WORD = re.compile(r"[a-z0-9]{3,}")
Blocks = dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Question:
    """`asked` by language. `answers` are the words of the texts that answer; a near miss has none."""

    asked: Mapping[str, str]
    answers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Parallel:
    """One passage in several languages."""

    id: str
    headings: Mapping[str, str]
    texts: Mapping[str, str]
    questions: tuple[Question, ...] = ()


def read_parallel(data: Path) -> list[Parallel]:
    """Read all passages that there are in several languages, with the questions about them."""
    written = {row["id"]: row for row in _rows(data / "languages.jsonl.xz")}
    found = []
    for row in _rows(data / "help.jsonl.xz"):
        texts = {code: own["t"] for code, own in row["texts"].items()}
        headings = {code: own["h"] for code, own in row["texts"].items()}
        asked = _read_questions(written.pop(row["id"], {}))
        found.append(Parallel(row["id"], headings, texts, asked))
    others = {id_: row for id_, row in written.items() if "texts" in row}
    found += [Parallel(id_, {}, row["texts"], _read_questions(row)) for id_, row in others.items()]
    return found


def _read_questions(row: Mapping[str, Any]) -> tuple[Question, ...]:
    asked = [Question(one["q"], one["a"]) for one in row.get("asked", ())]
    return (*asked, *(Question(one["q"], {}) for one in row.get("missing", ())))


class Neighbours:
    """Which passages share most words with another in English, without those that say the same."""

    def __init__(self, given: Sequence[Parallel]) -> None:
        places: dict[str, int] = {}
        here = [
            [places.setdefault(w[:7], len(places)) for w in set(_WORD.findall(p.texts["en"].lower()))]
            for p in given
        ]
        table = np.zeros((len(given), len(places)), np.float32)
        for n, own in enumerate(here):
            table[n, own] = 1.0
        table *= np.log(len(given) / table.sum(0))
        table /= np.linalg.norm(table, axis=1, keepdims=True) + 1e-6
        alike = table @ table.T
        alike[alike > ALIKE] = -1.0
        self.given = given
        self.order = np.argsort(-alike, axis=1)[:, :NEAR]

    def draw(self, place: int, language: str, many: int, chance: random.Random) -> list[Parallel]:
        """Draw passages that are near this one and are there in a language; others if too few are."""
        near = [self.given[n] for n in self.order[place] if language in self.given[n].texts]
        drawn = chance.sample(near, min(many, len(near)))
        while len(drawn) < many:
            other = chance.choice(self.given)
            if language in other.texts and other.id != self.given[place].id and other not in drawn:
                drawn.append(other)
        return drawn


def write_passage(passage: Parallel, language: str, *, headed: bool) -> str:
    heading = passage.headings.get(language, "")
    return f"{heading}\n{passage.texts[language]}" if headed and heading else passage.texts[language]


def split_sentences(text: str) -> list[str]:
    """The sentences that can stand for a question: neither short nor very long."""
    return [part for line in text.split("\n") for part in _SENTENCE.split(line) if 25 <= len(part) <= 250]


def read_help(packages: Path) -> Iterator[dict[str, Any]]:
    """Read the passages that are there in enough languages."""
    folders = {code: next(packages.glob(f"{code}/**/help/{name}/text")) for code, name in LANGUAGES.items()}
    seen: set[str] = set()
    for path in sorted(folders["en"].rglob("*.html")):
        page = path.relative_to(folders["en"])
        own = {code: _read_blocks(folder / page) for code, folder in folders.items()}
        for above, ids in _group_blocks(own["en"]):
            texts = {code: _join(blocks, own["en"], above, ids) for code, blocks in own.items()}
            there = {code: text for code, text in texts.items() if text is not None}
            english = there["en"]["t"]
            if len(english) >= LEAST and english not in seen and len(there) >= LEAST_LANGUAGES:
                seen.add(english)
                yield {"id": f"{page.with_suffix('')}#{ids[0]}", "texts": there}


def _read_blocks(path: Path) -> Blocks:
    if not path.exists():
        return {}
    whole = path.read_text(encoding="utf-8", errors="replace")
    whole = _MAC.sub("", whole[max(0, whole.find('id="DisplayArea"')) :])
    found: Blocks = {}
    for tag, id_, body in _BLOCK.findall(whole):
        text = " ".join(unescape(_TAG.sub("", body)).split())
        if text:
            found.setdefault(id_, (tag, text))
    return found


def _group_blocks(blocks: Blocks) -> list[tuple[list[str], list[str]]]:
    """The ids of the headings above each passage, and those of its paragraphs. Short passages are joined."""
    made: list[tuple[list[str], list[str]]] = []
    above: list[tuple[str, str]] = []
    begun = False

    def measure(ids: Iterable[str]) -> int:
        return sum(len(blocks[id_][1]) for id_ in ids)

    for id_, (tag, text) in blocks.items():
        if tag != "p":
            above = [one for one in above if one[0] < tag] + [(tag, id_)]
            begun = False
        elif begun and measure(made[-1][1]) + len(text) <= MOST:
            made[-1][1].append(id_)
        else:
            made.append(([own for _, own in above], [id_]))
            begun = True
    joined: list[tuple[list[str], list[str]]] = []
    for headings, ids in made:
        if joined and measure(joined[-1][1]) < SMALL and measure(ids) < 2 * SMALL:
            joined[-1][1].extend((*headings[-1:], *ids))
        else:
            joined.append((headings, ids))
    return joined


def _join(blocks: Blocks, english: Blocks, above: Sequence[str], ids: Sequence[str]) -> dict[str, str] | None:
    there = [id_ for id_ in ids if id_ in blocks]
    if len(there) < 0.9 * len(ids):
        return None
    if blocks is not english:
        whole = sum(len(english[id_][1]) for id_ in ids)
        same = sum(len(english[id_][1]) for id_ in there if blocks[id_] == english[id_])
        if same > LEFT * whole:
            return None
    heading = " > ".join(blocks[id_][1] for id_ in above if id_ in blocks)
    return {"h": heading, "t": "\n".join(blocks[id_][1] for id_ in there)}


def pack(batches: Path, kept: Path) -> None:
    """Keep what was written. Of the texts of the training data the beginning of a SHA-256 is kept."""
    made = []
    for path in sorted(batches.glob("*.written.jsonl")):
        batch = json.loads(path.with_name(path.name.replace(".written.jsonl", ".json")).read_text())
        code, passages = batch["language"], {one["n"]: one for one in batch["passages"]}
        for row in map(json.loads, filter(str.strip, path.read_text(encoding="utf-8").splitlines())):
            passage = passages[row["n"]]
            texts = {"en": passage["en"], code: row.get("text") or passage.get(code, "")}
            asked = [
                {"q": {c: one[f"q_{c}"] for c in texts}, "a": {c: one[f"a_{c}"] for c in texts}}
                for one in row.get("asked", ())
                if all(one.get(f"q_{c}") and one.get(f"a_{c}") in (texts[c] or "") for c in texts)
            ]
            missing = [
                {"q": {c: one[f"q_{c}"] for c in texts}}
                for one in row.get("missing", ())
                if all(one.get(f"q_{c}") for c in texts)
            ]
            own = {"p": _digest(passage["en"])}
            if batch["kind"] == "general":
                own["text"] = {code: row["text"]}
            made.append({"id": passage["id"], **own, "asked": asked, "missing": missing})
    _write(kept, made)
    print(f"{len(made):,} passages, {sum(len(row['asked']) for row in made):,} questions")


def expand(data: Path, kept: Path, target: Path) -> None:
    """Put the English texts of the training data back."""
    english = {_digest(row["t"]): row["t"] for row in _rows(data / "contexts.jsonl.xz")}
    for row in _rows(data / "books.jsonl.xz"):
        plain = [paragraph for paragraph in row["paragraphs"] if isinstance(paragraph, str)]
        english |= {_digest(paragraph): paragraph for paragraph in plain}
    made, lost = [], 0
    for row in _rows(kept):
        if "text" in row:
            if row["p"] not in english:
                lost += 1
                continue
            row["texts"] = {"en": english[row["p"]], **row.pop("text")}
        made.append(row)
    _write(target, made)
    print(f"{len(made):,} passages, {lost} without their text")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _write(path: Path, given: Iterable[Mapping[str, Any]]) -> None:
    with lzma.open(path, "wt", encoding="utf-8", preset=9) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in given)


def main(what: str, *paths: str) -> None:
    given = [Path(path) for path in paths]
    if what == "help":
        _write(given[1], read_help(given[0]))
    elif what == "pack":
        pack(*given)
    else:
        expand(*given)


if __name__ == "__main__":
    main(*sys.argv[1:])
