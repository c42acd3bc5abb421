"""A small web site on this machine that remembers what it was asked for."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    body: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class WebSite:
    """`pages` can be changed while it runs. `asked` are the paths and the status of each answer."""

    pages: dict[str, Page]
    url: str = ""
    asked: list[tuple[str, int]] = field(default_factory=list)

    def count(self, status: int) -> int:
        return sum(answered == status for _, answered in self.asked)


def make_page(title: str, text: str, *, head: str = "", nav: str = "") -> Page:
    """A page as sites have them: a menu, the text, a footer."""
    menu = f"<nav><ul>{nav}</ul></nav>"
    body = f"<main><h1>{title}</h1><p>{text}</p></main><footer>All rights reserved.</footer>"
    return Page(f"<!doctype html><html lang=en><head><title>{title}</title>{head}</head><body>{menu}{body}")


@contextmanager
def serve_site(pages: dict[str, Page]) -> Iterator[WebSite]:
    site = WebSite(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = site.pages.get(self.path, Page("<h1>Not here</h1>", 404))
            body = page.body.replace("{url}", site.url).encode()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            same = page.status == 200 and self.headers.get("If-None-Match") == tag
            status = 304 if same else page.status
            site.asked.append((self.path, status))
            self.send_response(status)
            for name, value in {"Content-Type": "text/html", "ETag": tag, **page.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0" if same else str(len(body)))
            self.end_headers()
            self.wfile.write(b"" if same else body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
