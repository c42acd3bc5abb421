"""`octavo widget check` says what keeps the readers of a page from asking."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from octavo.cli import octavo
from octavo.errors import InvalidValue
from tests.support.answerers import add_tides
from tests.support.serving import RunningService, create_key, serve_library


class Site(ThreadingHTTPServer):
    """A site of one page."""

    html = ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("location", "/")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.html.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    server = Site(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with serve_library(add_tides(tmp_path_factory.mktemp("tides")), keys_required=True) as served:
        yield served


def check(url: str) -> tuple[int, str]:
    done = CliRunner().invoke(octavo, ["widget", "check", url])
    return done.exit_code, done.output


def test_a_page_that_is_set_up_passes_and_each_fault_is_named(site: Site, service: RunningService) -> None:
    source = f"http://127.0.0.1:{service.port}/widget.js"
    _, right = create_key(service.folder, "site", public=True, origins=[site.origin])
    _, elsewhere = create_key(service.folder, "other", public=True, origins=["https://other.example"])

    def write(key: str, book: str = "the-tides") -> None:
        site.html = f"<p>Hello<script defer src='{source}' data-book='{book}' data-key='{key}'></script>"

    write(right)
    code, said = check(f"{site.origin}/moved")
    assert (code, said.count("ok  "), "FAIL" in said) == (0, 4, False), said
    for key, book, fault in (
        ("octv_wrong", "the-tides", "The key in data-key is not valid."),
        ("", "the-tides", "The key in data-key is missing, and the service needs one."),
        (elsewhere, "the-tides", f"may not be used from {site.origin}"),
        (right, "nowhere", "has no book 'nowhere'"),
    ):
        write(key, book)
        code, said = check(site.origin)
        assert code == 1
        assert fault in said
    write("")
    assert f"--public --origin {site.origin} --book the-tides" in check(site.origin)[1]
    site.html = "<p>Nothing here</p>"
    assert "no script tag" in check(site.origin)[1]
    site.html = f"<script src='{site.origin}/widget.js' data-book='x'></script>"
    assert "Is the service running" in check(site.origin)[1]


def test_the_findings_are_also_json(site: Site) -> None:
    site.html = "<p>Nothing here</p>"
    done = CliRunner().invoke(octavo, ["widget", "check", site.origin, "--json"])
    made = json.loads(done.output)
    assert (made["url"], [finding["ok"] for finding in made["checks"]]) == (site.origin, [False])
    assert isinstance(CliRunner().invoke(octavo, ["widget", "check", "guide"]).exception, InvalidValue)
