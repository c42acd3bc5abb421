"""A scope is a wall: what stands outside it never comes back, and what names nothing is refused."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from types import FrameType

import pytest

from octavo.errors import InvalidValue, NotFound
from octavo.library import Library
from octavo.protocols import Where
from octavo.search.scope import (
    Bounds,
    bound_by_books,
    bound_by_scope,
    find_near_names,
    find_pages,
    find_section,
)
from octavo.testing import TinyEmbedder
from octavo.types import Chunk, PageMark, Scope, ScopeType, Section
from tests.support import small_books
from tests.support.builders import make_book, make_chunk, make_section
from tests.support.store_contract import words_of


def heading(id: str, *path: str, position: int = 0, ancestors: tuple[str, ...] = ()) -> Section:
    return replace(make_section(id, heading_path=path, position=position), ancestors=ancestors)


CONTENTS = [
    heading("preface", "Preface", position=0),
    heading("one", "Chapter 1. Loomings", position=1),
    heading("one.notes", "Chapter 1. Loomings", "Notes", position=2, ancestors=("one",)),
    heading("ten", "Chapter 10. A Bosom Friend", position=3),
    heading("ten.notes", "Chapter 10. A Bosom Friend", "Notes", position=4, ancestors=("ten",)),
]
ENDS = {"preface": 2, "one": 5, "one.notes": 6, "ten": 9, "ten.notes": 11}


def pages(*marks: tuple[int, str | None]) -> list[Section]:
    return [make_section(text="x" * 99, pages=tuple(PageMark(0, number, label) for number, label in marks))]


LABELLED = pages((1, "i"), (2, "ii"), (3, "1"), (4, "2"), (5, "A-1"), (6, "A-2"))


def bounds_of(
    kind: ScopeType, identifier: str | None = None, *, sections: list[Section] | None = None
) -> Bounds:
    wanted = Scope(type=kind, identifier=identifier)
    return bound_by_scope(
        wanted, book=make_book(), sections=CONTENTS if sections is None else sections, ends=ENDS
    )


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("one", "one"),
        ("book://moby-dick/chapter-42", "preface"),
        ("preface", "preface"),
        ("chapter 10. a bosom friend > NOTES", "ten.notes"),
        ("Chapter 10. A Bosom Friend › Notes", "ten.notes"),
        ("loomings", "one"),
        ("  Bosom ", "ten"),
    ],
)
def test_a_section_is_found_by_id_address_path_title_or_part_of_a_title(
    identifier: str, expected: str
) -> None:
    assert find_section(identifier, CONTENTS).id == expected


def test_a_title_that_several_sections_have_asks_which_unless_one_holds_the_others() -> None:
    with pytest.raises(InvalidValue, match="it fits 2, say which") as refused:
        find_section("notes", CONTENTS)
    assert "one.notes  (Chapter 1. Loomings › Notes)" in refused.value.message
    assert "ten.notes" in refused.value.message
    outer = make_section("tides", heading_path=("Tides",), position=0)
    inner = replace(
        make_section("tides.tides", heading_path=("Tides", "Tides"), position=1), ancestors=("tides",)
    )
    assert find_section("tides", [outer, inner]).id == "tides"


def test_an_anchor_names_its_heading() -> None:
    anchored = replace(CONTENTS[3], anchor="friend")
    assert find_section("#friend", [*CONTENTS[:3], anchored]).id == "ten"


def test_a_part_of_several_titles_names_none_of_them() -> None:
    with pytest.raises(NotFound) as refused:
        find_section("Chapter", CONTENTS)
    assert refused.value.nearest == ("Chapter 1. Loomings", "Chapter 10. A Bosom Friend")


@pytest.mark.parametrize("identifier", ["Prefase", "Epilogue", "🐳", "%", "p" * 10_000])
def test_a_name_of_nothing_is_refused(identifier: str) -> None:
    with pytest.raises(NotFound) as refused:
        find_section(identifier, CONTENTS)
    assert "contents" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Lomings", ("Chapter 1. Loomings",)),
        ("a bosom frend", ("Chapter 10. A Bosom Friend",)),
        ("mobydick", ("moby-dick",)),
        ("policy", ("debian-policy-manual",)),
        ("Epilogue", ()),
        ("the whale", ()),
        ("🐳", ()),
        ("of", ()),
        ("p" * 10_000, ()),
    ],
)
def test_only_names_that_are_near_are_called_nearest(name: str, near: tuple[str, ...]) -> None:
    titles = ["Chapter 1. Loomings", "Chapter 10. A Bosom Friend", "moby-dick", "debian-policy-manual"]
    assert find_near_names(name, [*titles, "Of ships", "Town and Water"]) == near


@contextmanager
def count_comparisons() -> Iterator[Counter[str]]:
    """Count the names that this thread compares by their letters."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is SequenceMatcher.real_quick_ratio.__code__:
            found["compared"] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


