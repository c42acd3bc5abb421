"""The list of books: a book is added by choosing or dropping a file, and removed once that is confirmed."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, Route, expect

from octavo.library import Library
from octavo.records.keys import Keyring
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import illustrated, small_books
from tests.support.answerers import fill_library
from tests.support.browser import PATIENCE, BrowserThread, open_page, serve_page
from tests.support.embedders import GatedEmbedder

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DROP = """([name, text]) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], name, {type: "text/markdown"}));
  const how = {dataTransfer: carried, bubbles: true, cancelable: true};
  for (const kind of ["dragenter", "dragover", "drop"]) document.body.dispatchEvent(new DragEvent(kind, how));
}"""

HEAR_TOASTS = """() => {
  const toast = document.querySelector("#toast");
  window.toasts = [];
  const hear = () => {
    if (toast.textContent !== window.toasts.at(-1)) window.toasts.push(toast.textContent);
  };
  new MutationObserver(hear).observe(toast, { childList: true, subtree: true, characterData: true });
}"""


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    return fill_library(tmp_path / "library")


def upload(page: Page, *paths: Path) -> None:
    page.set_input_files("#file", [str(path) for path in paths])


def test_a_file_that_takes_the_place_of_a_book_says_so(
    stage: BrowserThread, empty: Path, tmp_path: Path
) -> None:
    book = tmp_path / "rain.md"
    with serve_page(empty) as base, open_page(stage, base) as visit:
        page = visit.go()
        for text, said in (
            ("It rained.", "has been added"),
            ("It rained.", "Nothing has changed"),
            ("It snowed.", "has taken the place of the old one"),
        ):
            book.write_text(f"# The Rain\n\n## One\n\n{text}\n")
            upload(page, book)
            expect(page.locator("#toast")).to_contain_text(said)
        expect(page.locator(".book")).to_have_count(1)
        expect(page.locator(".book")).to_contain_text("1 section")
        expect(page.locator(".book")).not_to_contain_text("1 sections")


def test_a_new_book_is_new_though_the_list_names_it_before_its_job_is_seen_to_end(
    stage: BrowserThread, empty: Path, tmp_path: Path
) -> None:
    embedder = GatedEmbedder(100)
    for name in ("Ebb", "Flow"):
        small_books.write_markdown(tmp_path / f"{name}.md", {"One": f"This is about {name}."}, title=name)
    with serve_page(empty, embedder=embedder) as base, open_page(stage, base) as visit:
        page = visit.page
        page.clock.install()
        visit.go()

        def wait_for_jobs(count: int) -> None:
            def count_done() -> int:
                with urlopen(f"{base}/v1/jobs") as reply:
                    return sum(job["state"] == "done" for job in json.load(reply)["jobs"])

            patience = time.monotonic() + PATIENCE / 1000
            while count_done() < count and time.monotonic() < patience:
                time.sleep(0.05)
            assert count_done() == count

        def finish_second(route: Route) -> None:
            embedder.gate.set()
            wait_for_jobs(2)
            route.continue_()

        # The page's clock stands still: it asks how the jobs stand when the test says so.
        expect(page.locator(".empty")).to_be_visible()
        page.clock.pause_at(datetime.now() + timedelta(minutes=1))
        upload(page, tmp_path / "Ebb.md")
        expect(page.locator(".job[data-job]")).to_have_count(1)
        wait_for_jobs(1)
        embedder.free = 0
        upload(page, tmp_path / "Flow.md")
        expect(page.locator(".job[data-job]")).to_have_count(2)
        page.route("**/v1/books*", finish_second, times=1)
        page.clock.run_for(1_000)
        expect(page.locator(".book")).to_have_count(2)
        expect(page.locator("#toast")).to_contain_text("“Ebb” has been added.")
        page.clock.run_for(1_000)
        expect(page.locator("#toast")).to_contain_text("“Flow” has been added.")
        visit.assert_clean()


def test_two_files_of_one_book_sent_together_say_which_was_new(
    stage: BrowserThread, empty: Path, tmp_path: Path
) -> None:
    embedder = GatedEmbedder(0)
    for name in ("early", "late"):
        (tmp_path / name).mkdir()
        text = {"One": f"It rained {name}."}
        small_books.write_markdown(tmp_path / name / "rain.md", text, title="The Rain")
    with serve_page(empty, embedder=embedder) as base, open_page(stage, base) as visit:
        page = visit.go()
        page.evaluate(HEAR_TOASTS)
        upload(page, tmp_path / "early" / "rain.md", tmp_path / "late" / "rain.md")
        expect(page.locator(".job[data-job]")).to_have_count(2)
        embedder.gate.set()
        visit.until("() => window.toasts.some((said) => said.includes('has taken the place of the old one'))")
        expect(page.locator(".job")).to_have_count(0)
        assert page.evaluate("window.toasts.filter((said) => said.includes('has been added')).length") == 1
        visit.assert_clean()


def test_a_book_is_added_by_upload_asked_and_read_with_everything_real(
    stage: BrowserThread, empty: Path, tmp_path: Path
) -> None:
    """The embedder that comes with Octavo, its own answerer, a file through the browser: no stand-ins."""
    book = small_books.write_epub(tmp_path / "tides.epub")
    with serve_page(empty, real=True) as base, open_page(stage, base) as visit:
        page = visit.go()
        expect(page.locator(".empty")).to_contain_text("Add a book to begin")
        upload(page, book)
        expect(page.locator(".book-title")).to_have_text("The Tides")
        expect(page.locator("#toast")).to_contain_text("“The Tides” has been added.")
        page.locator(".book-link").click()
        visit.ask("How many boats were lost?")
        expect(page.locator(".claim").first).to_contain_text("Seven boats were lost with all their nets.")
        page.locator("button.cite").first.click()
        visit.wait_for_cited("Seven boats were lost with all their nets.")
        visit.assert_clean()


def test_title_and_cover_of_a_book_are_changed_on_the_shelf(
    stage: BrowserThread, empty: Path, tmp_path: Path
) -> None:
    (tmp_path / "cover.png").write_bytes(illustrated.make_png(1200, 1800))
    (tmp_path / "cover.txt").write_text("no picture", encoding="utf-8")
    book = small_books.write_epub(tmp_path / "tides.epub")
    with serve_page(empty) as base, open_page(stage, base) as visit:
        page = visit.go()
        upload(page, book)
        page.get_by_role("button", name="Change “The Tides”").click()
        assert visit.axe() == []
        page.get_by_label("Title").fill("Ebb & <b>Flow</b>")
        page.get_by_label("Web address").fill("https://example.org/ebb")
        page.get_by_label("Cover").set_input_files(str(tmp_path / "cover.txt"))
        page.get_by_role("button", name="Save").click()
        expect(page.locator("dialog .problem")).to_contain_text("not a picture")
        page.get_by_label("Cover").set_input_files(str(tmp_path / "cover.png"))
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".book-title")).to_have_text("Ebb & <b>Flow</b>")
        expect(page.locator(".cover img")).to_have_attribute("src", re.compile("^data:image/jpeg"))
        assert page.locator(".cover img").evaluate("(i) => i.naturalHeight") == 900
        expect(page.get_by_role("button", name="Change “Ebb & <b>Flow</b>”")).to_be_focused()
        page.get_by_role("button", name="Change “Ebb & <b>Flow</b>”").click()
        expect(page.get_by_label("Web address")).to_have_value("https://example.org/ebb")
        page.get_by_label("No cover").check()
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".cover img")).to_have_count(0)
        page.locator(".book-link").click()
        expect(page.locator(".leaf")).to_contain_text("boats were lost")
        visit.assert_clean()


def test_the_steps_of_a_book_on_its_way_are_seen_and_survive_a_reload(
    stage: BrowserThread, empty: Path, tmp_path: Path
) -> None:
    embedder = GatedEmbedder(0)
    book = small_books.write_markdown(tmp_path / "tides.md")
    with serve_page(empty, embedder=embedder) as base, open_page(stage, base) as visit:
        page = visit.go()
        upload(page, book)
        expect(page.locator(".job")).to_contain_text("tides.md")
        assert embedder.waiting.wait(PATIENCE / 1000)
        expect(page.locator(".job progress")).to_be_visible()
        page.reload()
        expect(page.locator(".job")).to_contain_text("tides.md")
        embedder.gate.set()
        expect(page.locator(".book-title")).to_have_text("The Tides")
        expect(page.locator(".job")).to_have_count(0)


def test_many_files_are_all_queued_at_once_and_each_can_be_cancelled(
    stage: BrowserThread, empty: Path, tmp_path: Path
) -> None:
    embedder = GatedEmbedder(0)
    for n in range(5):
        text = {"One": f"This is book number {n}, and it says what no other book says."}
        small_books.write_markdown(tmp_path / f"b{n}.md", text, title=f"Book {n}")
    with serve_page(empty, embedder=embedder) as base, open_page(stage, base) as visit:
        page = visit.go()
        upload(page, *(tmp_path / f"b{n}.md" for n in range(5)))
        expect(page.locator(".job[data-job]")).to_have_count(5)
        page.reload()
        expect(page.locator(".job")).to_have_count(5)
        page.locator(".job", has_text="b4.md").get_by_role("button", name="Cancel").click()
        expect(page.locator(".job")).to_have_count(4)
        embedder.gate.set()
        expect(page.locator(".book-title")).to_have_count(4)
        expect(page.locator(".job")).to_have_count(0)
        visit.assert_clean()


def test_a_folder_of_markdown_is_one_book(stage: BrowserThread, empty: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fen"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "README.md").write_text("# The Fen\n\nThe fen was drained in a dry summer.\n")
    (folder / "two ✓.md").write_text("# Reeds\n\nReeds grew where the water had been.\n")
    (folder / "node_modules" / "no.md").write_text("# No\n\nThis is no part of the book.\n")
    with serve_page(empty) as base, open_page(stage, base) as visit:
        page = visit.go()
        page.set_input_files("#folder", str(folder))
        expect(page.locator(".book")).to_have_count(1)
        page.locator(".book-link").click()
        expect(page.locator(".tree")).to_contain_text("Reeds")
        expect(page.locator(".tree")).not_to_contain_text("No")
        visit.assert_clean()


def test_a_zip_archive_of_markdown_is_one_book_with_its_pictures(
    stage: BrowserThread, empty: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "fen.zip", "w") as archive:
        archive.writestr(
            "fen/README.md", "# The Fen\n\nThe fen was drained in a dry summer.\n\n[On](reeds.md)\n"
        )
        archive.writestr("fen/reeds.md", "# Reeds\n\nReeds grew here.\n\n![A pier in the reeds](pier.png)\n")
        archive.writestr("fen/pier.png", PIXEL)
    with serve_page(empty) as base, open_page(stage, base) as visit:
        page = visit.go()
        upload(page, tmp_path / "fen.zip")
        expect(page.locator("#toast")).to_contain_text("“Fen” has been added.")
        page.locator(".book-link").click()
        expect(page.locator(".tree")).to_contain_text("Reeds")
        page.locator(".leaf a", has_text="On").click()
        expect(page.locator(".leaf")).to_contain_text("Reeds grew here.")
        expect(page.locator(".leaf .picture img")).to_have_attribute("src", re.compile("^data:image/png"))
        visit.ask("Where was the fen drained?")
        visit.assert_clean()


def test_files_dropped_anywhere_come_in_and_bad_ones_say_why(stage: BrowserThread, empty: Path) -> None:
    with serve_page(empty) as base, open_page(stage, base) as visit:
        page = visit.go()
        expect(page.locator(".empty")).to_be_visible()
        page.evaluate(
            DROP, ["storm.md", "# The Storm\n\nA storm broke the northern pier in a single night.\n"]
        )
        expect(page.locator(".book-title")).to_have_text("The Storm")
        page.evaluate(DROP, ["nothing.md", ""])
        expect(page.locator(".job .problem")).to_contain_text("is empty")
        page.evaluate(DROP, ["broken.pdf", "%PDF-1.4 and then nothing"])
        expect(page.locator(".job .problem").last).to_be_visible()
        expect(page.locator(".book")).to_have_count(1)
        visit.assert_clean()


def test_a_book_leaves_only_when_that_is_confirmed(stage: BrowserThread, tides: Path) -> None:
    with serve_page(tides) as base, open_page(stage, base) as visit:
        page = visit.go()
        for answer, left in (("Keep it", 1), ("Remove", 0)):
            page.locator(".book").hover()
            page.get_by_role("button", name="Remove The Tides").click()
            expect(page.get_by_role("dialog")).to_contain_text("Your own file stays")
            page.get_by_role("dialog").get_by_role("button", name=answer, exact=True).click()
            expect(page.locator(".book")).to_have_count(left)
        expect(page.locator(".empty")).to_be_visible()


def with_cover(path: Path) -> Path:
    small_books.write_epub(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    package = members["book.opf"].decode()
    item = '<item id="cover" href="cover.png" media-type="image/png" properties="cover-image"/></manifest>'
    members["book.opf"] = package.replace("</manifest>", item).encode()
    members["cover.png"] = PIXEL
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def covered(tmp_path: Path) -> Path:
    bare = small_books.write_markdown(
        tmp_path / "bare.md", {"One": "This book has no cover at all."}, title="Bare"
    )
    return fill_library(tmp_path / "library", with_cover(tmp_path / "tides.epub"), bare)


def test_a_cover_is_shown_where_the_file_has_one_and_made_where_not(
    stage: BrowserThread, covered: Path
) -> None:
    with serve_page(covered) as base, open_page(stage, base) as visit:
        page = visit.go()
        expect(page.locator(".cover img")).to_have_count(1)
        assert (page.locator(".cover img").get_attribute("src") or "").startswith("data:image/png;base64,")
        expect(page.locator(".cover-title")).to_have_text("Bare")
        visit.assert_clean()


@pytest.fixture
def key(tides: Path) -> str:
    async def made() -> str:
        settings = Settings(data=tides)
        async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
            _, token = await Keyring(library.database).create("a reader", scopes=("ask",))
        return str(token)

    return asyncio.run(made())


def test_where_keys_are_required_a_calm_field_asks_for_one(
    stage: BrowserThread, tides: Path, key: str
) -> None:
    with serve_page(tides, keys_required=True) as base, open_page(stage, base) as visit:
        page = visit.go()
        expect(page.locator(".key-card")).to_contain_text("This library needs a key")
        page.get_by_label("Key").fill("octv_wrong_key")
        page.get_by_role("button", name="Open the library").click()
        expect(page.locator(".key-card")).to_contain_text("not accepted")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Open the library").click()
        expect(page.locator(".book-title")).to_have_text("The Tides")
        expect(page.get_by_role("button", name="Add a book")).to_have_count(0)
        page.reload()
        visit.ask("How many boats were lost?")
        assert page.evaluate("Object.values(localStorage).join().includes('octv_')") is False
        page.get_by_role("button", name="Forget the key").click()
        expect(page.locator(".key-card")).to_be_visible()
