"""One library holds books of two embedders: each is searched by its own, and the hits are joined fairly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from octavo.library import Library
from octavo.models.multilingual import MultilingualEmbedder
from octavo.protocols import EVERYWHERE, Hit, StoreHits, Where
from octavo.search.groups import group_books, join_hits
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
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
        assert "all-MiniLM-L6-v2" in english.index_fingerprint
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
        assert "words-de-1 all-MiniLM-L6-v2" in renewed.index_fingerprint
        (hit, *_) = await library.search("Katze auf dem Dach", book_id=german.id)
        assert hit.chunk.section == "Kapitel drei"
        found = await library.examine(repair=True)
        assert all(finding.sound for finding in found), found


async def test_an_english_book_can_be_asked_in_another_language(tmp_path: Path) -> None:
    (tmp_path / "english.md").write_text(ENGLISH, encoding="utf-8")
    async with Library.open(settings=Settings(data=tmp_path / "data", embedder="multilingual")) as library:
        book = await library.add(tmp_path / "english.md")
        assert "words-" not in book.index_fingerprint
        (hit, *_) = await library.search("Wie lange wird Brot gebacken?")
        assert hit.chunk.section == "Bread"