def test_a_mistyped_name_is_compared_with_a_bounded_number_of_names() -> None:
    chance = random.Random(7)
    syllables = ["ka", "lo", "mi", "ne", "ru", "so", "ta", "vi"]
    titles = [" ".join("".join(chance.choices(syllables, k=4)) for _ in range(4)) for _ in range(3_000)]
    name = " ".join("".join(chance.choices(syllables, k=4)) for _ in range(10))
    with count_comparisons() as found:
        find_near_names(name, titles)
    assert 0 < found["compared"] <= 2_000
    assert find_near_names("The Histry of Harbors", [*titles, "A history of the harbour"]) == (
        "A history of the harbour",
    )


async def test_mistyped_names_are_compared_outside_the_event_loop(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        await library.tag(book.id, add=["water"])
        wanted = Scope(type=ScopeType.SECTION, identifier="Harbor")
        with count_comparisons() as found:
            for asked in (
                library.book(f"{book.id}s"),
                library.tagged(["watter"]),
                library.search("ships", book_id=book.id, scope=wanted),
                library.map(book.id, up_to="Harbor"),
            ):
                with pytest.raises(NotFound) as refused:
                    await asked
                assert refused.value.nearest
        assert found["compared"] == 0


def test_a_name_that_is_near_nothing_is_answered_with_all_of_a_few() -> None:
    with pytest.raises(NotFound, match=r"no section 'Epilogue' here; there are: \w+"):
        find_section("Epilogue", CONTENTS[:3])
    many = [heading(f"s{n}", f"Heading {n}") for n in range(9)]
    with pytest.raises(NotFound, match=r"no section 'Epilogue' here$"):
        find_section("Epilogue", many)


async def test_a_title_that_several_books_have_is_refused_with_their_ids(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        for name in ("one", "two"):
            (tmp_path / f"{name}.md").write_text(f"# Garden\n\nThe bench in garden {name} is green.\n")
            await library.add(tmp_path / f"{name}.md")
        with pytest.raises(InvalidValue, match="2 have this title, name one by its id: garden, garden-2"):
            await library.book("Garden")
        assert (await library.book("garden-2")).id == "garden-2"


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("ii", (2, 2)),
        (" II ", (2, 2)),
        ("1", (3, 3)),
        ("#1", (1, 1)),
        ("#6", (6, 6)),
        ("i-2", (1, 4)),
        ("1 – 2", (3, 4)),
        ("#2..#4", (2, 4)),
        ("A-1", (5, 5)),
        ("A-1-A-2", (5, 6)),
        ("2..A-1", (4, 5)),
    ],
)
def test_pages_are_named_by_label_and_counted_with_a_hash(identifier: str, expected: tuple[int, int]) -> None:
    assert find_pages(identifier, LABELLED) == expected


@pytest.mark.parametrize("identifier", ["6", "iii", "#7", "2-1", "-", "", "1-", "9" * 5000, "#²", "A-1-"])
def test_a_page_that_is_not_there_is_refused_and_the_pages_are_said(identifier: str) -> None:
    with pytest.raises(NotFound, match="no page") as refused:
        find_pages(identifier, LABELLED)
    assert "#1 to #6" in refused.value.hint


def test_without_labels_pages_are_named_by_their_numbers() -> None:
    plain = pages((1, None), (2, None), (3, None))
    assert find_pages("2", plain) == find_pages("#2", plain) == (2, 2)
    assert find_pages("1-3", plain) == (1, 3)


def test_a_book_without_pages_says_so() -> None:
    with pytest.raises(NotFound) as refused:
        find_pages("1", CONTENTS)
    assert "no page numbers" in refused.value.hint


