"""The `widget check` command: is the widget of a page set up so that its readers can ask?

It opens the page as a browser would, finds the script tag, and asks the service what the tag's key may do
from the page's origin. Nothing is changed anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from posixpath import basename
from urllib.parse import quote, urljoin, urlsplit

import click

from octavo.cli.common import GroupOptions, add_common_options, show_json
from octavo.errors import InvalidValue
from octavo.limits import MB

CALL_SECONDS, REDIRECTS = 20.0, 5
_MOVED = frozenset({301, 302, 303, 307, 308})


@click.group(short_help="Help with the widget of a site.")
def widget() -> None:
    """Help with the widget that answers beside the pages of a site."""


@widget.command(short_help="Check the widget of a page.")
@click.argument("url")
@add_common_options
def check(context: GroupOptions, url: str, data: str | None, as_json: bool) -> None:  # noqa: ARG001
    """Check that readers of the page at URL can ask: its script tag, its key, its origin and its book.

    \b
      octavo widget check https://guide.example.org/
    """
    from octavo.schemas import WidgetCheckJson, WidgetChecksJson

    place = urlsplit(url)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise InvalidValue("url", "must be the address of a page, like https://guide.example.org/", url)
    findings = list(_check_page(url))
    if as_json:
        checks = [WidgetCheckJson.from_value(finding) for finding in findings]
        show_json(WidgetChecksJson(url=url, checks=checks))
    else:
        for finding in findings:
            click.echo(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.what}")
            if finding.hint:
                click.echo(f"      {finding.hint}")
    if not all(finding.ok for finding in findings):
        sys.exit(1)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    ok: bool
    what: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What an address answered. `url` is where it was found after redirects; status 0 is no answer."""

    status: int
    url: str
    headers: Mapping[str, str]
    text: str


class _ScriptFinder(HTMLParser):
    """Finds the first script tag of the widget and its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = basename(urlsplit(given.get("src", "")).path)
        if tag == "script" and self.found is None and name.startswith("widget.") and name.endswith(".js"):
            self.found = given


def _check_page(url: str) -> Iterator[Finding]:
    page = _fetch(url)
    if page.status != 200:
        hint = "Check the address, and that the page can be reached from here."
        yield Finding(False, f"The page {url} {_describe(page)}.", hint)
        return
    finder = _ScriptFinder()
    finder.feed(page.text)
    if finder.found is None:
        yield Finding(
            False,
            "The page has no script tag of the widget.",
            'Add <script src="https://YOUR-SERVICE/widget.js" data-book="…" data-key="…"></script>.'
            " A tag that another script adds later is not seen here.",
        )
        return
    source = urljoin(page.url, finder.found["src"])
    yield Finding(True, f"The page has the widget of {source}.")
    script = _fetch(source)
    if script.status != 200 or "octavo-widget" not in script.text:
        yield Finding(
            False,
            f"The script {source} {_describe(script)}.",
            "Is the service running, and is this its address?",
        )
        return
    yield from _check_service(page.url, urljoin(script.url, "."), finder.found)


def _check_service(page: str, base: str, tag: Mapping[str, str]) -> Iterator[Finding]:
    """Ask the service as the page would: with its key, from its origin, for its book."""
    key, book = tag.get("data-key", ""), tag.get("data-book", "")
    origin = f"{urlsplit(page).scheme}://{urlsplit(page).netloc}"
    named = f" --book {book}" if book else ""
    make = f'Make a key: octavo keys create "my site" --public --origin {origin}{named}'
    headers = {"origin": origin, **({"authorization": f"Bearer {key}"} if key else {})}
    books = _fetch(f"{base}v1/books?limit=1", headers)
    if books.status == 401:
        said = "is not valid" if key else "is missing, and the service needs one"
        yield Finding(False, f"The key in data-key {said}.", make)
        return
    if books.status == 403:
        yield Finding(False, f"The key in data-key may not be used from {origin}.", make)
        return
    if books.status != 200:
        yield Finding(False, f"The service {base} {_describe(books)}.", "Look into its log.")
        return
    yield Finding(True, "The service accepts the key." if key else "The service needs no key.")
    is_foreign = urlsplit(base).netloc != urlsplit(page).netloc
    if is_foreign and books.headers.get("access-control-allow-origin") != origin:
        hint = make if key else f"Name the site on the service: OCTAVO_ORIGINS={origin}"
        yield Finding(False, f"Browsers on {origin} may not read what the service answers.", hint)
        return
    yield Finding(True, f"Pages of {origin} may ask.")
    if not book:
        yield Finding(True, "The tag names no book: readers ask all books that the key may see.")
        return
    found = _fetch(f"{base}v1/books/{quote(book, safe='')}", headers)
    if found.status == 200:
        yield Finding(True, f"The book {book!r} is there.")
    else:
        hint = "data-book is the id that `octavo list` shows; a key made with --book sees no others."
        yield Finding(False, f"The service has no book {book!r} for this key.", hint)


def _describe(reply: Reply) -> str:
    return f"answers with status {reply.status}" if reply.status else f"does not answer ({reply.text})"


def _fetch(url: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Fetch an address and follow where it has moved to; at most 2 MB are read."""
    for _ in range(REDIRECTS):
        place = urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            return Reply(0, url, {}, "not a web address")
        kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
        connection = kind(place.hostname, place.port, timeout=CALL_SECONDS)
        try:
            path = f"{place.path or '/'}{f'?{place.query}' if place.query else ''}"
            connection.request("GET", path, headers={"accept": "*/*", **(headers or {})})
            response = connection.getresponse()
            sent = {name.lower(): value for name, value in response.getheaders()}
            if response.status in _MOVED and "location" in sent:
                url = urljoin(url, sent["location"])
                continue
            return Reply(response.status, url, sent, response.read(2 * MB).decode("utf-8", "replace"))
        except (OSError, HTTPException, ValueError) as failed:
            return Reply(0, url, {}, str(failed) or type(failed).__name__)
        finally:
            connection.close()
    return Reply(0, url, {}, "it moves on and on")
