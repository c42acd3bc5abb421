"""One library holds books of two embedders: each is searched by its own, and the hits are joined fairly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from octavo.ingest.edition import find_section_language
from octavo.library import Library
from octavo.maintenance.repair import EMBEDDER
from octavo.models.multilingual import MultilingualEmbedder
from octavo.protocols import EVERYWHERE, Hit, StoreHits, TrainedEmbedder, Where, is_made_by
from octavo.records.tables import books as book_table
from octavo.search.groups import group_books, join_hits
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Book
from tests.support.builders import make_book

ENGLISH = """# Handbook

## Kernel

The kernel of the system is built with the command make-kpkg. It takes an hour on an old machine.

## Bread

The bread is baked for forty minutes in a hot oven, and it must cool before it is cut.
"""
GERMAN = """# Handbuch

## Kapitel eins

Das Brot wird vierzig Minuten in einem heißen Ofen gebacken, und es muss abkühlen, bevor es geschnitten wird.

## Kapitel zwei

Der König starb im Jahr 1547, und sein Sohn wurde sein Nachfolger. Die Krone ist heute in einem Museum.

## Kapitel drei

Die Katze schläft auf dem Dach des Hauses, wenn die Sonne scheint, und sie kommt erst am Abend zurück.
"""
URDU = """# کتاب

## باب ایک

چاند زمین کا واحد قدرتی سیارچہ ہے، اور اس کا قطر ۳۴۷۴ کلومیٹر ہے۔ ہم اس پر سورج کی روشنی دیکھتے ہیں۔

## باب دو