@pytest.mark.parametrize(
    ("identifier", "position"),
    [("Preface", 2), ("one", 6), ("one.notes", 6), ("ten", 11), ("7", 7), ("loomings", 6)],
)
def test_up_to_a_section_ends_with_its_last_words(identifier: str, position: int) -> None:
    where = bounds_of(ScopeType.UP_TO, identifier).where
    assert where.at_most == {"document_position": position}


@pytest.mark.parametrize("identifier", ["p. 1", "p 1", "p1", "page 1", "Page1", "p. #3", "P.1"])
def test_up_to_a_page_ends_with_that_page(identifier: str) -> None:
    assert bounds_of(ScopeType.UP_TO, identifier, sections=LABELLED).where.at_most == {"page_end": 3}


@pytest.mark.parametrize("title", ["Preface", "Prologue", "Pages", "P. 2"])
def test_a_section_whose_name_begins_like_a_page_is_still_a_section(title: str) -> None:
    section = replace(LABELLED[0], title=title, heading_path=(title,), id="named")
    where = bound_by_scope(
        Scope(type=ScopeType.UP_TO, identifier=title), book=make_book(), sections=[section], ends={"named": 4}
    ).where
    assert where.at_most == {"document_position": 4}


def test_up_to_a_section_before_any_text_holds_nothing() -> None:
    where = bound_by_scope(
        Scope(type=ScopeType.UP_TO, identifier="preface"),
        book=make_book(),
        sections=CONTENTS,
        ends={"one": 0},
    )
    assert not where.holds(make_chunk(position=0))


def test_a_selection_is_not_searched_by_itself() -> None:
    with pytest.raises(InvalidValue, match="searched by itself"):
        bounds_of(ScopeType.SELECTION, "some words")


def test_a_description_says_what_the_reader_asked_for() -> None:
    assert bounds_of(ScopeType.PAGE, "ii", sections=LABELLED).description == "Moby Dick, page ii"
    assert bounds_of(ScopeType.PAGE, "i-2", sections=LABELLED).description == "Moby Dick, pages i-2"
    assert bounds_of(ScopeType.SECTION, "ten.notes").description.endswith("Friend › Notes")
    assert bound_by_books().description == "the whole library"


def test_a_chunk_without_pages_is_on_no_page_and_one_without_an_end_ends_where_it_begins() -> None:
    page = bounds_of(ScopeType.PAGE, "#2", sections=LABELLED)
    assert not page.holds(make_chunk())
    assert page.holds(make_chunk(page_number=2))
    assert not page.holds(make_chunk(page_number=3))


def test_hidden_editions_are_asked_of_the_store_alone() -> None:
    bounds = bound_by_books().exclude([4, 7])
    assert bounds.where.none_of == {"edition": (4, 7)}
    assert bounds.holds(make_chunk())
    assert bound_by_books().exclude([]) == bound_by_books()


async def chunks_in(library: Library, bounds: Bounds) -> set[str]:
    """What the store's filter lets through, by itself."""
    context = await library._context()
    found = await context.store.search(
        context.embedder.embed(["pearl"])[0], words_of("pearl"), where=bounds.where, limit=1000
    )
    return {hit.id for hit in (*found.dense, *found.lexical)}


