"""How well books in other languages are found and answered, on books that are the same in each of theirs.

    apt-get download debian-handbook gnucash-docs
    for package in *.deb; do dpkg -x "$package" MANUALS; done
    python -m benchmarks.languages MANUALS --rows ROWS [--languages de,ar] [--ways same] [--part test]
    python -m benchmarks.languages MANUALS --rows ROWS --book gnucash

The Debian Administrator's Handbook is read in eight languages, the GnuCash Tutorial and Concepts Guide in
five. benchmarks/questions/handbook.jsonl and gnucash.jsonl have questions about them, each written once by
its meaning and then in every language: those with a `place` are answered by that section, in the words of
`answers` (`any` in every language), the others by no section. A book has the sections that all its languages
have, without the paragraphs that were left in English. A question is asked in a language if its answer stands
in that language's section.

- same: the questions of a language, to the book in that language.
- from English: the English questions, to the book in that language.
- to English: the questions of a language, to the English book, as with OCTAVO_EMBEDDER=multilingual.

An answer is correct if it has at most 80 words, and an answer of the list stands in it or shares half of its
words. What was asked is kept in ROWS and not asked again. Sections are parted into `tune` and `test`: weights
are fitted to the first (`benchmarks/multilingual_fit.py`) and reported for the other.

`--false` asks through `Library.ask` instead, and counts the citations that `Library.verify` does not find in
the book, letter for letter. `--scale FAQ` compares the cosines of the two embedders on the Debian FAQ.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import tempfile
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.answering_fit import calibration_error
from benchmarks.parallel import SHORTEST, Entry, read_anchored, read_entries, strip_tags
from benchmarks.suite import rows
from octavo.answers import calibration
from octavo.answers.calibration import LEAST_CONFIDENCE
from octavo.answers.replies import Reply
from octavo.answers.steps import AskSteps
from octavo.library import Library
from octavo.search.ranking import ReaderKind
from octavo.settings import Settings
from octavo.text.languages import is_spaceless, prepare_words
from octavo.types import Question

QUESTIONS = Path(__file__).parent / "questions"
EDITIONS = {
    "en": "en-US",
    "de": "de-DE",
    "fr": "fr-FR",
    "es": "es-ES",
    "ru": "ru-RU",
    "ja": "ja-JP",
    "zh": "zh-CN",
    "ar": "ar-MA",
}
OTHERS = tuple(EDITIONS)[1:]
HANDBOOK = "handbook"
WAYS = ("same", "from English", "to English")
PARTS = ("tune", "test")
MOST_WORDS = 80
# A paragraph of fewer words may be the same in two languages.
LEAST_LEFT = 6
_LATIN = "[0-9A-Za-z]"


@dataclass(frozen=True, slots=True)
class Book:
    """A book: its name, what its editions are called, English first, and how one is read."""

    title: str
    editions: Mapping[str, str]
    read: Callable[[Path, str, str], dict[str, Entry]]

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(self.editions)[1:]


BOOKS = {
    HANDBOOK: Book("Debian", EDITIONS, read_entries),
    "gnucash": Book("GnuCash", {code: code for code in ("en", "de", "it", "ja", "pt")}, read_anchored),
}


@dataclass(frozen=True, slots=True)
class Item:
    """A question in every language, the section that answers it ("" for none), and its answers."""

    id: int
    questions: Mapping[str, str]
    place: str = ""
    answers: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def part(self) -> str:
        return PARTS[zlib.crc32((self.place or str(self.id)).encode()) % 2]

    def list_answers(self, language: str, text: str) -> list[str]:
        """List the answers that stand in the text of a section."""
        listed = (*self.answers.get("any", ()), *self.answers.get(language, ()))
        return [answer for answer in listed if contains(text, answer)]


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one question: where its section was found (0 for nowhere), and what was said."""

    language: str
    way: str
    id: int
    part: str
    answerable: bool
    place: int
    correct: bool
    cited: bool
    said: str
    reader: ReaderKind
    features: dict[str, float]
    # Rows that were kept before there was another book are of this one.
    book: str = HANDBOOK


def read_items(book: str = HANDBOOK) -> list[Item]:
    return [Item(**row) for row in rows(QUESTIONS / f"{book}.jsonl")]


