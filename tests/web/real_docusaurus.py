"""The commands of docs/docusaurus.md, run as they stand there, lead to a site that answers.

Not part of the ordinary tests, because packages are fetched and the commands take minutes: `make
test-docusaurus` runs it, by the name of the file. Commands and configuration are read from the page. All of
them run in one shell, in an empty folder with a clone of this repository; whatever they start is ended with
the shell's process group. Both servers listen on this machine alone, on the ports that the page names.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.support.browser import BrowserThread, open_page
from tests.support.widget_site import ask_widget, find_inside, list_highlights, open_widget

ROOT = Path(__file__).parent.parent.parent
SITE, SERVICE = "http://localhost:3000", "http://localhost:8321"
QUESTION = "How do I create a document?"
SECONDS = 1_800.0  # in all, until the site is there
EDIT = "sed -i -e '/^  url: /{r ../lines.js' -e 'd}' docusaurus.config.js"
"""Puts the page's lines in the place of the site's address."""


@dataclass(frozen=True, slots=True)
class Guide:
    """What the page says before it turns to the web."""

    before: tuple[str, ...]
    lines: str
    after: tuple[str, ...]

    @property
    def commands(self) -> tuple[str, ...]:
        return self.before + self.after

    def script(self) -> str:
        return "\n".join(["set -e", *self.before, EDIT, *self.after])


def read_guide() -> Guide:
    page = (ROOT / "docs/docusaurus.md").read_text(encoding="utf-8").split("\n## On the web\n")[0]
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in blocks] == ["sh", "js", "sh"]
    before, lines, after = (text for _, text in blocks)
    return Guide(tuple(before.splitlines()), lines, tuple(after.splitlines()))


def clean_environment() -> dict[str, str]:
    """A reader's environment: no setting of Octavo's, no virtual environment, no window for npm to open."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OCTAVO_", "PYTEST_")) and name not in ("VIRTUAL_ENV", "PYTHONPATH")
    }
    return kept | {"BROWSER": "none"}


@contextmanager
def run_script(script: str, folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Runs a script until the site can be opened, and ends it and all that it started; gives what it said."""
    for address in (SITE, SERVICE):
        assert not is_taken(address), f"{address} is taken: end what listens there, and run this again"
    said = folder / "said.txt"
    with said.open("w", encoding="utf-8") as output:
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_for_site(shell, said)
        yield said
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)
        shell.wait(60)


def is_taken(address: str) -> bool:
    port = int(address.rpartition(":")[2])
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def wait_for_site(shell: subprocess.Popen[bytes], said: Path) -> None:
    end = time.monotonic() + SECONDS
    while True:
        told = said.read_text(encoding="utf-8", errors="replace")[-4_000:]
        assert shell.poll() is None, f"a command failed or the site was not served:\n{told}"
        assert time.monotonic() < end, f"no site after {SECONDS:.0f} seconds:\n{told}"
        with suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(SITE, timeout=30):
            return
        time.sleep(1)


def check_site(page: Page) -> str:
    """Asks the widget, follows a citation, and finds its words highlighted there; returns what was said."""
    open_widget(page, SITE)
    turn = ask_widget(page, QUESTION)
    expect(turn.locator(".said .cite").first).to_be_visible()
    answer = turn.locator(".said").inner_text()
    passage = turn.locator(".passages a.passage").first
    link = passage.get_attribute("href") or ""
    assert link.startswith(f"{SITE}/"), link
    passage.click()
    page.wait_for_url(lambda url: url.split("#")[0].rstrip("/") == link.split("#")[0].rstrip("/"))
    expect(page.locator("article h1")).to_be_visible()
    assert list_highlights(page)
    assert find_inside(page, ".turn").count() == 1
    return f"{answer}\n{link}"


def test_the_page_needs_few_commands_and_says_how_many() -> None:
    guide = read_guide()
    assert len(guide.commands) == 10
    assert len(guide.lines.splitlines()) == 2
    page = (ROOT / "docs/docusaurus.md").read_text(encoding="utf-8")
    assert "\nTen commands and two lines of configuration lead" in page


def test_the_commands_of_the_page_lead_to_a_site_that_answers(stage: BrowserThread, tmp_path: Path) -> None:
    faulthandler.cancel_dump_traceback_later()  # the commands take longer than a test that hangs
    guide = read_guide()
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "octavo"], check=True)
    (tmp_path / "lines.js").write_text(guide.lines, encoding="utf-8")
    begun = time.monotonic()
    with run_script(guide.script(), tmp_path, clean_environment()) as said:
        print(f"\nthe site was there after {time.monotonic() - begun:.0f} seconds")
        assert QUESTION in " ".join(guide.commands)
        with open_page(stage, SITE) as visit:
            print(check_site(visit.page))
            assert visit.errors == []
            assert [url for url in visit.foreign if not url.startswith(SERVICE)] == []
        print(said.read_text(encoding="utf-8", errors="replace")[-1_500:])
