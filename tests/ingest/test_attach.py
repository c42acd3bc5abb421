"""A collection of somebody else's becomes a book: searched, asked and cited, and never written to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from octavo.errors import BadBook, InvalidValue, NotFound, StoreError
from octavo.events import Compared, Embedding, IngestEvent, Parsed, Published
from octavo.ingest.edition import CREDENTIALS_LEFT_OUT
from octavo.library import Library
from octavo.models.multilingual import MultilingualEmbedder
from octavo.protocols import EVERYWHERE
from octavo.records.options import BookOptions
from octavo.schemas import QueryJson
from octavo.settings import Settings
from octavo.store.bm25 import Bm25Encoder
from octavo.store.qdrant_import import Source
from octavo.store.qdrant_payloads import PayloadKeys
from octavo.testing import TinyEmbedder
from tests.support.answerers import AllSentencesAnswerer, assert_well_cited
from tests.support.foreign_collections import (
    ROBOTS,
    SITE,
    ForeignPoint,
    delete_points,
    fill_collection,
    fill_payloads,
)
from tests.support.qdrant_server import Fault, QdrantServer
from tests.support.small_books import write_markdown


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as running:
        yield running


@asynccontextmanager
async def library(
    tmp_path: Path, *, embedder: TinyEmbedder | None = None, quoting: str = "robot"
) -> AsyncIterator[Library]:
    settings = Settings(data=tmp_path / "library", free_space_mb=0)
    embedder, answerer = embedder or TinyEmbedder(), AllSentencesAnswerer(quoting)
    async with Library.open(settings=settings, embedder=embedder, answerer=answerer) as opened:
        yield opened


def source(server: QdrantServer, *, vector: str | None = None, key: str = "") -> Source:
    return Source(url=server.url, vector=vector, key=key)


async def test_a_collection_is_searched_asked_and_cited_without_a_write_to_it(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder())
    before = len(server.writes)
    async with library(tmp_path, quoting="lidar") as robots:
        book = await robots.attach(source(server))
        assert (book.id, book.title) == ("ai-book-embedding", "ai_book_embedding")
        assert (book.section_count, book.chunk_count) == (3, 5)
        (best, *_) = await robots.search("force of the gripper")
        assert best.chunk.chunk_id == 2
        assert (best.chunk.url, best.chunk.source_title) == (f"{SITE}/intro", "Introduction")
        assert best.chunk.metadata == {"point_id": 2, "chunk_id": 2}
        answer = await robots.ask("How far does the lidar measure?")
        await assert_well_cited(robots, answer)
        (cited,) = answer.citations
        assert cited.chunk.chunk_id == 3
        assert cited.url == f"{SITE}/sensors"
        assert all(verdict.true for verdict in await robots.verify())
    assert server.writes[before:] == []


async def test_pages_are_sections_in_the_order_of_the_chunks(tmp_path: Path, server: QdrantServer) -> None:
    shuffled = [ROBOTS[n] for n in (4, 1, 3, 0, 2)]
    fill_collection(server, shuffled, embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        await robots.attach(source(server))
        contents = await robots.contents("ai-book-embedding")
        assert [section.title for section in contents] == ["Introduction", "Sensors", "Middleware"]
        assert contents[0].text == f"{ROBOTS[0].text}\n\n{ROBOTS[1].text}"


async def test_one_title_for_all_is_the_title_of_the_book_and_addresses_name_the_sections(
    tmp_path: Path, server: QdrantServer
) -> None:
    pages = ("getting-started", "the_arm", "grip/index.html")
    points = [
        ForeignPoint(n, f"Passage number {n} about robots.", p, "Robots") for n, p in enumerate(pages, 1)
    ]
    fill_collection(server, points, embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        book = await robots.attach(source(server))
        assert (book.id, book.title) == ("robots", "Robots")
        titles = [section.title for section in await robots.contents("robots")]
        assert titles == ["Getting started", "The arm", "Grip"]


async def test_a_password_in_the_addresses_of_a_collection_is_left_out(
    tmp_path: Path, server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.foreign_collections.SITE", "https://me:secret@robots.example")
    fill_collection(server, ROBOTS, embedder=TinyEmbedder())
    events = list[IngestEvent]()
    async with library(tmp_path) as robots:
        await robots.attach(source(server), on_event=events.append)
        found = await robots.search("force of the gripper")
        assert found[0].chunk.url == "https://robots.example/intro"
    (parsed,) = [event for event in events if isinstance(event, Parsed)]
    assert parsed.warnings == (CREDENTIALS_LEFT_OUT,)


async def test_pages_that_share_a_title_stand_under_it(tmp_path: Path, server: QdrantServer) -> None:
    points = (
        ForeignPoint(1, "The first volume begins here.", "one", "Volume One"),
        ForeignPoint(2, "The first volume goes on here.", "two", "Volume One"),
        ForeignPoint(3, "The second volume is short.", "three", "Volume Two"),
    )
    fill_collection(server, points, embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        await robots.attach(source(server), options=BookOptions(title="Works", book_id="works"))
        paths = [section.heading_path for section in await robots.contents("works")]
        assert paths == [("Volume One",), ("Volume One", "One"), ("Volume One", "Two"), ("Volume Two",)]


async def test_vectors_of_the_same_model_are_taken_over_and_not_made_again(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder(), vector="dense")
    embedder, events = TinyEmbedder(), list[IngestEvent]()
    async with library(tmp_path, embedder=embedder) as robots:
        await robots.attach(source(server), on_event=events.append)
    assert embedder.embedded == 5, "the sample, and nothing else"
    (parsed,) = [event for event in events if isinstance(event, Parsed)]
    assert parsed.warnings == ()
    assert not any(isinstance(event, Embedding) for event in events)


async def test_vectors_of_another_model_are_noticed_and_made_anew(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_collection(server, ROBOTS, embedder=None)
    embedder, events = TinyEmbedder(), list[IngestEvent]()
    async with library(tmp_path, embedder=embedder) as robots:
        await robots.attach(source(server), on_event=events.append)
        (best, *_) = await robots.search("lidar distances")
        assert best.chunk.chunk_id == 3
    (parsed,) = [event for event in events if isinstance(event, Parsed)]
    assert "another model (similarity" in parsed.warnings[0]
    assert embedder.embedded == 5 + 5 + 1


async def test_vectors_of_another_size_are_made_anew(tmp_path: Path, server: QdrantServer) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder(64))
    events = list[IngestEvent]()
    async with library(tmp_path) as robots:
        await robots.attach(source(server), on_event=events.append)
        assert (await robots.search("lidar"))[0].chunk.chunk_id == 3
    (parsed,) = [event for event in events if isinstance(event, Parsed)]
    assert parsed.warnings == ("the vectors have another size: all texts are embedded again",)


async def test_attaching_again_takes_over_what_changed_and_removes_what_is_gone(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder())
    events = list[IngestEvent]()
    async with library(tmp_path) as robots:
        first = await robots.attach(source(server))
        again = await robots.attach(source(server), on_event=events.append)
        assert again == first
        assert isinstance(events[-1], Published)
        assert events[-1].unchanged
        fill_collection(
            server,
            [ForeignPoint(4, "The camera sees infrared light at night.", "sensors", "Sensors")],
            embedder=TinyEmbedder(),
            first_id=4,
        )
        delete_points(server, [5])
        events.clear()
        await robots.attach(source(server), on_event=events.append)
        (compared,) = [event for event in events if isinstance(event, Compared)]
        assert (compared.removed, compared.changed, compared.kept) == (1, 1, 1)
        assert (compared.chunks_new, compared.chunks_gone) == (1, 2)
        assert [book.id for book in await robots.books()] == ["ai-book-embedding"]
        texts = {found.chunk.content for found in await robots.search("camera topics services", top_k=20)}
        assert "The camera sees infrared light at night." in texts
        assert ROBOTS[3].text not in texts
        assert ROBOTS[4].text not in texts
        assert all(finding.sound for finding in await robots.examine())


async def test_a_changed_vector_alone_is_taken_over(tmp_path: Path, server: QdrantServer) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        await robots.attach(source(server))
        before = await robots._records.read_digests()
        fill_collection(server, ROBOTS[1:2], embedder=_Tilted(), first_id=2)
        await robots.attach(source(server))
        after = await robots._records.read_digests()
        assert before.keys() == after.keys()
        assert sum(before[id] != after[id] for id in before) == 1
        assert all(finding.sound for finding in await robots.examine())


GERMAN = (
    ForeignPoint(1, "Der Roboter ist eine Maschine, die ihre Umgebung wahrnimmt und sich dann bewegt."),
    ForeignPoint(2, "Der Greifer schließt sich mit einer Kraft, die für das Heben von Flaschen reicht."),
    ForeignPoint(3, "Die Kamera sieht alle Farben, aber im Dunkeln ist sie blind.", "sensoren", "Sensoren"),
)


async def test_a_collection_in_another_language_is_found_by_the_words_and_the_model_of_it(
    tmp_path: Path, server: QdrantServer
) -> None:
    embedder = MultilingualEmbedder()
    fill_collection(server, GERMAN, embedder=embedder)
    fill_collection(server, ROBOTS, embedder=None, collection="english")
    events = list[IngestEvent]()
    async with Library.open(settings=Settings(data=tmp_path / "library", free_space_mb=0)) as robots:
        book = await robots.attach(source(server), on_event=events.append)
        english = await robots.attach(Source(url=server.url, collection="english"))
        assert (book.language, english.language) == ("de", "")
        assert book.index_fingerprint.endswith(f"words-de-1 {embedder.fingerprint}")
        assert "words-" not in english.index_fingerprint
        (parsed,) = [event for event in events if isinstance(event, Parsed)]
        assert parsed.warnings == (), "the vectors are those of the model for German"
        chunks = await robots._records.list_chunks(book.id)
        assert {chunk.language for chunk in chunks} == {"de"}
        assert {chunk.language for chunk in await robots._records.list_chunks(english.id)} == {""}
        found = await robots.search("eine Flasche heben", book_id=book.id)
        assert found[0].chunk.chunk_id == 2
        assert (await robots.attach(source(server))) == book
        assert all(finding.sound for finding in await robots.examine())


async def test_a_passage_gets_new_words_when_the_language_of_its_collection_changes(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_collection(server, [*ROBOTS, *GERMAN[2:]], embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        book = await robots.attach(source(server))
        before = {chunk.content: chunk for chunk in await robots._records.list_chunks(book.id)}
        assert (book.language, before[GERMAN[2].text].language) == ("", "")
        delete_points(server, [1, 2, 3, 4, 5])
        book = await robots.attach(source(server))
        (chunk,) = await robots._records.list_chunks(book.id)
        assert (book.language, chunk.language) == ("de", "de")
        assert chunk.id == before[GERMAN[2].text].id
        words = Bm25Encoder().encode_query("Farbe", languages=["de"])
        store = (await robots._context()).store
        found = await store.search(TinyEmbedder().embed(["?"])[0], words, where=EVERYWHERE, limit=1)
        assert [hit.id for hit in found.lexical] == [chunk.id], "a stem that only German has"
        assert all(finding.sound for finding in await robots.examine())


class _Tilted(TinyEmbedder):
    """Almost the same vectors, as another precision of a model gives."""

    def embed(self, texts: object) -> list[tuple[float, ...]]:
        made = super().embed(texts)  # type: ignore[arg-type]
        return [(one[0] + 0.05, *one[1:]) for one in made]


async def test_chunks_obey_the_rules_of_length(tmp_path: Path, server: QdrantServer) -> None:
    long = " ".join(f"Sentence number {n} says something about robots." for n in range(120))
    fill_collection(
        server,
        [ForeignPoint(0, long), ForeignPoint(1, "Short."), ForeignPoint(2, ROBOTS[0].text)],
        embedder=TinyEmbedder(),
    )
    async with library(tmp_path) as robots:
        book = await robots.attach(source(server))
        chunks = await robots._records.list_chunks(book.id)
        (section,) = await robots.contents(book.id)
        assert all(10 <= len(chunk.content) <= 2000 for chunk in chunks)
        assert "Short." in section.text
        assert [chunk.metadata["chunk_id"] for chunk in chunks] == [0, 0, 0, 2]
        assert [chunk.chunk_id == 2 for chunk in chunks] == [False, False, False, True]
        assert " ".join(chunk.content for chunk in chunks[:3]) == long
        assert all(section.text[c.start : c.end] == c.content for c in chunks)


async def test_numbers_addresses_and_texts_that_are_none_do_no_harm(
    tmp_path: Path, server: QdrantServer
) -> None:
    points = [
        ForeignPoint("seven", "A passage whose number is a word."),
        ForeignPoint(-3, "A passage whose number is negative."),
        ForeignPoint(None, "A passage without a number at all.\x00"),
        ForeignPoint(2, "   "),
        ForeignPoint(3, "\u200b\u200b"),
        ForeignPoint(4, "A passage on a page with a strange name.", "a b<c>", ""),
    ]
    fill_collection(server, points, embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        book = await robots.attach(source(server))
        chunks = await robots._records.list_chunks(book.id)
        assert len(chunks) == 4
        assert [chunk.metadata["chunk_id"] for chunk in chunks] == [None, None, None, 4]
        assert all(chunk.chunk_id >= 1 for chunk in chunks)
        assert chunks[-1].url.startswith("book://")
        assert "\x00" not in chunks[2].content


async def test_the_wire_shows_the_collections_own_numbers(tmp_path: Path, server: QdrantServer) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder())
    async with library(tmp_path, quoting="gripper") as robots:
        await robots.attach(source(server))
        answer = await robots.ask("With what force does the gripper close?")
    (citation,) = QueryJson.from_answer(answer).to_json()["citations"]
    assert (citation["chunk_id"], citation["source_title"]) == (2, "Introduction")
    assert citation["url"] == f"{SITE}/intro"


async def test_an_attached_book_can_be_removed_and_attached_again(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        book = await robots.attach(source(server))
        await robots.remove(book.id)
        assert await robots.search("lidar") == []
        await robots.attach(source(server))
        assert len(await robots.search("lidar")) > 0


async def test_a_repair_with_another_embedder_keeps_the_passages_of_a_collection(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        await robots.attach(source(server))
        before = [hit.chunk for hit in await robots.search("robot gripper lidar", top_k=10)]
    async with library(tmp_path, embedder=TinyEmbedder(name="other")) as robots:
        found = await robots.examine(repair=True)
        assert all(finding.sound for finding in found), found
        after = [hit.chunk for hit in await robots.search("robot gripper lidar", top_k=10)]
    assert len(before) > 1
    assert {(c.id, c.chunk_id, c.source_title, c.metadata["point_id"]) for c in after} == {
        (c.id, c.chunk_id, c.source_title, c.metadata["point_id"]) for c in before
    }


async def test_wrong_names_are_refused(tmp_path: Path, server: QdrantServer) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder(), vector="dense")
    async with library(tmp_path) as robots:
        with pytest.raises(NotFound, match="no collection 'nowhere' here; the nearest are: ai_book"):
            await robots.attach(Source(url=server.url, collection="nowhere"))
        with pytest.raises(InvalidValue, match="must be one of 'dense'"):
            await robots.attach(source(server, vector="sparse"))
        await robots.add(write_markdown(tmp_path / "tides.md"))
        with pytest.raises(InvalidValue, match=r"another book \(The Tides\)"):
            await robots.attach(source(server), options=BookOptions(book_id="the-tides"))
        assert [book.id for book in await robots.books()] == ["the-tides"]


async def test_an_empty_collection_is_no_book(tmp_path: Path, server: QdrantServer) -> None:
    fill_collection(server, [ForeignPoint(1, " ")], embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        with pytest.raises(BadBook, match="has no texts"):
            await robots.attach(source(server))


async def test_a_collection_that_octavo_filled_is_not_attached(tmp_path: Path, server: QdrantServer) -> None:
    on_server = Settings(data=tmp_path / "other", store_url=server.url, free_space_mb=0)
    async with Library.open(settings=on_server, embedder=TinyEmbedder()) as other:
        await other.add(write_markdown(tmp_path / "tides.md"))
    async with library(tmp_path) as robots:
        with pytest.raises(InvalidValue, match="set OCTAVO_STORE_URL to use it"):
            await robots.attach(source(server))


async def test_a_server_that_fails_in_the_middle_of_reading_leaves_nothing_behind(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_collection(server, ROBOTS, embedder=TinyEmbedder())
    async with library(tmp_path) as robots:
        server.fail(*[Fault(kind="status", to="/points/scroll", status=403)])
        with pytest.raises(StoreError, match="refused the key"):
            await robots.attach(source(server))
        assert await robots.books() == []
        await robots.attach(source(server))
        assert len(await robots.books()) == 1


LIDAR, CAMERA = ROBOTS[2].text, ROBOTS[3].text
NODE = {"text": CAMERA, "start_char_idx": 0, "metadata": {"file_name": "eyes.md"}}
LATER = {"text": LIDAR, "start_char_idx": 90, "metadata": {"file_name": "eyes.md"}}
PAYLOADS: dict[str, list[dict[str, object]]] = {
    "documents": [
        {"content": LIDAR, "source_url": f"{SITE}/eyes", "section_heading": "Eyes", "chunk_index": 1},
        {"content": CAMERA, "source_url": f"{SITE}/eyes", "section_heading": "Eyes", "chunk_index": 0},
    ],
    "langchain": [
        {"page_content": LIDAR, "metadata": {"source": f"{SITE}/eyes", "title": "Eyes", "start_index": 700}},
        {"page_content": CAMERA, "metadata": {"source": f"{SITE}/eyes", "title": "Eyes", "start_index": 0}},
    ],
    "llamaindex": [
        {"_node_content": json.dumps(LATER), "_node_type": "TextNode", "file_name": "eyes.md", "doc_id": "a"},
        {"_node_content": json.dumps(NODE), "_node_type": "TextNode", "file_name": "eyes.md", "doc_id": "a"},
    ],
    "own": [
        {"say": {"words": LIDAR}, "where": f"{SITE}/eyes", "nth": "2", "title": "Eyes"},
        {"say": {"words": CAMERA}, "where": f"{SITE}/eyes", "nth": "1", "title": "Eyes"},
    ],
}


@pytest.mark.parametrize("maker", PAYLOADS)
async def test_the_payloads_of_other_programs_are_understood(
    tmp_path: Path, server: QdrantServer, maker: str
) -> None:
    fill_payloads(server, maker, PAYLOADS[maker])
    keys = PayloadKeys(text="say.words", url="where", order="nth") if maker == "own" else PayloadKeys()
    notes: list[str] = []

    def listen(event: IngestEvent) -> None:
        notes.extend(event.warnings if isinstance(event, Parsed) else ())

    async with library(tmp_path) as robots:
        there = Source(url=server.url, collection=maker, keys=keys)
        book = await robots.attach(there, options=BookOptions(base_url="https://x.example/"), on_event=listen)
        (section,) = await robots.contents(book.id)
    assert section.text == f"{CAMERA}\n\n{LIDAR}"
    named = "eyes.md" if maker == "llamaindex" else "Eyes"
    place = "https://x.example/eyes.md" if maker == "llamaindex" else f"{SITE}/eyes"
    assert (section.title, section.url) == (named, place)
    assert notes[0].startswith("read text from ")


async def test_without_a_text_the_keys_that_are_there_are_listed(
    tmp_path: Path, server: QdrantServer
) -> None:
    fill_payloads(server, "odd", [{"words_of": LIDAR, "meta": {"where": "x"}}])
    async with library(tmp_path) as robots:
        with pytest.raises(BadBook, match=r"no texts.* words_of, meta\.where") as refused:
            await robots.attach(Source(url=server.url, collection="odd"))
        assert "--text-key" in refused.value.hint
        with pytest.raises(InvalidValue, match=r"text_key must be a key .*words_of"):
            await robots.attach(Source(url=server.url, collection="odd", keys=PayloadKeys(text="word")))