بادشاہ کا انتقال ۱۵۴۷ میں ہوا اور اس کا بیٹا اس کا جانشین بنا۔
"""


def test_books_are_grouped_by_the_embedder_that_made_their_vectors() -> None:
    first, other = TinyEmbedder(), MultilingualEmbedder()
    english = replace(make_book(), id="a", index_fingerprint=f"readers-1 chunks-1 {first.fingerprint}")
    german = replace(english, id="b", index_fingerprint=f"readers-1 chunks-1 words-de-1 {other.fingerprint}")
    (alone,) = group_books([english], first, other)
    assert alone.embedder is first
    assert alone.languages == ("",)
    assert alone.bound(EVERYWHERE) is EVERYWHERE
    one, two = group_books([german, english], first, other)
    assert (one.books, two.books, two.languages) == (("a",), ("b",), ("de",))
    assert one.bound(EVERYWHERE) == Where(any_of={"book_id": ("a",)})
    assert two.bound(Where(any_of={"book_id": ("a",)})) is None
    assert two.bound(Where(none_of={"book_id": ("b",)})) is None
    assert len(group_books([], first, other)) == 1


async def test_a_chapter_in_another_language_has_the_words_of_its_own(tmp_path: Path) -> None:
    english = "The ships came home before the storm, and the harbour master counted them in the evening. "
    german = (
        "Die Häuser der Fischer standen am Hafen, und die Netze hingen vor den Türen in der Sonne. "
        "Sie waren nicht aus Stein, sondern aus Holz, das man mit dem Schiff von einer Insel geholt hatte. "
    )
    chapters = {"One": english * 6, "Zwei": german * 4, "Three": english.replace("ships", "boats") * 6}
    pages = "".join(f"## {title}\n\n{text}\n\n" for title, text in chapters.items())
    (tmp_path / "book.md").write_text(f"# The Harbour\n\n{pages}", encoding="utf-8")
    async with Library.open(settings=Settings(data=tmp_path / "data", reader="off")) as library:
        book = await library.add(tmp_path / "book.md")
        assert "words-en+de-1 minilm-octavo-2" in book.index_fingerprint
        # "Haus" is the stem that "Häuser" has in German alone.
        (first, *_) = await library.search("Haus eines Fischers", book_id=book.id)
        assert (first.chunk.section, first.chunk.language) == ("Zwei", "de")
        (first, *_) = await library.search("counting a boat", book_id=book.id)
        assert (first.chunk.section, first.chunk.language) == ("Three", "")
        sections = {section.title: section for section in await library.contents(book.id)}
        spoken = {title: find_section_language(book, sections[title]) for title in chapters}
        assert spoken == {"One": "", "Zwei": "de", "Three": ""}
        (group,) = group_books([book], TinyEmbedder(), None)
        assert (group.languages, group.main) == (("", "de"), ("",))
        assert (await library.add(tmp_path / "book.md")).updated_at == book.updated_at
        assert all(finding.sound for finding in await library.examine())


def test_hits_are_joined_best_first_and_ties_by_id() -> None:
    one = StoreHits((Hit("c", 0.5),), (Hit("c", 3.0),))
    two = StoreHits((Hit("b", 0.5), Hit("a", 0.1)), ())
    joined = join_hits([one, two])
    assert [hit.id for hit in joined.dense] == ["b", "c", "a"]
    assert join_hits([one]) is one


async def test_one_library_holds_books_of_both_embedders(tmp_path: Path) -> None:
    files = {"english.md": ENGLISH, "german.md": GERMAN, "urdu.md": URDU}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    settings = Settings(data=tmp_path / "data")
    async with Library.open(settings=settings) as library:
        books = [await library.add(tmp_path / name) for name in files]
        english, german, urdu = books
        assert "words-" not in english.index_fingerprint
        assert "minilm-octavo-2" in english.index_fingerprint
        assert "words-de-1 multilingual-e5-small" in german.index_fingerprint
        assert [book.language for book in books] == ["", "de", "ur"]

        async def find(query: str, book_id: str | None = None) -> tuple[str, str]:
            chunk = (await library.search(query, book_id=book_id, top_k=2))[0].chunk
            return chunk.book_id, chunk.section

        assert await find("How is the kernel built?") == (english.id, "Kernel")
        assert await find("Wo schläft die Katze?") == (german.id, "Kapitel drei")
        assert await find("بادشاہ کا انتقال کب ہوا؟") == (urdu.id, "باب دو")
        # Across languages: the words have nothing in common.
        assert await find("Where does the cat sleep?", german.id) == (german.id, "Kapitel drei")
        assert await find("How large is the moon?", urdu.id) == (urdu.id, "باب ایک")
        # Both books tell how bread is baked.
        baked = await library.search("How long is bread baked?", top_k=4)
        assert {hit.chunk.section for hit in baked[:2]} == {"Bread", "Kapitel eins"}
        again = await library.add(tmp_path / "german.md")
        assert again.updated_at == german.updated_at
        found = await library.examine()
        assert all(finding.sound for finding in found), found

    # With English rules again, the German book is found by what it was embedded with.
    async with Library.open(settings=Settings(data=tmp_path / "data", embedder="english")) as library:
        (hit, *_) = await library.search("Where does the cat sleep?", book_id=german.id)
        assert hit.chunk.section == "Kapitel drei"
        renewed = await library.add(tmp_path / "german.md")
        assert "words-de-1 minilm-octavo-2" in renewed.index_fingerprint
        (hit, *_) = await library.search("Katze auf dem Dach", book_id=german.id)
        assert hit.chunk.section == "Kapitel drei"
        found = await library.examine(repair=True)
        assert all(finding.sound for finding in found), found


async def age(library: Library, book: Book) -> None:
    """Makes the records say that an earlier version of its embedder embedded the only book."""
    context = await library._context()
    embedder = context.find_embedder(book.index_fingerprint)
    assert isinstance(embedder, TrainedEmbedder)
    (earlier, *_) = embedder.replaces
    words = book.index_fingerprint.removesuffix(embedder.fingerprint)
    async with library._records.database.begin() as connection:
        await connection.execute(update(book_table).values(index_fingerprint=words + earlier))
    await library._records.save_missing_digests()
    if context.embedder is embedder:
        await library._records.set_meta(EMBEDDER, earlier)


@pytest.mark.parametrize(
    ("text", "asked", "section"),
    [(GERMAN, "Where does the cat sleep?", "Kapitel drei"), (ENGLISH, "How long is bread baked?", "Bread")],
)
async def test_books_of_an_earlier_version_are_found_and_embedded_again(
    tmp_path: Path, text: str, asked: str, section: str
) -> None:
    (tmp_path / "book.md").write_text(text, encoding="utf-8")
    async with Library.open(settings=Settings(data=tmp_path / "data")) as library:
        book = await library.add(tmp_path / "book.md")
        await age(library, book)

    async with Library.open(settings=Settings(data=tmp_path / "data")) as library:
        (hit, *_) = await library.search(asked)
        assert hit.chunk.section == section
        found = {finding.what: finding for finding in await library.examine()}
        assert not found["vectors"].sound
        assert book.title in found["vectors"].said
        found = {finding.what: finding for finding in await library.examine(repair=True)}
        assert "vectors" not in found
        (renewed,) = await library.books()
        assert renewed.index_fingerprint == book.index_fingerprint


def test_an_index_belongs_to_the_embedder_that_made_it_or_to_the_next_version_of_that() -> None:
    embedder = MultilingualEmbedder()
    for made_by in (embedder.fingerprint, *embedder.replaces):
        assert is_made_by(f"readers-5 chunks-1-200 words-de-1 {made_by}", embedder)
    assert not is_made_by("readers-5 chunks-1-200 words-de-1 another:int8:0:264:384", embedder)
    assert not is_made_by(f"readers-5 {embedder.fingerprint}", TinyEmbedder())


async def test_an_english_book_can_be_asked_in_another_language(tmp_path: Path) -> None:
    (tmp_path / "english.md").write_text(ENGLISH, encoding="utf-8")
    async with Library.open(settings=Settings(data=tmp_path / "data", embedder="multilingual")) as library:
        book = await library.add(tmp_path / "english.md")
        assert "words-" not in book.index_fingerprint
        (hit, *_) = await library.search("Wie lange wird Brot gebacken?")
        assert hit.chunk.section == "Bread"


def test_a_fingerprint_may_have_spaces() -> None:
    embedder = TinyEmbedder(name="My own model")
    assert is_made_by(f"readers-1 chunks-1 {embedder.fingerprint}", embedder)
    assert not is_made_by("readers-1 chunks-1 model-64", embedder)


async def test_a_repair_that_is_interrupted_leaves_a_library_that_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "book.md").write_text(ENGLISH, encoding="utf-8")
    async with Library.open(settings=Settings(data=tmp_path / "data")) as library:
        book = await library.add(tmp_path / "book.md")
        await age(library, book)

    def stop(_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("octavo.maintenance.doctor.reindex", stop)
    async with Library.open(settings=Settings(data=tmp_path / "data")) as library:
        with pytest.raises(KeyboardInterrupt):
            await library.examine(repair=True)
    async with Library.open(settings=Settings(data=tmp_path / "data")) as library:
        (hit, *_) = await library.search("How long is bread baked?")
        assert hit.chunk.section == "Bread"
