"""Answer questions about a book as a thing from the catalogue: its authors, chapters, length and language.

A fact of the catalogue is stated in a sentence of our own. It is cited where the book itself says it: the
line of the title page that names the author, the chapter with that heading. Otherwise it has no citation, and
the sentence ends with "(from the catalogue)". Where the catalogue does not know when a book was published,
the line of the title page that tells it is quoted. Where it knows no author, what the book says under a
heading such as "About the authors" is. A question that names something else in the place of a
book ("who is the author of the letter?") is left to the answerer, and so is one that the
catalogue cannot answer.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from octavo.answers.parts import is_book, is_titled, list_body, list_headed
from octavo.answers.requests import (
    CatalogueFact,
    CatalogueRequest,
    SeveralRequest,
    read_catalogue_request,
    read_request,
)
from octavo.answers.title_page import is_credits, is_imprint, says_author, says_date, says_title
from octavo.concurrency import run_blocking
from octavo.text.language import detect_language
from octavo.text.languages import LANGUAGE_NAMES
from octavo.verification.claims import CatalogueClaim, Claim

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.types import Book, Section
    from octavo.verification.claims import Sentence

# How often a fact of the catalogue is what the reader asked for.
CATALOGUE_CONFIDENCE = 0.9
# Of more books than this, none is described.
BOOKS_MOST = 8
CHAPTERS_MOST = 40
# Title page, imprint and dedication are among the first sections.
FRONT_SECTIONS = 6
# So many of the last sections may tell who made a book.
BACK_SECTIONS = 4
# So many sentences are quoted of what a book says of its authors.
CREDITS_MOST = 5
FROM_CATALOGUE = "(from the catalogue)"
WORDS_PER_MINUTE = 240
_MEANT = frozenset(("", "it", "this", "that", "here", "there", "total", "this one"))


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about a book, and the sentences of the book that say it, if any do."""

    text: str
    book_id: str
    shown: tuple[Sentence, ...] = ()
    quoted: bool = False
    """Whether it is the book's own sentence."""


async def tell_from_catalogue(question: str, workspace: Workspace) -> tuple[Claim, ...]:
    """Answer a question about the book itself, or return nothing if it is none or the catalogue cannot."""
    if workspace.is_selection:
        return ()
    several = read_request(question)
    parts = several.questions if isinstance(several, SeveralRequest) else (question,)
    statements: list[Statement] = []
    for part in parts:
        wanted = read_catalogue_request(part), _read_asked(workspace.asked)
        found = await _answer(wanted[0], workspace) or await _answer(wanted[1], workspace)
        if not found:
            return ()
        statements += found
    return await _make_claims(statements, workspace)


def _read_asked(asked: str) -> CatalogueRequest | None:
    """Read the reader's own words. Only a book has chapters, whatever "it" was taken for."""
    wanted = read_catalogue_request(asked)
    chapters = wanted is not None and (wanted.fact is CatalogueFact.CHAPTERS or wanted.noun == "chapter")
    return wanted if chapters else None


async def _answer(wanted: CatalogueRequest | None, workspace: Workspace) -> list[Statement]:
    """State what is wanted of each book that is meant, or nothing if it cannot be stated of any."""
    if wanted is None:
        return []
    books = [book for book in await workspace.list_books() if _is_meant(wanted.book, book)]
    if not 0 < len(books) <= (1 if wanted.fact is CatalogueFact.CHAPTERS else BOOKS_MOST):
        return []
    statements: list[Statement] = []
    for book in books:
        reader = _BookReader(book, *await workspace.list_sections_of(book.id), workspace)
        statements += await reader.state(wanted)
    return statements


def _is_meant(name: str, book: Book) -> bool:
    """Whether a name in a question means a book: "it", "this novel", its title, or the title's first part."""
    if name.casefold() in _MEANT or is_book(name):
        return True
    return is_titled(name, book.title)


async def _make_claims(statements: Sequence[Statement], workspace: Workspace) -> tuple[Claim, ...]:
    claims: list[Claim] = []
    for statement in statements:
        ids = tuple(sentence.id for sentence in await workspace.take(statement.shown))
        if statement.quoted:
            claims.append(Claim(statement.text, ids))
        else:
            claims.append(make_catalogue_claim(statement.text, statement.book_id, shown=ids))
    return tuple(claims)


