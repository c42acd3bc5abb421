"""How well books in other languages are found and answered, on one book in ten languages.

    apt-get install debian-faq debian-faq-{de,fr,it,ja,ko,nl,pt,ru,zh-cn}
    python -m benchmarks.languages [/usr/share/doc/debian/FAQ] [--bare] [--all] [--ask]

The Debian FAQ is the same book in every language: 112 questions, each with a section that answers it. The
book is added once for each language. A section that was not translated is neither asked for nor searched for.

- same: the questions of a language, to the book in that language.
- from English: the English questions, to the book in that language.
- to English: the questions of a language, to the English book.

All books are embedded by the multilingual model, as with OCTAVO_EMBEDDER=multilingual; for the first two
columns OCTAVO_EMBEDDER=auto is the same. `--bare` replaces the headings by numbers, so that what is asked is
nowhere in the book. `--all` asks all books together, with OCTAVO_EMBEDDER=auto: the section of any language
counts.

`--ask` asks: each question is asked of its book, and of its book without the section that answers it. An
answer is right if it cites that section. Whatever is said to the book without it is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.parallel import Entry, strip_tags
from octavo.library import Library
from octavo.settings import Settings
from octavo.text.languages import identify_language
from octavo.types import Evidence

LANGUAGES = ("en", "de", "fr", "it", "nl", "pt", "ru", "ja", "ko", "zh-cn")
_SECTION = re.compile(r'<h2 class="title"[^>]*><a id="([^"]+)"></a>(.*?)</h2>', re.DOTALL)
_NUMBER = re.compile(r"^[\d.\s\xa0]+")
_END = re.compile(r'<div class="navfooter">.*', re.DOTALL)
SHORTEST = 40


def read_entries(folder: Path, language: str) -> dict[str, Entry]:
    """Read the sections of one language that were translated and have some text."""
    found: dict[str, Entry] = {}
    for path in sorted(folder.rglob(f"*.{language}.html")):
        page = _END.sub("", path.read_text(encoding="utf-8"))
        parts = _SECTION.split(page)
        for anchor, title, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            place = f"{path.name.split('.')[0]}-{anchor}"
            question = " ".join(_NUMBER.sub("", strip_tags(title)).split())
            text = strip_tags(body)
            translated = bool(identify_language([text])) == (language != "en")
            if len(text) >= SHORTEST and translated:
                found[place] = Entry(place, question, text)
    return found


def write_book(
    entries: Mapping[str, Entry],
    language: str,
    folder: Path,
    *,
    bare: bool = False,
    without: Sequence[str] = (),
) -> Path:
    """Write the sections as one book, each with its question as the heading, or with a number if `bare`."""
    kept = [(number, entry) for number, entry in _number(entries) if entry.place not in without]
    sections = [f"## {number:03} {'' if bare else entry.question}\n\n{entry.text}" for number, entry in kept]
    path = folder / f"faq-{language}.md"
    path.write_text(f"# {language.upper()}\n\n" + "\n\n".join(sections) + "\n", encoding="utf-8")
    return path


def _number(entries: Mapping[str, Entry]) -> list[tuple[int, Entry]]:
    return list(enumerate(entries.values(), start=1))


def find_place(found: Evidence, entries: Mapping[str, Mapping[str, Entry]]) -> str:
    """Return the place in all languages that a passage stands at."""
    language = found.chunk.book_id.removeprefix("faq-")
    number = int(found.chunk.section.split()[0])
    return list(entries[language])[number - 1]


async def measure_hits(
    library: Library,
    entries: Mapping[str, Mapping[str, Entry]],
    *,
    asked: str,
    book: str | None,
) -> tuple[float, float, int]:
    """Return hit@1 and hit@5 of the questions in one language, and how many there were."""
    known = entries[asked] if book is None else entries[book]
    places = [place for place in entries[asked] if place in known]
    first = five = 0
    for place in places:
        book_id = None if book is None else f"faq-{book}"
        hits = await library.search(entries[asked][place].question, book_id=book_id, top_k=5)
        there = [find_place(hit, entries) for hit in hits]
        first += there[:1] == [place]
        five += place in there
    return first / len(places), five / len(places), len(places)


async def measure_search(folder: Path, languages: Sequence[str], *, bare: bool, together: bool) -> None:
    entries = {language: read_entries(folder, language) for language in ("en", *languages)}
    with tempfile.TemporaryDirectory() as data:
        settings = Settings(data=Path(data), embedder="auto" if together else "multilingual")
        async with Library.open(settings=settings) as library:
            for language in entries:
                book = write_book(entries[language], language, Path(data), bare=bare)
                await library.add(book, book_id=f"faq-{language}")
            columns = ("all books",) if together else ("same", "from English", "to English")
            print(f"hit@1 / hit@5\n| language | questions | {' | '.join(columns)} |")
            print(f"|---|---{'|---' * len(columns)}|", flush=True)
            for language in languages:
                pairs = (
                    ((language, None),)
                    if together
                    else ((language, language), ("en", language), (language, "en"))
                )
                cells = []
                for asked, book_language in pairs:
                    one, five, _ = await measure_hits(library, entries, asked=asked, book=book_language)
                    cells.append(f"{one:.2f} / {five:.2f}")
                print(f"| {language} | {len(entries[language])} | {' | '.join(cells)} |", flush=True)


async def measure_answers(folder: Path, languages: Sequence[str], limit: int) -> None:
    """Ask every question of its book, and of the book without the section that answers it."""
    print("| language | asked | answered | right | refused | asked in vain | refused |")
    print("|---|---|---|---|---|---|---|")
    for language in languages:
        entries = read_entries(folder, language)
        asked_for = list(entries)[:: max(1, len(entries) // limit)][:limit]
        answered = right = silent = 0
        with tempfile.TemporaryDirectory() as data:
            async with Library.open(settings=Settings(data=Path(data))) as library:
                await library.add(write_book(entries, language, Path(data)), book_id="whole")
                numbers = {entry.place: f"{number:03}" for number, entry in _number(entries)}
                for place in asked_for:
                    answer = await library.ask(entries[place].question, book_id="whole")
                    if answer.refusal is None:
                        answered += 1
                        right += any(c.chunk.section.startswith(numbers[place]) for c in answer.citations)
                halves = [asked_for[0::2], asked_for[1::2]]
                for number, gone in enumerate(halves):
                    path = write_book(entries, f"{language}-{number}", Path(data), without=gone)
                    await library.add(path, book_id=f"half-{number}")
                    for place in gone:
                        answer = await library.ask(entries[place].question, book_id=f"half-{number}")
                        silent += answer.refusal is not None
        asked = len(asked_for)
        print(
            f"| {language} | {asked} | {answered / asked:.2f} | {right / max(1, answered):.2f} | "
            f"{1 - answered / asked:.2f} | {asked} | {silent / asked:.2f} |",
            flush=True,
        )


def measure_scale(folder: Path) -> None:
    """Print where cosines of the two embedders lie, for `NEUTRAL` and `SCALE` of the multilingual one."""
    import numpy as np

    from octavo.models.loading import load_embedder
    from octavo.models.multilingual import MultilingualEmbedder

    entries = list(read_entries(folder, "en").values())
    questions, texts = [e.question for e in entries], [e.text[:600] for e in entries]
    english, other = load_embedder(Settings()), MultilingualEmbedder()
    for name, asked, read in (
        ("all-MiniLM-L6-v2", english.embed(questions), english.embed(texts)),
        ("multilingual-e5-small", other.embed_queries(questions), other.embed(texts)),
    ):
        cosines = np.array(asked) @ np.array(read).T
        own, rest = np.diag(cosines), cosines[~np.eye(len(cosines), dtype=bool)]
        print(f"{name}: belong together {statistics.mean(own):.3f}, do not {statistics.mean(rest):.3f}")


def main() -> None:
    said = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    said.add_argument("folder", type=Path, nargs="?", default=Path("/usr/share/doc/debian/FAQ"))
    said.add_argument("--ask", action="store_true", help="ask instead of searching")
    said.add_argument("--scale", action="store_true", help="compare the cosines of the two embedders")
    said.add_argument("--bare", action="store_true", help="replace the headings by numbers")
    said.add_argument("--all", action="store_true", help="search all books together")
    said.add_argument("--languages", default=",".join(LANGUAGES[1:]), help="which are asked, between commas")
    said.add_argument("--limit", type=int, default=200, help="how many questions are asked at most")
    given = said.parse_args()
    languages = given.languages.split(",")
    if given.scale:
        measure_scale(given.folder)
    elif given.ask:
        asyncio.run(measure_answers(given.folder, languages, given.limit))
    else:
        asyncio.run(measure_search(given.folder, languages, bare=given.bare, together=given.all))


if __name__ == "__main__":
    main()
