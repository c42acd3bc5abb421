"""Every command that README, quick start and each `--help` show runs here as it is written, and succeeds.

Addresses, ids and the folder of backups are replaced by those of servers and things that are there.
"""

from __future__ import annotations

import glob
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from octavo.cli import octavo
from octavo.errors import LibraryBusy
from octavo.store.service_socket import NAME
from octavo.types import COLLECTION
from tests.support.answerers import add_tides
from tests.support.copies import copy_library
from tests.support.examples import Example, list_help_examples, list_page_examples, write_desk
from tests.support.foreign_collections import fill_payloads
from tests.support.patience import PATIENCE
from tests.support.postgres import PostgresServer, find_free_port
from tests.support.qdrant_server import QdrantServer
from tests.support.serving import create_key, serve_library
from tests.support.web_sites import make_page, serve_site

OCTAVO = (sys.executable, "-m", "octavo.cli")
ENDLESS = ("serve", "work", "sync", "mcp")
"""Commands that go on until they are stopped, with the exception of `sync` without --watch."""
READING = ("ask", "chat", "octavo")
"""Commands whose examples need the local models. The others are quicker without them."""
POINTS: tuple[dict[str, object], ...] = tuple(
    {"text": text, "url": url, "body": text, "metadata": {"page": url}}
    for url, text in (
        ("https://robots.example/motors", "The joints of the arm are moved by six motors."),
        ("https://robots.example/sensors", "The lidar turns ten times a second."),
    )
)
"""A collection of another program, with the keys of both kinds that the help names."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files and a library with the books, one question, and one key."""
    folder = write_desk(tmp_path_factory.mktemp("examples") / "desk")
    names = ("moby-dick.epub", "annual-report.pdf", "books/typhoon.epub", "handbook.epub")
    books = [str(folder / name) for name in names]
    runner = CliRunner(env={"OCTAVO_RISK": "0.9", "OCTAVO_FREE_SPACE_MB": "0"})
    for words in (
        ["add", *books],
        ["ask", "Where does Queequeg come from?", "--session", "3f2a91c0"],
        ["keys", "create", "first"],
    ):
        done = runner.invoke(octavo, ["--data", str(folder / "library"), *words])
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def here(desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the desk, which is the current folder and the home, with its library as the usual one."""
    folder = copy_library(desk, tmp_path / "desk")
    monkeypatch.chdir(folder)
    for name, value in (
        ("HOME", folder),
        ("OCTAVO_DATA", folder / "library"),
        ("OCTAVO_FREE_SPACE_MB", "0"),
        ("OCTAVO_PRIVATE_SITES", "true"),
        ("OLLAMA_HOST", "127.0.0.1:9"),
        ("GEMINI_API_KEY", "a key"),
        ("COLUMNS", "500"),
    ):
        monkeypatch.setenv(name, str(value))
    return folder


def run(*words: str, typed: str | None = None) -> str:
    done = CliRunner().invoke(
        octavo, words, input="Who is Starbuck?\n/quit\n" if words[0] == "chat" else typed
    )
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.stdout


def run_example(example: Example, monkeypatch: pytest.MonkeyPatch, *, meanwhile: str = "") -> str:
    """Run it as a shell would. What ends by itself runs in this process; `meanwhile` runs beside the rest."""
    for name, value in example.variables.items():
        monkeypatch.setenv(name, value)
    # A shell leaves what is quoted as it is.
    words = [word if f'"{word}"' in example.line else _expand(word) for word in example.words]
    flat = [one for word in words for one in (sorted(glob.glob(word)) if "*" in word else [word])]
    if flat[0] in ENDLESS and not {"--until-empty", "--delete", "--dry-run"} & set(flat):
        return _run_until_stopped(flat, meanwhile)
    typed = subprocess.check_output(example.source, shell=True, text=True) if example.source else None
    said = run(*flat, typed=typed)
    if example.output:
        Path(_expand(example.output)).write_text(said, encoding="utf-8")
    return said


def _expand(word: str) -> str:
    return os.path.expanduser(word)


def _run_until_stopped(words: list[str], meanwhile: str) -> str:
    """Wait until it says that it is at work, stop it as Ctrl-C does, and see that it ends well."""
    port = find_free_port()
    more = ["--port", str(port)] if words[0] == "serve" else []
    command = [*OCTAVO, *words, *more]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        first = "" if words[0] == "mcp" else process.stdout.readline()
        if meanwhile:
            said = subprocess.check_output(meanwhile.replace(":8321", f":{port}"), shell=True, text=True)
            assert json.loads(said)["claims"], said
        if words[0] == "mcp":
            assert process.stdin is not None
            process.stdin.close()
        else:
            process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE)
        rest = process.stdout.read()
    assert code in (0, 130), first + rest
    assert "Traceback" not in first + rest
    return first + rest


# The pages


@pytest.mark.usefixtures("local_models")
@pytest.mark.parametrize(("line", "printed"), list_page_examples(), ids=lambda text: text[:40])
def test_what_the_pages_show_works(
    line: str, printed: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here
    said = run_example(Example.parse(line), monkeypatch)
    assert printed in " ".join(said.split())


# The help


@contextmanager
def prepare_stage(command: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Start what the examples of a command talk to; yield what they say, and what is really there."""
    with ExitStack() as started:
        if command == "add":
            pages = {"/docs/": make_page("The Docs", "The pump is started with the green button.")}
            site = started.enter_context(serve_site(pages))
            yield {"https://example.org/docs/": f"{site.url}/docs/"}
        elif command in ("push", "widget check"):
            (folder / "there").mkdir()
            service = started.enter_context(serve_library(add_tides(folder / "there"), keys_required=True))
            _, key = create_key(service.folder, scopes=("ingest",))
            (folder / "key.txt").write_text(key, encoding="utf-8")
            address = f"http://127.0.0.1:{service.port}"
            site = started.enter_context(serve_site({}))
            _, public = create_key(service.folder, public=True, origins=[site.url])
            widget = f"<script src={address}/widget.js data-book=the-tides data-key={public}></script>"
            site.pages["/"] = make_page("The Guide", "Ask it.", head=widget)
            yield {"https://octavo.example.org": address, "https://guide.example.org": site.url}
        elif command in ("attach", "migrate"):
            server = started.enter_context(QdrantServer(folder / "qdrant"))
            guarded = started.enter_context(QdrantServer(folder / "guarded", key="sesame"))
            (folder / "key.txt").write_text("sesame\n", encoding="utf-8")
            if command == "attach":
                fill_payloads(server, COLLECTION, POINTS)
                fill_payloads(guarded, "handbook", POINTS, key="sesame")
                yield {
                    "http://localhost:6333": server.url,
                    "https://name.cloud.qdrant.io:6333": guarded.url,
                }
                return
            postgres: PostgresServer = request.getfixturevalue("postgres")
            yield {
                "http://localhost:6333": server.url,
                "http://qdrant:6333": server.url,
                "postgresql://octavo:secret@db/octavo": postgres.network_url(postgres.database()),
            }
        elif command == "keys":
            key_id = run("keys", "list").split()[0]
            yield {"3f2a9c0d11e4": key_id}
        elif command in ("backup", "restore"):
            if command == "restore":
                run("backup", "backups")
            yield {"/mnt/backups/octavo": str(folder / "backups")}
        else:
            yield {}


@pytest.mark.parametrize("command", list_help_examples())
def test_what_the_help_of_a_command_shows_works(
    command: str, here: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if command in READING:
        request.getfixturevalue("local_models")
    lines = list_help_examples()[command]
    with prepare_stage(command, here, request) as real:
        for line, after in zip(lines, [*lines[1:], ""], strict=True):
            if line.startswith("curl "):
                continue
            if "--to embedded" in line:
                # The library that was copied to the servers is copied back.
                monkeypatch.setenv("OCTAVO_STORE_URL", real["http://qdrant:6333"])
                monkeypatch.setenv("OCTAVO_RECORDS_URL", real["postgresql://octavo:secret@db/octavo"])
            for shown, there in real.items():
                line = line.replace(shown, there)
            with monkeypatch.context() as patched:
                meanwhile = after if after.startswith("curl ") else ""
                run_example(Example.parse(line), patched, meanwhile=meanwhile)


def test_every_command_that_does_something_shows_an_example() -> None:
    shown = [
        Example.parse(line).words
        for lines in list_help_examples().values()
        for line in lines
        if "octavo" in line
    ]
    assert {words[0] for words in shown} == set(octavo.commands)


# Beside a running service

SERVED = (
    "add ./website",
    "add moby-dick.epub --dry-run",
    "sync ~/Books --delete",
    "list",
    "contents moby-dick --depth 1",
    "map moby-dick Queequeg",
    "tag moby-dick sea",
    "search harpoon --tag sea",
    "ask 'Where does Queequeg come from?'",
    "chat --session last",
    "sessions",
    "verify",
    "gaps moby-dick",
    "eval moby-dick --questions mine.jsonl",
    "keys list",
    "doctor",
    "mcp",
    "backup backups",
    "remove typhoon --yes",
)


def test_everyday_commands_go_through_a_running_service(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = str(find_free_port())
    command = [*OCTAVO, "serve", "--port", port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as service:
        assert service.stdout is not None
        try:
            assert "Octavo serves" in service.stdout.readline()
            for line in SERVED:
                run_example(Example.parse(f"octavo {line}"), monkeypatch)
            waiting = CliRunner().invoke(octavo, ["work", "--until-empty"])
            assert isinstance(waiting.exception, LibraryBusy)
            assert "which adds the books that wait" in waiting.exception.message
        finally:
            service.send_signal(signal.SIGINT)
    assert not (here / "library" / NAME).exists()