def make_catalogue_claim(text: str, book_id: str, *, shown: tuple[str, ...] = ()) -> CatalogueClaim:
    """Make a claim about a book. If no sentence of the book shows it, it says where it is from."""
    said = text if shown else f"{text[:-1]} {FROM_CATALOGUE}{text[-1]}"
    return CatalogueClaim(said, shown, book_id=book_id)


class _BookReader:
    """States facts about one book."""

    def __init__(
        self, book: Book, sections: Sequence[Section], visible: frozenset[str], workspace: Workspace
    ) -> None:
        self._book, self._sections, self._workspace = book, sections, workspace
        self._seen = [section for section in sections if section.id in visible]
        self._name = f"“{book.title}”"

    async def state(self, wanted: CatalogueRequest) -> list[Statement]:
        if not self._seen:
            return []
        where = self._workspace.bounds.where
        narrowed = bool(where.any_of.get("sections") or where.at_least)
        match wanted.fact:
            case CatalogueFact.TITLE:
                return await self._state_title()
            case CatalogueFact.AUTHORS:
                return await self._state_authors()
            case CatalogueFact.LANGUAGE:
                return await self._state_language()
            case CatalogueFact.PUBLISHED:
                return await self._state_date() or await self._quote_imprint()
            case _ if narrowed:
                # What is asked is likely to be asked of the section or the pages.
                return []
            case CatalogueFact.COUNT:
                return await self._state_count(wanted.noun, named=bool(wanted.book))
            case CatalogueFact.LENGTH:
                return await self._state_length()
            case CatalogueFact.CHAPTERS:
                return await self._list_chapters()

    async def _state_authors(self) -> list[Statement]:
        authors = [author for author in self._book.authors if author.strip()]
        if not authors:
            return await self._quote_credits()
        text = f"{self._name} is by {_join_names(authors)}."
        first = next((section.id for section in self._seen if section.text.strip()), "")

        def says(author: str, section: Section, line: str) -> bool:
            alone = section.id == first or is_imprint(section.title)
            return says_author(line, author, authors=authors, alone=alone)

        return await self._state(text, *(partial(says, author) for author in authors))

    async def _quote_credits(self) -> list[Statement]:
        """Quote what the book says of its authors under a heading of their own."""
        inner = {section.id for section in self._seen[FRONT_SECTIONS:-BACK_SECTIONS]}
        credits = [
            section
            for section in self._seen
            if section.text.strip() and is_credits(section.title, at_edge=section.id not in inner)
        ]
        if not credits:
            return []
        section = max(credits, key=lambda one: len(one.text))
        sentences = await self._workspace.look_through(section)
        told = [sentence for sentence in sentences if sentence.text != section.title][:CREDITS_MOST]
        return [Statement(s.text, self._book.id, (s,), quoted=True) for s in told]

    async def _state_title(self) -> list[Statement]:
        def says(_: Section, line: str) -> bool:
            return says_title(line, self._book.title, authors=self._book.authors)

        return await self._state(f"The title is {self._name}.", says)

    async def _state_language(self) -> list[Statement]:
        code = self._book.language.lower().split("-")[0]
        if not code:
            sample = max((section.text for section in self._seen), key=len, default="")
            code = await run_blocking(detect_language, sample)
        name = LANGUAGE_NAMES.get(code, code.capitalize() if len(code) > 3 else "")
        return await self._state(f"{self._name} is in {name}.") if name else []

    async def _state_count(self, noun: str, *, named: bool) -> list[Statement]:
        """Count chapters, or what headings call by that name. Without a name of the book, only what is
        surely counted in a book.
        """
        if noun == "word" or (noun == "page" and not self._book.page_count):
            # A book without pages is measured in words.
            return await self._state_length()
        if noun == "page":
            return await self._state(f"{self._name} has {_count(self._book.page_count, noun)}.")
        if noun == "chapter":
            counted = self._find_chapters()
        elif noun == "section" and named:
            counted = list(self._sections)
        else:
            counted = list_headed(self._sections, noun) if named else []
        if not counted:
            return []
        return await self._state(f"{self._name} has {_count(len(counted), noun)}.")

    async def _state_length(self) -> list[Statement]:
        words = self._count_words()
        size = [_count(self._book.page_count, "page")] if self._book.page_count else []
        size += [f"about {_round(words):,} words", _count(len(self._find_chapters()), "chapter")]
        text = f"{self._name} has {_join_names(size)}, which is about {_estimate_time(words)} of reading."
        return await self._state(text)

    async def _list_chapters(self) -> list[Statement]:
        chapters = self._find_chapters()
        openings = [(chapter, await self._find_opening([chapter])) for chapter in chapters[:CHAPTERS_MOST]]
        held = [(chapter, opening) for chapter, opening in openings if opening is not None]
        if not held:
            return []
        rest = "" if len(held) == len(chapters) else f", of which these are the first {len(held)}"
        if rest and self._workspace.bounds.ahead:
            rest = f", of which you have reached {len(held)}"
        lead = f"{self._name} has {_count(len(chapters), 'chapter')}{rest}:"
        items = [Statement(f"- {chapter.title}", self._book.id, (opening,)) for chapter, opening in held]
        return [*await self._state(lead), *items]

    async def _state_date(self) -> list[Statement]:
        published = self._book.metadata.published
        if not published:
            return []
        publisher = self._book.metadata.publisher
        by = f" by {publisher}" if publisher else ""

        def says(section: Section, line: str) -> bool:
            told = says_date(line, imprint=is_imprint(section.title)) and published[:4] in line
            return told and publisher.casefold() in line.casefold()

        # Few lines tell the day.
        return await self._state(
            f"{self._name} was published {_name_date(published)}{by}.",
            *([says] if len(published) == 4 else []),
        )

    async def _quote_imprint(self) -> list[Statement]:
        """Quote the line that says when the book was published."""
        for section in self._list_front():
            for sentence in await self._workspace.look_through(section):
                if says_date(sentence.text, imprint=is_imprint(section.title)):
                    return [Statement(sentence.text, self._book.id, (sentence,), quoted=True)]
        return []

    async def _state(self, text: str, *sayings: Callable[[Section, str], bool]) -> list[Statement]:
        """State something, cited to the sentences of the front matter that say it if there is one for each of
        `sayings`. Without them, only the catalogue says it.
        """
        lines = [
            (section, sentence)
            for section in (self._list_front() if sayings else ())
            for sentence in await self._workspace.look_through(section)
        ]
        found = [next((one for place, one in lines if says(place, one.text)), None) for says in sayings]
        said = tuple(dict.fromkeys(one for one in found if one is not None))
        return [Statement(text, self._book.id, said if None not in found else ())]

    def _list_front(self) -> list[Section]:
        """List the sections that may say who made the book and when."""
        imprints = [section for section in self._seen if is_imprint(section.title)]
        return list({section.id: section for section in (*imprints, *self._seen[:FRONT_SECTIONS])}.values())

    async def _find_opening(self, sections: Sequence[Section]) -> Sentence | None:
        """Find the first sentence of the first of the sections that has text the reader may see, or of what
        is under it.
        """
        ids = {section.id for section in self._seen}
        for section in sections:
            below = (one for one in self._sections if one.id == section.id or section.id in one.ancestors)
            for one in below:
                sentences = await self._workspace.look_through(one) if one.id in ids else []
                if sentences:
                    return sentences[0]
        return None

    def _find_chapters(self) -> list[Section]:
        """Find what headings call a chapter, else the parts of the book without front and back matter."""
        return list_headed(self._sections, "chapter") or list_body(self._sections)

    def _count_words(self) -> int:
        return sum(len(section.text.split()) for section in self._sections)


def _count(count: int, noun: str) -> str:
    plural = "appendices" if noun == "appendix" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def _name_date(published: str) -> str:
    """Write `1851`, `1851-10` or `1851-10-18` as people do."""
    year, _, rest = published.partition("-")
    month, _, day = rest.partition("-")
    if not (month.isdecimal() and 1 <= int(month) <= 12):
        return f"in {year}"
    name = calendar.month_name[int(month)]
    return f"on {int(day)} {name} {year}" if day.isdecimal() else f"in {name} {year}"


def _estimate_time(words: int) -> str:
    minutes = max(1, round(words / WORDS_PER_MINUTE))
    return _count(round(minutes / 60), "hour") if minutes >= 90 else _count(minutes, "minute")


def _round(count: int) -> int:
    """Round to two figures: the count depends on what is taken for a word."""
    return round(count, 2 - len(str(count))) if count >= 100 else count


def _join_names(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