async def test_planted_words_outside_a_scope_never_come_back(tmp_path: Path) -> None:
    """Every section and page has its own secret; searching for all of them finds only those inside."""
    chance = random.Random(11)
    lines = [
        [f"On leaf {p} the pearl of secret{p:02} lay hidden, line {n}." for n in range(chance.randint(2, 9))]
        for p in range(30)
    ]
    nested = {
        f"Part {p}": f"The pearl of secret{p:02} lies here.\n\n"
        + "\n\n".join(
            f"### Room {p}.{r}\n\nIn this room the pearl of inner{p:02}x{r} lies." for r in range(3)
        )
        for p in range(8)
    }
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        paged = await library.add(small_books.write_pdf(tmp_path / "pearls.pdf", lines, roman=5))
        rooms = await library.add(small_books.write_markdown(tmp_path / "rooms.md", nested, title="Rooms"))
        asked: list[tuple[str, Scope]] = []
        for section in await library.contents(rooms.id):
            asked.append((rooms.id, Scope(type=ScopeType.SECTION, identifier=section.id)))
            asked.append((rooms.id, Scope(type=ScopeType.UP_TO, identifier=section.id)))
        for _ in range(12):
            first, last = sorted(chance.sample(range(1, 31), 2))
            asked.append((paged.id, Scope(type=ScopeType.PAGE, identifier=f"#{first}-#{last}")))
            asked.append((paged.id, Scope(type=ScopeType.PAGE, identifier=f"#{first}")))
            asked.append((paged.id, Scope(type=ScopeType.UP_TO, identifier=f"p. #{last}")))
        context = await library._context()
        everything = [c for b in (paged, rooms) for c in await context.records.list_chunks(b.id)]
        assert any(c.page_number != c.page_end for c in everything)
        for book_id, wanted in asked:
            bounds = await library._scope.resolve(wanted, book_id=book_id)
            inside = {c.id for c in everything if bounds.holds(c)}
            assert await chunks_in(library, bounds) == inside, wanted
            found = await library.search(
                "the pearl of secret and inner", book_id=book_id, scope=wanted, top_k=100
            )
            assert {e.chunk.id for e in found} == inside, wanted
            assert all(truly_inside(e.chunk, book_id, wanted) for e in found), wanted


def truly_inside(chunk: Chunk, book_id: str, wanted: Scope) -> bool:
    """Judged by the chunk alone, by other means than `scope` has."""
    name = wanted.identifier or ""
    if chunk.book_id != book_id:
        return False
    if wanted.type is ScopeType.SECTION:
        return chunk.section_id == name or chunk.section_id.startswith(f"{name}.")
    if name.startswith("p. #"):
        return chunk.page_end is not None and chunk.page_end <= int(name[4:])
    if wanted.type is ScopeType.PAGE:
        ends = [int(end) for end in name.replace("#", "").split("-")]
        return any(ends[0] <= p <= ends[-1] for p in range(chunk.page_number or 0, (chunk.page_end or 0) + 1))
    part, _, room = name.partition(".room-")
    here, _, there = chunk.section_id.partition(".room-")
    return (here, there or "") <= (part, room or "~") if here == part else here < part


async def test_a_scope_that_names_nothing_is_refused_before_anything_is_searched(tmp_path: Path) -> None:
    embedder = TinyEmbedder()
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        book = await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        before = embedder.embedded
        with pytest.raises(NotFound, match="Harbour"):
            await library.search(
                "ships", book_id=book.id, scope=Scope(type=ScopeType.SECTION, identifier="Harbor")
            )
        with pytest.raises(NotFound, match="no book"):
            await library.search("ships", book_id="the-tide")
        with pytest.raises(NotFound, match="no page"):
            await library.search("ships", scope=Scope(type=ScopeType.PAGE, identifier="3"))
        assert embedder.embedded == before


def test_a_beginning_of_a_title_that_ends_at_a_word_names_its_section() -> None:
    titles = ("Chapter 1. Loomings", "Chapter 10. A Bosom Friend", "Chapter 11. Nightgown")
    sections = [
        make_section(f"s{number}", heading_path=(title,), position=number)
        for number, title in enumerate(titles)
    ]
    assert find_section("Chapter 1", sections).title == titles[0]
    assert find_section("chapter 10", sections).title == titles[1]
    with pytest.raises(NotFound):
        find_section("Chapter", sections)


def test_what_is_read_so_far_says_that_the_rest_lies_ahead() -> None:
    def bound(kind: ScopeType, name: str) -> Bounds:
        scope = Scope(type=kind, identifier=name)
        return bound_by_scope(scope, book=make_book(), sections=CONTENTS, ends=ENDS)

    assert bound(ScopeType.UP_TO, "Chapter 1. Loomings").ahead
    assert not bound(ScopeType.SECTION, "Preface").ahead


def test_a_wider_scope_keeps_to_the_chosen_files() -> None:
    where = Where(any_of={"book_id": ("b",), "source_file": ("a.md",)}, at_most={"document_position": 3})
    wider = Bounds(where, "the first pages").widen()
    assert wider is not None
    assert wider.where.any_of == {"book_id": ("b",), "source_file": ("a.md",)}
    assert Bounds(Where(any_of={"book_id": ("b",), "source_file": ("a.md",)}), "a file").widen() is None
