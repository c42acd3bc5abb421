"""Fetch a web site into a folder, so that it can be read as a book.

`fetch_site` starts at one address, and takes the pages below it that its links and sitemaps name; given the
address of a sitemap, the pages that this lists. It stays on the host, keeps to `robots.txt`, sends one
request at a time and pauses between them. A page that names another as its canonical address is taken once,
and so is one that `…/` and `…/index.html` both give, byte for byte.
A fetch that was stopped continues; a later one asks only for what changed.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from octavo.concurrency import RetryPolicy, retry, run_blocking
from octavo.errors import BadBook, InvalidValue
from octavo.events import Fetched
from octavo.ingest.site.connection import Reply, RequestFailed, request
from octavo.ingest.site.links import PageLinks, is_sitemap, read_links, read_sitemap, unpack
from octavo.ingest.site.robots import Robots, parse_robots
from octavo.ingest.site.shelf import Shelf, StoredPage, locate_shelf, open_shelf
from octavo.limits import MB
from octavo.readers.html.fetched import FetchedSite, normalise_address
from octavo.store.base import require_space
from octavo.text.clean import decode

if TYPE_CHECKING:
    from octavo.settings import Settings

REDIRECTS, SITEMAPS, FAILURES, NOTES = 5, 50, 5, 10
# Addresses that are asked for, for each page that a site may have, and how many more are remembered.
ASKED_PER_PAGE, SPARE = 4, 100
LONGEST_PAUSE = 30.0
_RETRIES = RetryPolicy(tries=3, pause=1.0, growth=3.0, jitter=0.2, longest=60.0)
_PAGE_TYPES = ("text/html", "application/xhtml+xml")
_GONE = (404, 410)
_BUSY = (408, 425, 429, 500, 502, 503, 504)


def is_web_address(source: str) -> bool:
    """Whether what is to be added is a web site rather than a path."""
    return source.lower().startswith(("http://", "https://"))


async def fetch_site(address: str, settings: Settings) -> AsyncGenerator[Fetched | Path, None]:
    """Fetch a site and yield the progress. The last value is the folder with its pages.

    Nobody else can fetch or delete the site until the generator is closed.
    """
    start = normalise_address(address)
    if start is None:
        rule = "must be a web address like https://example.org/docs/, without a user and a password"
        raise InvalidValue("address", rule, "***" if "@" in address else address)
    with open_shelf(locate_shelf(settings.data, start)) as shelf:
        crawl = _Crawl(start, shelf, settings)
        await crawl.begin()
        while (done := await crawl.visit_next()) is not None:
            yield done
        yield await run_blocking(crawl.finish)


class _Crawl:
    """One fetch of a site."""

    def __init__(self, start: str, shelf: Shelf, settings: Settings) -> None:
        self._start, self._shelf, self._settings = start, shelf, settings
        self._folder = _find_folder(start)
        self._robots = Robots()
        self._follows = True
        self._waiting: deque[str] = deque()
        self._known: dict[str, None] = {}
        self._links: dict[str, PageLinks] = {}
        self._failures = self._failed_in_a_row = 0
        self._bytes = 0
        self._last_request = 0.0
        self._notes: list[str] = []

    async def begin(self) -> None:
        """Read the rules of the site and its sitemaps, and find out what its first address is."""
        await self._read_robots()
        if not self._robots.allows(self._start):
            raise BadBook("robots", f"{self._start} is not to be read by programs, its robots.txt says")
        try:
            reply, self._start = await self._follow(self._start)
        except RequestFailed as failed:
            raise BadBook("site_unreachable", f"{self._start} cannot be read: {failed}") from None
        if reply.status not in (200, 304):
            raise BadBook("site_unreachable", f"{self._start} cannot be read: {_say_status(reply)}")
        self._folder = _find_folder(self._start)
        body = unpack(reply.body, self._settings.sites.page_mb * MB)
        if is_sitemap(body):
            self._follows = False
            await self._read_sitemaps([self._start], first=body)
            if not self._waiting:
                raise BadBook("no_text", f"{self._start} lists no page of this site")
            return
        self._take_page(self._start, reply)
        self._add(self._start)
        sitemaps = [normalise_address(place, base=self._start) for place in self._robots.sitemaps]
        guesses = [urljoin(self._start, f"{self._folder}sitemap.xml"), urljoin(self._start, "/sitemap.xml")]
        await self._read_sitemaps([place for place in sitemaps if place] or guesses)

    async def visit_next(self) -> Fetched | None:
        """Fetch one more page. Returns None when all are there."""
        most, asked = self._settings.sites.site_pages, len(self._known) - len(self._waiting)
        # Addresses without a page of their own count too, but less.
        if not self._waiting or len(self._links) >= most or asked >= ASKED_PER_PAGE * most:
            return None
        address = self._waiting.popleft()
        page = self._shelf.pages.get(address)
        # Many long rules take a while, so they are read here and not for every address that is found.
        if not await run_blocking(self._robots.allows, address):
            self._shelf.forget([address])
            page = None
        elif address not in self._shelf.fresh:
            page = await self._visit(address)
        if page is not None and page.moved:
            self._add(page.moved)
        elif page is not None and page.file:
            await self._look_for_links(page)
        return Fetched(len(self._known) - len(self._waiting), len(self._known))

    async def _visit(self, address: str) -> StoredPage | None:
        """Ask for a page, if it changed; return what is known of it now."""
        known = self._shelf.pages.get(address)
        try:
            reply, place = await self._follow(address)
        except RequestFailed as failed:
            return self._note_failure(address, known, str(failed), stopped=failed.wait is not None)
        if reply.status >= 400 and reply.status not in _GONE:
            return self._note_failure(address, known, _say_status(reply), stopped=reply.status >= 500)
        self._failed_in_a_row = 0
        if place == address:
            return self._take_page(address, reply)
        if place not in self._shelf.fresh:
            self._take_page(place, reply)
        return self._shelf.put(StoredPage(address=address, moved=place))

    def _make_conditions(self, address: str) -> dict[str, str]:
        """Make the headers that ask for a page only if it is not the one on the shelf."""
        known = self._shelf.pages.get(address)
        if known is None or not known.file:
            return {}
        asked = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
        return {name: value for name, value in asked.items() if value}

    def _take_page(self, address: str, reply: Reply) -> StoredPage:
        """Write a page to the shelf, or note that there is none or that it did not change."""
        known = self._shelf.pages.get(address)
        if reply.status == 304 and known is not None:
            return self._shelf.put(known)
        page = StoredPage(
            address=address,
            etag=reply.get("etag"),
            modified=reply.get("last-modified"),
            robots=reply.get("x-robots-tag"),
        )
        kind, _, options = reply.get("content-type").lower().partition(";")
        if reply.status != 200 or kind.strip() not in _PAGE_TYPES or not reply.body:
            return self._shelf.put(replace(page, etag="", modified=""))
        self._bytes += len(reply.body)
        most = self._settings.limits.max_expanded_mb
        if self._bytes > most * MB:
            raise BadBook("too_large", f"the pages of {self._start} have more than {most} MB")
        require_space(self._settings.data, len(reply.body), self._settings.free_space_mb)
        return self._shelf.put(page, _to_utf8(reply.body, options))

    async def _look_for_links(self, page: StoredPage) -> None:
        body = await run_blocking(self._shelf.read, page)
        text = body.decode("utf-8", "replace")
        found = await run_blocking(read_links, text, page.address, header=page.robots)
        self._links[page.address] = replace(found, links=())
        if found.canonical and self._follows:
            self._add(found.canonical)
        if self._follows and not found.no_follow:
            # Addresses with a query make endless sites; those that a sitemap names are taken.
            await run_blocking(self._add_all, (link for link in found.links if not urlsplit(link).query))

    def _add_all(self, addresses: Iterable[str]) -> None:
        """Note pages that are to be fetched, as many as this fetch could ask for."""
        most = ASKED_PER_PAGE * self._settings.sites.site_pages + SPARE
        for address in addresses:
            if len(self._known) >= most:
                return
            self._add(address)

    def _add(self, address: str) -> None:
        """Note a page that is to be fetched, unless it is out of bounds."""
        if self._start.startswith("https:"):
            address = address.replace("http:", "https:", 1) if address.startswith("http:") else address
        inside = _is_same_site(address, self._start) and urlsplit(address).path.startswith(self._folder)
        inside = inside or address == self._start
        if inside and address not in self._known:
            self._known[address] = None
            self._waiting.append(address)

    def _note_failure(
        self, address: str, known: StoredPage | None, said: str, *, stopped: bool
    ) -> StoredPage | None:
        self._failed_in_a_row = self._failed_in_a_row + 1 if stopped else 0
        if self._failed_in_a_row >= FAILURES:
            raise BadBook("site_unreachable", f"{self._start} stopped answering: {address}: {said}")
        kept = known is not None and bool(known.file)
        self._failures += 1
        if self._failures <= NOTES:
            self._notes.append(f"{address}: {'kept as it was' if kept else 'left out'}, {said}")
        return known

    async def _read_robots(self) -> None:
        address = urljoin(self._start, "/robots.txt")
        try:
            reply, _ = await self._follow(address)
        except RequestFailed as failed:
            raise BadBook("site_unreachable", f"{address} cannot be read: {failed}") from None
        if reply.status >= 500:
            raise BadBook("site_unreachable", f"{address} cannot be read: {_say_status(reply)}")
        if reply.status == 200:
            self._robots = parse_robots(reply.body[: 512 * 1024].decode("utf-8", "replace"))

    async def _read_sitemaps(self, addresses: Iterable[str], *, first: bytes = b"") -> None:
        """Note the pages that sitemaps list, and follow those to other sitemaps."""
        waiting, seen = deque(dict.fromkeys(addresses)), set[str]()
        while waiting and len(seen) < SITEMAPS:
            address = waiting.popleft()
            if address in seen or not _is_same_site(address, self._start):
                continue
            seen.add(address)
            if not self._robots.allows(address):
                continue
            body, first = first, b""
            if not body:
                try:
                    reply, address = await self._follow(address)
                except RequestFailed:
                    # A site need not have one.
                    continue
                body = unpack(reply.body, self._settings.sites.page_mb * MB) if reply.status == 200 else b""
            places, lists_sitemaps = await run_blocking(read_sitemap, body, address)
            if lists_sitemaps:
                waiting.extend(places[:SITEMAPS])
            else:
                await run_blocking(self._add_all, places)

    async def _follow(self, address: str) -> tuple[Reply, str]:
        """Ask for an address; follow redirects within the site. Returns the reply and its real address."""
        for _ in range(REDIRECTS + 1):
            reply = await self._request(address, self._make_conditions(address))
            target = normalise_address(reply.get("location"), base=address)
            if reply.status not in (301, 302, 303, 307, 308) or target is None:
                return reply, address
            if not _is_same_site(target, self._start):
                raise RequestFailed(f"it leads to another site, {target}", wait=None)
            if not self._robots.allows(target):
                raise RequestFailed(f"it leads to {target}, which robots.txt excludes", wait=None)
            address = target
        raise RequestFailed(f"more than {REDIRECTS} redirects", wait=None)

    async def _request(self, address: str, headers: dict[str, str]) -> Reply:
        """Send a request after a pause; repeat it where the site is busy."""

        async def once() -> Reply:
            pause = max(self._settings.sites.pause_seconds, min(self._robots.delay, LONGEST_PAUSE))
            await asyncio.sleep(max(0.0, self._last_request + pause - time.monotonic()))
            self._last_request = time.monotonic()
            settings = self._settings
            reply = await request(address, headers, limits=settings.sites, private=settings.private_sites)
            if reply.status in _BUSY:
                waits = reply.get("retry-after")
                seconds = float(waits) if waits.isdecimal() else 0.0
                raise RequestFailed(_say_status(reply), wait=min(seconds, 60.0))
            return reply

        return await retry(
            once,
            _RETRIES,
            wait_after=lambda error: error.wait if isinstance(error, RequestFailed) else None,
        )

    def finish(self) -> Path:
        """Choose the pages that make the book, and write the manifest."""
        pages = {a: p for a in self._links if (p := self._shelf.pages[a]).file}
        kept = _choose_canonical(self._links, self._notes)
        hidden = [address for address in kept if self._links[address].no_index]
        if hidden:
            self._notes.append(f"{len(hidden)} pages ask not to be indexed and are left out")
        left_out = set(hidden)
        copies = self._shelf.find_index_copies([address for address in kept if address not in left_out])
        left_out.update(copies)
        kept = [address for address in kept if address not in left_out]
        if not kept:
            raise BadBook("no_text", f"{self._start} has no page that could be read")
        if left := len(self._waiting):
            limit = self._settings.sites.site_pages
            self._notes.append(f"stopped at {limit} pages, {left} more are known (OCTAVO_SITES__SITE_PAGES)")
        if self._failures > NOTES:
            self._notes.append(f"{self._failures} pages could not be fetched; add the site again to try them")
        moved = {p.address: p.moved for p in self._shelf.pages.values() if p.moved}
        taken = set(kept)
        moved |= {a: c for a in pages if a not in taken and (c := self._links[a].canonical)} | copies
        self._shelf.forget([address for address in self._shelf.pages if address not in self._known])
        return self._shelf.finish(
            FetchedSite(
                address=urljoin(self._start, self._folder),
                pages={pages[address].file: address for address in kept},
                moved=moved,
                notes=tuple(self._notes),
            )
        )


def _choose_canonical(links: dict[str, PageLinks], notes: list[str]) -> list[str]:
    """Return the pages without those that name another page of the site as the same."""
    elsewhere = {a: p.canonical for a, p in links.items() if p.canonical in links and p.canonical != a}
    counted = Counter(elsewhere.values()).most_common(1)
    if counted and counted[0][1] > max(3, len(links) // 2):
        notes.append(f"most pages call themselves copies of {counted[0][0]}, and all are kept")
        return list(links)
    kept = dict.fromkeys(address for address in links if address not in elsewhere)
    for address, canonical in elsewhere.items():
        # Two pages that name each other: the first one stays.
        if canonical not in kept:
            kept[address] = None
    return [address for address in links if address in kept]


def _find_folder(address: str) -> str:
    """Return the path under which the pages of a book lie that starts at an address."""
    path = urlsplit(address).path
    last = path.rpartition("/")[2]
    return path.removesuffix(last) if "." in last or not last else f"{path}/"


def _is_same_site(address: str, other: str) -> bool:
    """Whether two addresses are of one host and port. A move from http to https stays on the site."""
    return urlsplit(address).netloc == urlsplit(other).netloc


def _say_status(reply: Reply) -> str:
    return f"the site answered {reply.status}"


def _to_utf8(body: bytes, options: str) -> bytes:
    """Store a page as UTF-8 if the server says that it is written in something else."""
    charset = options.partition("charset=")[2].split(";")[0].strip("\"' ")
    if not charset or charset in ("utf-8", "utf8"):
        return body
    try:
        return b"\xef\xbb\xbf" + decode(body, charset).text.encode()
    except BadBook:
        # The reader says what is wrong with it.
        return body
