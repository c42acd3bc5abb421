"""A book that mdBook itself builds gets the widget from the plugin, is sent to the service, and answers.

`book.toml` is the one that the plugin's README shows, with the addresses of this test. mdBook comes from
npm's registry, as a program that is ready to run; one that is installed is tried as well.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import BrowserThread, open_page
from tests.support.npm import find_obstacle, lost_registry
from tests.support.serving import create_key, serve_library
from tests.support.widget_site import (
    MORNING,
    STORM,
    QuotingAnswerer,
    ask_widget,
    find_inside,
    list_highlights,
    open_widget,
)

PLUGIN = Path(__file__).parents[2] / "packages" / "mdbook-octavo"
PACKAGE = "cargo-mdbook@0.4.4"
INSTALL_SECONDS = 240.0
FONTS = "https://fonts."
QUESTION = "How many boats were lost?"


def install_mdbook(folder: Path) -> Path:
    """Install mdBook from npm. The package has the program for each system, and only links to one of them."""
    if obstacle := find_obstacle():
        pytest.skip(obstacle)
    options = ["--ignore-scripts", "--no-package-lock", "--prefix", str(folder)]
    try:
        asked = subprocess.run(
            ["npm", "install", *options, PACKAGE],
            check=False,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"needs npm's registry, which sent no mdBook in {INSTALL_SECONDS:.0f} seconds")
    if lost_registry(asked.stderr):
        pytest.skip(f"needs npm's registry: {asked.stderr[-300:]}")
    assert asked.returncode == 0, asked.stderr
    system = {"linux": "linux", "darwin": "macos"}[sys.platform]
    return folder / "node_modules" / "cargo-mdbook" / "bin" / f"mdbook-{system}"


def find_mdbook(folder: Path, source: str) -> Path:
    if source == "npm":
        return install_mdbook(folder)
    found = shutil.which("mdbook")
    if found is None:
        pytest.skip("no mdBook is installed here")
    return Path(found)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Serve files that may not be there yet."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def write_book(folder: Path, *, site: str, service: str, public: str) -> None:
    """Write a book whose settings are those of the plugin's README."""
    (shown,) = re.findall(r"```toml\n(.*?)```", (PLUGIN / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    here = {
        "python3 path/to/octavo/packages/mdbook-octavo": f"{sys.executable} {PLUGIN}",
        "https://octavo.example.org": service,
        "https://guide.example.org": site,
        "octv_…": public,
        "field-guide": "the-tides",
    }
    for written, meant in here.items():
        assert written in shown
        shown = shown.replace(written, meant)
    (folder / "src").mkdir(parents=True)
    (folder / "book.toml").write_text(f'[book]\ntitle = "The Tides"\n\n{shown}', encoding="utf-8")
    (folder / "src" / "SUMMARY.md").write_text(
        "# Summary\n\n- [Storm](storm.md)\n- [Morning](day/morning.md)\n"
    )
    (folder / "src" / "storm.md").write_text(STORM, encoding="utf-8")
    (folder / "src" / "day").mkdir()
    (folder / "src" / "day" / "morning.md").write_text(MORNING, encoding="utf-8")


@dataclass(frozen=True)
class Scene:
    """A folder whose pages are served, and a service with a key for readers and one for builds."""

    folder: Path
    site: str
    service: str
    public: str
    build: str


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    data = tmp_path / "library"
    with serve_folder(tmp_path / "book" / "book" / "html") as site:
        _, public = create_key(data, "readers", public=True, origins=(site,), books=("the-tides",))
        _, build = create_key(data, "build", scopes=("ingest", "ask"))
        with serve_library(data, keys_required=True, answerer=QuotingAnswerer()) as served:
            yield Scene(tmp_path, site, f"http://127.0.0.1:{served.port}", public, build)


def build_book(mdbook: Path, folder: Path) -> str:
    """Build a book with the `octavo` command at hand; return what was said."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    built = subprocess.run(
        [mdbook, "build", folder],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout
    return built.stdout


@pytest.mark.parametrize("source", ["npm", "installed"])
def test_a_real_build_is_sent_and_its_pages_answer(source: str, scene: Scene, stage: BrowserThread) -> None:
    mdbook = find_mdbook(scene.folder / "npm", source)
    book = scene.folder / "book"
    write_book(book, site=scene.site, service=scene.service, public=scene.public)
    (book / "key.txt").write_text(scene.build, encoding="utf-8")
    assert "the-tides: readers of" in build_book(mdbook, book)
    with open_page(stage, scene.site) as visit:
        page = open_widget(visit.page, f"{scene.site}/day/morning.html")
        turn = ask_widget(page, QUESTION)
        expect(turn.locator(".said .cite").first).to_be_visible()
        passage = turn.locator(".passages a.passage").first
        expect(passage).to_have_attribute("href", re.compile("/storm.html#the-northern-pier"))
        passage.click()
        page.wait_for_url(re.compile("/storm.html#the-northern-pier"))
        assert any("boats" in words for words in list_highlights(page))
        expect(find_inside(page, ".root")).to_have_attribute("data-theme", "light")
        page.evaluate("localStorage.setItem('mdbook-theme', 'coal')")
        page.reload()
        expect(find_inside(page, ".root")).to_have_attribute("data-theme", "dark")
        # Old versions of mdBook fetch a font, and this browser reaches no other host.
        assert [url for url in visit.foreign if not url.startswith((scene.service, FONTS))] == []
        assert visit.errors == []
