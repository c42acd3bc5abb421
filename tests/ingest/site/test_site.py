"""A site becomes a book: its own pages, each with its address, asked for again only if they changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from octavo.errors import BadBook, InvalidValue, LibraryBusy
from octavo.events import Fetched, IngestEvent
from octavo.ingest.site import ASKED_PER_PAGE, SPARE, fetch_site
from octavo.ingest.site.shelf import SITES, StoredPage, delete_shelf, open_shelf
from octavo.ingest.source import locate_book
from octavo.library import Library
from octavo.limits import SiteLimits
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.web_sites import Page, WebSite, make_page, serve_site

NAV = "".join(
    f'<li><a href="{a}">{a}</a></li>' for a in ("/docs/", "/docs/pier", "/docs/lamp/?ref=menu", "/shop/")
)
PIER = "The northern pier was broken by a storm in a single night, and seven boats were lost."
LAMP = "The keeper of the lighthouse trimmed the lamp at dusk. Its beam reached eleven miles."
BELLS = "Nobody spoke of the boats until the bells of the chapel had rung in the morning."


@pytest.fixture
def site() -> Iterator[WebSite]:
    text = {"Content-Type": "text/plain"}
    canonical = '<link rel="canonical" href="/docs/pier">'
    pages = {
        "/robots.txt": Page("User-agent: *\nDisallow: /docs/secret\n", headers=text),
        "/docs/": make_page(
            "The Harbour", "Read about the pier, the lamp and the bells of the harbour.", nav=NAV
        ),
        "/docs/pier": make_page("Pier", PIER, nav=NAV, head=canonical),
        "/docs/pier.html": make_page("Pier", PIER, nav=NAV, head=canonical),
        "/docs/lamp": Page(status=301, headers={"Location": "/docs/lamp/"}),
        "/docs/lamp/": make_page(
            "Lamp", LAMP, nav='<li><a href="../pier.html">p</a><a href="/docs/secret">s</a>'
        ),
        "/docs/secret": make_page("Secret", "Nobody may read of this."),
        "/docs/bells": make_page(
            "Bells", BELLS, head='<script>document.write("<a href=/docs/trap>")</script>'
        ),
        "/shop/": make_page("Shop", "Buy a boat."),
        "/docs/sitemap.xml": Page(
            "<urlset><url><loc>{url}/docs/bells</loc></url><url><loc>{url}/docs/lamp</loc></url>"
            "<url><loc>https://elsewhere.example/docs/</loc></url></urlset>"
        ),
    }
    with serve_site(pages) as running:
        yield running


def open_library(data: Path, *, private: bool = True, most: int = 50) -> AbstractAsyncContextManager[Library]:
    limits = SiteLimits(pause_seconds=0.001, site_pages=most)
    settings = Settings(data=data, private_sites=private, sites=limits, local_models=False)
    return Library.open(settings=settings, embedder=TinyEmbedder())


async def test_pages_below_the_address_become_sections_with_their_addresses(
    tmp_path: Path, site: WebSite
) -> None:
    async with open_library(tmp_path) as library:
        book = await library.add(f"{site.url}/docs/")
        sections = await library.contents(book.id)
    assert {section.title: section.url.removeprefix(site.url) for section in sections} == {
        "The Harbour": "/docs/",
        "Pier": "/docs/pier",
        "Lamp": "/docs/lamp/",
        "Bells": "/docs/bells",
    }
    assert not [s.title for s in sections if "rights" in s.text or "/docs" in s.text]
    assert not {"/docs/secret", "/shop/", "/docs/trap"} & {path for path, _ in site.asked}


async def test_the_page_of_a_folder_is_taken_once_and_stays_first(tmp_path: Path) -> None:
    home = make_page("Lamps", "This is about lamps and nights.", nav='<li><a href="/docs/pier.html">p</a>')
    pages = {
        "/docs/": home,
        "/docs/index.html": home,
        "/docs/pier.html": make_page("Pier", PIER, nav='<li><a href="/docs/index.html">h</a>'),
    }
    with serve_site(pages) as site:
        async with open_library(tmp_path) as library:
            book = await library.add(f"{site.url}/docs/")
            sections = await library.contents(book.id)
        found = [(section.title, section.url.removeprefix(site.url)) for section in sections]
    assert found == [("Lamps", "/docs/"), ("Pier", "/docs/pier.html")]


class CountedAddress(str):
    """An address that counts how often one is compared with another."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedAddress.compared += 1
        return str.__eq__(self, other)


def test_copies_are_found_by_their_bytes_with_few_comparisons(tmp_path: Path) -> None:
    CountedAddress.compared = 0
    names = [f"https://example.org/{number}" for number in range(200)]
    with open_shelf(tmp_path / "shelf") as shelf:
        for number, name in enumerate(names):
            shelf.put(StoredPage(address=CountedAddress(f"{name}/")), b"A page")
            second = b"A page" if number % 2 else b"A page "
            shelf.put(StoredPage(address=CountedAddress(f"{name}/index.html")), second)
        addresses = list(shelf.pages)
        CountedAddress.compared = 0
        copies = shelf.find_index_copies(addresses)
        assert CountedAddress.compared < 10 * len(addresses)
    assert copies == {f"{name}/index.html": f"{name}/" for name in names[1::2]}