def read_books(
    root: Path, languages: Iterable[str] | None = None, *, book: str = HANDBOOK
) -> dict[str, dict[str, Entry]]:
    """Read the sections that every language has, without paragraphs that were left in English."""
    known = BOOKS[book]
    entries = {code: known.read(root, book, edition) for code, edition in known.editions.items()}
    shared = [place for place in entries["en"] if all(place in own for own in entries.values())]
    books: dict[str, dict[str, Entry]] = {}
    for code in languages or known.editions:
        own = {place: entries[code][place] for place in shared}
        if code != "en":
            own = {place: _drop_untranslated(entry, entries["en"][place]) for place, entry in own.items()}
        books[code] = {place: entry for place, entry in own.items() if len(entry.text) >= SHORTEST}
    return books


def _drop_untranslated(entry: Entry, english: Entry) -> Entry:
    known = {_squeeze(paragraph) for paragraph in english.text.split("\n\n")}
    kept = [
        paragraph
        for paragraph in entry.text.split("\n\n")
        if len(paragraph.split()) < LEAST_LEFT or _squeeze(paragraph) not in known
    ]
    return Entry(entry.place, entry.question, "\n\n".join(kept))


def _squeeze(text: str) -> str:
    """Write a text in one way: forms of letters, case, spaces, and marks that Arabic leaves out."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    marks = {c for c in plain if unicodedata.combining(c) and "\u0600" <= c <= "\u06ff"}
    kept = "".join(c for c in plain if c not in marks and c != "\u0640")
    return " ".join(kept.split())


def contains(text: str, answer: str) -> bool:
    """Say whether an answer stands in a text. One in Latin letters begins and ends with its words."""
    wanted, there = _squeeze(answer), _squeeze(text)
    if wanted.isascii():
        return re.search(f"(?<!{_LATIN}){re.escape(wanted)}(?!{_LATIN})", there, re.IGNORECASE) is not None
    return wanted in there or wanted.replace(" ", "") in there.replace(" ", "")


def is_correct(said: str, answers: Sequence[str], language: str) -> bool:
    words = _list_words(said, language)
    if len(words) <= MOST_WORDS and any(contains(said, answer) for answer in answers):
        return True
    return any(_share(words, _list_words(answer, language)) >= 0.5 for answer in answers)


def _list_words(text: str, language: str) -> list[str]:
    words = re.findall(r"\w+", prepare_words(_squeeze(text), language))
    # Pairs of characters overlap, and a word has about two characters.
    return words[::2] if is_spaceless(language) else words


def _share(said: Sequence[str], gold: Sequence[str]) -> float:
    same = (Counter(said) & Counter(gold)).total()
    return 2 * same / (len(said) + len(gold)) if same else 0.0


def write_book(entries: Mapping[str, Entry], path: Path, *, title: str) -> None:
    sections = [f"## {entry.place} {entry.question}\n\n{entry.text}" for entry in entries.values()]
    path.write_text(f"# {title}\n\n" + "\n\n".join(sections) + "\n", encoding="utf-8")


async def add_books(
    library: Library, books: Mapping[str, Mapping[str, Entry]], folder: Path, *, title: str
) -> None:
    for code, entries in books.items():
        path = folder / f"{code}.md"
        write_book(entries, path, title=title)
        await library.add(path, book_id=code)


def list_questions(
    items: Sequence[Item], language: str, way: str, books: Mapping[str, Mapping[str, Entry]]
) -> list[tuple[Item, str, str, list[str]]]:
    """List what is asked in one way: the item, the question, the book, and the answers it may have."""
    asked, book = ("en" if way == "from English" else language), ("en" if way == "to English" else language)
    listed = []
    for item in items:
        entry = books[book].get(item.place)
        answers = item.list_answers(book, entry.text) if entry else []
        if answers or not item.place:
            listed.append((item, item.questions[asked], book, answers))
    return listed


@contextmanager
def _open_folder(data: Path | None) -> Iterator[Path]:
    """Open the folder that books are kept in between runs, or one that is gone afterwards."""
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        yield data
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def _list_books(languages: Sequence[str], ways: Sequence[str]) -> list[str]:
    return [*(languages if set(ways) - {"to English"} else ()), *(("en",) if "to English" in ways else ())]


async def collect(
    root: Path,
    languages: Sequence[str],
    ways: Sequence[str],
    *,
    known: Collection[tuple[str, str, int]],
    book: str = HANDBOOK,
    part: str = "all",
    data: Path | None = None,
) -> list[Row]:
    """Ask what was not asked yet."""
    books, items = read_books(root, _list_books(languages, ways), book=book), read_items(book)
    made: list[Row] = []
    with _open_folder(data) as folder:
        async with Library.open(settings=Settings(data=folder, embedder="multilingual")) as library:
            await add_books(library, books, folder, title=BOOKS[book].title)
            steps = await library._make_steps(None)
            for language in languages:
                for way in ways:
                    for item, question, asked, answers in list_questions(items, language, way, books):
                        if (language, way, item.id) not in known and part in (item.part, "all"):
                            made.append(await _ask(steps, item, question, asked, answers, language, way))
    return [replace(row, book=book) for row in made]


async def _ask(
    steps: AskSteps, item: Item, asked: str, book: str, answers: Sequence[str], language: str, way: str
) -> Row:
    question = Question(content=asked, book_id=book)
    bounds = await steps.scope.resolve_question(question)
    workspace = await steps.make_workspace(question, bounds)
    await workspace.search(asked, top_k=question.top_k, reader="large")
    found = tuple(workspace.evidence)
    places = [evidence.chunk.section.split()[0] for evidence in found]
    said = [step async for step in steps.answer(asked, workspace)][-1]
    assert isinstance(said, Reply)
    reply = await steps.verify(asked, workspace, said, found=found, name="offline")
    cited = {
        reply.sentences[id_].chunk.section.split()[0] for claim in reply.claims for id_ in claim.sentences
    }
    text = " ".join(claim.text for claim in reply.claims)
    return Row(
        language=language,
        way=way,
        id=item.id,
        part=item.part,
        answerable=bool(item.place),
        place=places.index(item.place) + 1 if item.place in places else 0,
        correct=bool(answers) and is_correct(text, answers, book),
        cited=item.place in cited,
        said=text,
        reader=said.reader or steps.retriever.reader_size,
        features=dict(said.features),
    )


@dataclass(frozen=True, slots=True)
class Score:
    """Whether one question was answered, and how sure the answer was."""

    answered: bool
    confidence: float


def score(row: Row) -> Score:
    """Decide as the library does with its calibration of today."""
    sure = calibration.confidence(row.features, reader=row.reader)
    enough = calibration.answerable(row.features, reader=row.reader) >= calibration.threshold(
        reader=row.reader
    )
    return Score(bool(row.said) and enough and sure >= LEAST_CONFIDENCE, sure)


def report(given: Sequence[Row], ways: Sequence[str], languages: Sequence[str]) -> None:
    """Print a line for each way and language, and for all languages of a way."""
    print("| way | language | asked | hit@1 | hit@5 | answered | correct of these | absent | refused | ECE |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for way in ways:
        for language in (*languages, "all"):
            own = [row for row in given if row.way == way and language in (row.language, "all")]
            if own:
                print(f"| {way} | {language} | {describe(own, [score(row) for row in own])} |")


def describe(given: Sequence[Row], scores: Sequence[Score]) -> str:
    can = [(r, s) for r, s in zip(given, scores, strict=True) if r.answerable]
    absent = [s for r, s in zip(given, scores, strict=True) if not r.answerable]
    answered = [r for r, s in can if s.answered]
    told = [(s.confidence, r.correct) for r, s in zip(given, scores, strict=True) if s.answered]
    error = calibration_error(np.array([c for c, _ in told]), np.array([t for _, t in told])) if told else 0.0
    shares = (
        statistics.mean(r.place == 1 for r, _ in can),
        statistics.mean(0 < r.place <= 5 for r, _ in can),
        len(answered) / len(can),
        statistics.mean(r.correct for r in answered) if answered else 0.0,
    )
    refused = statistics.mean(not s.answered for s in absent)
    cells = " | ".join(f"{share:.2f}" for share in shares)
    return f"{len(can)} | {cells} | {len(absent)} | {refused:.2f} | {error:.2f}"


async def count_false(
    root: Path, languages: Sequence[str], ways: Sequence[str], *, book: str, part: str, data: Path | None
) -> None:
    """Ask as a reader does, and compare every citation with the book."""
    books, items = read_books(root, _list_books(languages, ways), book=book), read_items(book)
    with _open_folder(data) as folder:
        async with Library.open(settings=Settings(data=folder, embedder="multilingual")) as library:
            await add_books(library, books, folder, title=BOOKS[book].title)
            for language in languages:
                answers = citations = false = 0
                for way in ways:
                    for item, question, asked, _ in list_questions(items, language, way, books):
                        if part not in (item.part, "all"):
                            continue
                        answer = await library.ask(question, book_id=asked)
                        verdicts = await library.verify(answer.id) if answer.refusal is None else []
                        answers += answer.refusal is None
                        citations += len(verdicts)
                        false += sum(not verdict.true for verdict in verdicts)
                print(f"{language}: {answers} answers, {citations} citations, {false} false", flush=True)


_FAQ_SECTION = re.compile(r'<h2 class="title"[^>]*><a id="[^"]+"></a>(.*?)</h2>', re.DOTALL)


def measure_scale(folder: Path) -> None:
    """Print where cosines of the two embedders lie, for `NEUTRAL` and `SCALE` of the multilingual one."""
    from octavo.models.loading import load_embedder
    from octavo.models.multilingual import MultilingualEmbedder

    questions, texts = [], []
    for path in sorted(folder.rglob("*.en.html")):
        parts = _FAQ_SECTION.split(path.read_text(encoding="utf-8"))
        questions += [re.sub(r"^[\d.\s]+", "", strip_tags(title)) for title in parts[1::2]]
        texts += [strip_tags(body)[:600] for body in parts[2::2]]
    english, other = load_embedder(Settings()), MultilingualEmbedder()
    for name, asked, read in (
        ("minilm-octavo-2", english.embed(questions), english.embed(texts)),
        ("multilingual-e5-small", other.embed_queries(questions), other.embed(texts)),
    ):
        cosines = np.array(asked) @ np.array(read).T
        own, rest = np.diag(cosines), cosines[~np.eye(len(cosines), dtype=bool)]
        print(f"{name}: belong together {statistics.mean(own):.3f}, do not {statistics.mean(rest):.3f}")


def ask_rest(
    root: Path,
    path: Path,
    languages: Sequence[str],
    ways: Sequence[str],
    book: str,
    part: str,
    data: Path | None,
) -> list[Row]:
    """Ask what is not kept yet, keep it, and return everything that was asked about the book."""
    there = read_rows(path, book) if path.exists() else []
    known = {(row.language, row.way, row.id) for row in there}
    for language in languages:
        made = asyncio.run(collect(root, [language], ways, known=known, book=book, part=part, data=data))
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in made)
        there += made
    return there


def read_rows(path: Path, book: str) -> list[Row]:
    return [row for row in (Row(**kept) for kept in rows(path)) if row.book == book]


def main() -> None:
    said = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    said.add_argument("manuals", type=Path)
    said.add_argument("--rows", type=Path, help="where what was asked is kept")
    said.add_argument("--book", choices=tuple(BOOKS), default=HANDBOOK, help="what is asked about")
    said.add_argument("--languages", help="which are asked, between commas; all of the book by default")
    said.add_argument("--ways", default=",".join(WAYS), help="how they are asked, between commas")
    said.add_argument("--part", choices=("tune", "test", "all"), default="test", help="what is asked")
    said.add_argument("--data", type=Path, help="a folder that keeps this book for the next run")
    said.add_argument("--false", action="store_true", help="ask through the library and check citations")
    said.add_argument("--scale", action="store_true", help="compare the cosines of the two embedders")
    given = said.parse_args()
    languages = given.languages.split(",") if given.languages else list(BOOKS[given.book].others)
    ways = given.ways.split(",")
    if given.scale:
        measure_scale(given.manuals)
    elif given.false:
        asyncio.run(
            count_false(given.manuals, languages, ways, book=given.book, part=given.part, data=given.data)
        )
    else:
        there = ask_rest(given.manuals, given.rows, languages, ways, given.book, given.part, given.data)
        report([row for row in there if given.part in (row.part, "all")], ways, languages)


if __name__ == "__main__":
    main()
