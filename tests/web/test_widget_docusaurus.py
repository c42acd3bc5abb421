"""The commands of docs/docusaurus.md, run as they stand there, lead to a fresh site that answers.

Commands and configuration are read from the page. All of them run in one shell, in an empty folder with a
clone of this repository; whatever they start is ended with the shell's process group. The site is the
template of Docusaurus itself. Nothing but npm's registry is fetched from: pip takes what Octavo needs from
the environment of the tests. Both servers listen on this machine alone, on the ports that the page names.

It takes about a minute and a half of processor time, and longer by the clock, but at most `SECONDS` until the
site is there. Where npm's registry is not reached or is too slow for that, the test is skipped.
tests/conftest.py lets it start first, so that the other tests run beside it.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import BrowserThread, open_page
from tests.support.npm import RELEASED, find_obstacle, lost_registry
from tests.support.widget_site import ask_widget, find_inside, list_highlights, open_widget

ROOT = Path(__file__).parent.parent.parent
SITE, SERVICE = "http://localhost:3000", "http://localhost:8321"
QUESTION = "How do I create a document?"
SECONDS = 600.0  # in all, until the site is there
PACKAGE = "guide/node_modules/docusaurus-plugin-octavo"
"""What the last command that fetches from npm's registry installs."""
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


PYTHON = """#!/bin/sh
{python} "$@" || exit
if [ "$1 $2" = "-m venv" ]; then
    echo "{borrowed}" > "$3/lib/python{version}/site-packages/dependencies.pth"
fi
"""
"""The interpreter of the tests. Environments that it makes find the packages that the tests have, also in the
process that reads books, which no variable reaches."""


def make_environment(folder: Path) -> dict[str, str]:
    """A reader's environment: no setting of Octavo's, no virtual environment, no window for npm to open.

    pip fetches nothing: what Octavo needs is found where the tests have it, but not Octavo itself, because
    paths that lead to a repository are not followed from there.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OCTAVO_", "PYTEST_", "PYTHON")) and name != "VIRTUAL_ENV"
    }
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    python = Path(sys.base_prefix) / "bin" / f"python{version}"
    (borrowed,) = (path for path in sys.path if path.endswith("site-packages"))
    folder.mkdir()
    (folder / "python3").write_text(PYTHON.format(python=python, borrowed=borrowed, version=version))
    (folder / "python3").chmod(0o755)
    return kept | {
        "BROWSER": "none",
        "PATH": f"{folder}{os.pathsep}{kept['PATH']}",
        "PYTHONPATH": borrowed,  # comes first: an environment may begin with a setuptools that is too old
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "false",  # pip takes the value for the isolation itself
        "npm_config_before": RELEASED,
    }


@contextmanager
def hold_ports(end: float) -> Iterator[None]:
    """Keep other runs on this machine off the ports, which are taken minutes after the commands start."""
    with (Path(tempfile.gettempdir()) / "octavo-docusaurus.lock").open("w") as lock:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            assert time.monotonic() < end, "another run on this machine keeps the ports"
            time.sleep(1)
        for address in (SITE, SERVICE):
            wait_for_port(address, end)
        yield


@contextmanager
def run_script(script: str, folder: Path, environment: Mapping[str, str], end: float) -> Iterator[Path]:
    """Runs a script until the site can be opened, and ends it and all that it started; gives what it said."""
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
        wait_for_site(shell, said, end)
        yield said
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            shell.wait(30)
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait(30)


def is_taken(address: str) -> bool:
    port = int(address.rpartition(":")[2])
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def wait_for_port(address: str, end: float) -> None:
    """Wait until another run on this machine gives the port back."""
    while is_taken(address):
        assert time.monotonic() < end, f"{address} is taken: end what listens there, and run this again"
        time.sleep(1)


def wait_for_site(shell: subprocess.Popen[bytes], said: Path, end: float) -> None:
    while True:
        told = said.read_text(encoding="utf-8", errors="replace")[-4_000:]
        ended, late = shell.poll() is not None, time.monotonic() >= end
        fetched = (said.parent / PACKAGE).exists()
        if not fetched and ((ended and lost_registry(told)) or late):
            pytest.skip(f"needs a registry of npm that is quick and does not fail:\n{told}")
        assert not ended, f"a command failed or the site was not served:\n{told}"
        assert not late, f"no site after {SECONDS:.0f} seconds:\n{told}"
        with suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(SITE, timeout=30):
            return
        time.sleep(1)


def check_site(page: Page) -> None:
    """Ask the widget, follow a citation, find its words highlighted there, and turn the site dark."""
    open_widget(page, SITE)
    turn = ask_widget(page, QUESTION)
    expect(turn.locator(".said .cite").first).to_be_visible()
    passage = turn.locator(".passages a.passage").first
    link = passage.get_attribute("href") or ""
    assert link.startswith(f"{SITE}/docs/"), link
    passage.click()
    page.wait_for_url(lambda url: url.split("#")[0].rstrip("/") == link.split("#")[0].rstrip("/"))
    expect(page.locator("article h1")).to_be_visible()
    assert list_highlights(page)
    assert find_inside(page, ".turn").count() == 1
    expect(find_inside(page, ".root")).to_have_attribute("data-theme", "light")
    switch = page.get_by_role("button", name=re.compile("dark and light mode")).first
    switch.click()  # the system's choice comes first, then light, then dark
    switch.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(find_inside(page, ".root")).to_have_attribute("data-theme", "dark")


def test_the_page_needs_few_commands_and_says_how_many() -> None:
    guide = read_guide()
    assert len(guide.commands) == 10
    assert len(guide.lines.splitlines()) == 2
    assert QUESTION in " ".join(guide.commands)
    page = (ROOT / "docs/docusaurus.md").read_text(encoding="utf-8")
    assert "\nTen commands and two lines of configuration lead" in page


def test_a_registry_that_never_answers_is_an_obstacle_and_no_hang() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        registry = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert find_obstacle({**os.environ, "npm_config_registry": registry}, seconds=3)


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ("npm error code ETIMEDOUT\nnpm error network request failed", True),
        ("npm ERR! code ECONNRESET", True),
        ("npm error code E503", True),
        ("npm error code E404\nnpm error 404 Not Found", False),
        ("npm error code ERESOLVE", False),
        ("Error: the site could not be built", False),
    ],
)
def test_only_a_lost_registry_excuses_npm(said: str, lost: bool) -> None:
    assert lost_registry(said) is lost


def test_the_commands_of_the_page_lead_to_a_site_that_answers(stage: BrowserThread, tmp_path: Path) -> None:
    if obstacle := find_obstacle():
        pytest.skip(obstacle)
    # The commands may take longer than a test that hangs. Each wait below has an end of its own.
    faulthandler.cancel_dump_traceback_later()
    guide = read_guide()
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "octavo"], check=True)
    (tmp_path / "lines.js").write_text(guide.lines, encoding="utf-8")
    try:
        environment, end = make_environment(tmp_path / "bin"), time.monotonic() + SECONDS
        with hold_ports(end), run_script(guide.script(), tmp_path, environment, end) as said:
            with open_page(stage, SITE) as visit:
                check_site(visit.page)
                assert visit.errors == []
                assert [url for url in visit.foreign if not url.startswith(SERVICE)] == []
            print(said.read_text(encoding="utf-8", errors="replace")[-1_500:])
            assert (tmp_path / "guide/node_modules/@docusaurus/preset-classic/package.json").is_file()
    finally:
        # The packages are large, and pytest keeps the folders of its last runs.
        for name in ("guide/node_modules", "octavo", ".venv"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