async def test_adding_again_asks_only_for_changes_and_embeds_only_them(tmp_path: Path, site: WebSite) -> None:
    async with open_library(tmp_path) as library:
        book = await library.add(f"{site.url}/docs/")
        site.asked.clear()
        assert (await library.add(f"{site.url}/docs/")).updated_at == book.updated_at
        assert (site.count(304), site.count(200)) == (5, 2)  # robots.txt and the sitemap
        site.pages["/docs/bells"] = make_page("Bells", BELLS.replace("chapel", "cathedral"))
        del site.pages["/docs/pier"], site.pages["/docs/pier.html"]
        change = await library.preview(f"{site.url}/docs/")
        assert (change.added, change.changed, change.removed, change.chunks_new) == (0, 1, 1, 1)
        await library.remove(book.id)
    assert list((tmp_path / SITES).iterdir()) == []


async def test_a_fetch_that_was_stopped_continues_where_it_was(
    tmp_path: Path, site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.ingest.site.FAILURES", 1)
    lamp = site.pages["/docs/lamp/"]
    site.pages["/docs/lamp/"] = Page(status=501)
    async with open_library(tmp_path) as library:
        with pytest.raises(BadBook, match=r"stopped answering.*/docs/lamp") as stopped:
            await library.add(f"{site.url}/docs/")
        assert (stopped.value.code, await library.books()) == ("site_unreachable", [])
        site.pages["/docs/lamp/"] = lamp
        before = {path for path, status in site.asked if status == 200} - {
            "/docs/",
            "/robots.txt",
            "/docs/sitemap.xml",
        }
        site.asked.clear()
        assert (await library.add(f"{site.url}/docs/")).section_count == 4
    assert before
    assert not before & {path for path, _ in site.asked}


async def test_a_page_that_fails_again_and_again_is_kept_and_a_closed_one_left_out(
    tmp_path: Path, site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    bells = site.pages["/docs/bells"]
    site.pages["/docs/bells"] = Page(status=403)
    async with open_library(tmp_path) as library:
        with monkeypatch.context() as strict:
            strict.setattr("octavo.ingest.site.FAILURES", 1)
            assert (await library.add(f"{site.url}/docs/")).section_count == 3
        site.pages |= {"/docs/bells": bells, "/docs/lamp/": Page(status=501)}
        assert [(await library.add(f"{site.url}/docs/")).section_count for _ in range(2)] == [4, 4]


async def test_nobody_deletes_or_fetches_a_site_while_it_is_read(tmp_path: Path, site: WebSite) -> None:
    limits = SiteLimits(pause_seconds=0.001)
    settings = Settings(data=tmp_path, private_sites=True, sites=limits, local_models=False)
    async with locate_book(f"{site.url}/docs/", settings) as place:
        delete_shelf(tmp_path, place.name)
        assert (place / "docs" / "pier.html").is_file()
        with pytest.raises(LibraryBusy):
            await anext(fetch_site(f"{site.url}/docs/", settings))
    delete_shelf(tmp_path, place.name)
    assert not place.exists()


async def test_a_sitemap_by_its_address_names_the_pages(tmp_path: Path, site: WebSite) -> None:
    async with open_library(tmp_path) as library:
        book = await library.add(f"{site.url}/docs/sitemap.xml")
        urls = {section.url.removeprefix(site.url) for section in await library.contents(book.id)}
    assert urls == {"/docs/bells", "/docs/lamp/"}


async def test_an_endless_site_is_cut_off_and_says_so(tmp_path: Path, site: WebSite) -> None:
    places = "".join(f"<url><loc>{{url}}/docs/{number}</loc></url>" for number in range(500))
    site.pages["/docs/sitemap.xml"] = Page(f"<urlset>{places}</urlset>")
    site.pages["/docs/0"] = make_page("Zero", PIER)
    events: list[IngestEvent] = []
    async with open_library(tmp_path, most=2) as library:
        await library.add(f"{site.url}/docs/", on_event=events.append)
    notes = [note for event in events for note in getattr(event, "warnings", ())]
    assert [note for note in notes if note.startswith("stopped at 2 pages")]
    # No more is remembered than could be asked for.
    assert max(event.known for event in events if isinstance(event, Fetched)) == 2 * ASKED_PER_PAGE + SPARE


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("/docs/secret", "robots"),
        ("/nowhere", "site_unreachable"),
        ("/away", "site_unreachable"),
        ("/round", "site_unreachable"),
    ],
)
async def test_what_cannot_be_fetched_is_refused_with_the_reason(
    tmp_path: Path, site: WebSite, address: str, code: str
) -> None:
    site.pages["/away"] = Page(status=302, headers={"Location": "http://169.254.169.254/latest/"})
    site.pages["/round"] = Page(status=302, headers={"Location": "/round"})
    async with open_library(tmp_path) as library:
        with pytest.raises(BadBook) as refused:
            await library.add(site.url + address)
    assert refused.value.code == code


async def test_private_addresses_and_passwords_are_refused_without_a_request(
    tmp_path: Path, site: WebSite
) -> None:
    async with open_library(tmp_path, private=False) as library:
        for address in (
            site.url,
            site.url.replace("127.0.0.1", "localhost"),
            site.url.replace("127.0.0.1", "127.1"),
        ):
            with pytest.raises(BadBook) as refused:
                await library.add(f"{address}/docs/")
            assert refused.value.code == "private_address"
        with pytest.raises(InvalidValue, match=r"\*\*\*"):
            await library.add("https://user:word@example.org/")
    assert site.asked == []
