"""The command line as people and programs use it: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from octavo.cli import main
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.epub_files import make_package, write_epub
from tests.support.patience import PATIENCE


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Octavo = Callable[..., Said]


@pytest.fixture
def octavo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Octavo:
    """Runs a command in this process, on a library of its own with the embedder for tests."""
    monkeypatch.setenv("OCTAVO_DATA", str(tmp_path / "library"))
    embed_with(TinyEmbedder(), monkeypatch)

    def run(*words: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["octavo", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run


def embed_with(embedder: TinyEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(settings: Settings) -> TinyEmbedder:
        return embedder

    for module in ("octavo.library", "octavo.maintenance.doctor"):
        monkeypatch.setattr(f"{module}.load_embedder", load)


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    return small_books.write_markdown(tmp_path / "tides.md")


def test_what_takes_the_place_of_a_book_says_so(octavo: Octavo, tides: Path, tmp_path: Path) -> None:
    octavo("add", tides)
    tides.write_text(tides.read_text() + "\n\nThe ledger was closed in spring.\n")
    assert octavo("add", tides).out.startswith("The Tides: new edition of 'the-tides' (4 sections")
    text = "<title>The Boats</title><h1>The Boats</h1><h2>One</h2><p>Seven boats were lost.</p><h2>Two</h2>"
    (tmp_path / "boats.html").write_text(f"{text}<p>The eighth came home.</p>")
    octavo("add", tmp_path / "boats.html")
    boats = tmp_path / "boats.epub"
    pages = {"1.xhtml": f"{text}<p>The eighth came home in May.</p>"}
    write_epub(boats, pages, opf=make_package(["1.xhtml"], title="The Boats"))
    [kept] = octavo("add", boats, "--id", "boats-epub", "--json").json["books"]
    assert (kept["id"], kept["change"]["replaces"]) == ("boats-epub", "")
    pages = {"1.xhtml": f"{text}<p>The eighth came home in June.</p>"}
    write_epub(boats, pages, opf=make_package(["1.xhtml"], title="The Boats"))
    said = octavo("add", boats, "--id", "the-boats").out
    assert said.startswith("The Boats: replaced the html of 'the-boats' with this epub (")
    assert said.endswith("To keep both, add one of them with --id.\n")


def test_a_book_goes_in_is_listed_searched_and_taken_out(octavo: Octavo, tides: Path) -> None:
    assert "No books yet" in octavo("list").out
    added = octavo("add", tides)
    assert added == Said(
        0, "The Tides: added as 'the-tides' (4 sections, 4 passages); +4 ~0 −0 sections, +4 −0 passages\n", ""
    )
    assert octavo("add", tides).out == "The Tides: already in the library as 'the-tides', nothing to do\n"
    assert octavo("list").out == "the-tides  The Tides [markdown, 4 sections, 4 passages]\n"
    assert octavo("contents", "the-tides").out.splitlines()[0] == "Harbour  [harbour]"
    found = octavo("search", "who counted the ships at dawn", "--top", "1")
    assert found.code == 0
    assert found.out.startswith("1. The Tides › Harbour  ")
    assert "ledger bound in red." in found.out
    assert "book://the-tides/harbour" in found.out
    assert octavo("remove", "The Tides", "--yes").out == "Removed 'The Tides'.\n"
    assert "No books yet" in octavo("list").out


def test_every_command_speaks_json(octavo: Octavo, tides: Path) -> None:
    planned = octavo("add", tides, "--dry-run", "--json").json["books"][0]
    assert (planned["id"], planned["dry_run"], planned["change"]["added"]) == ("the-tides", True, 4)
    (book,) = octavo("add", tides, "--json").json["books"]
    assert (book["id"], book["unchanged"], book["change"]["chunks_new"]) == ("the-tides", False, 4)
    assert octavo("add", tides, "--json").json["books"][0]["unchanged"] is True
    assert octavo("list", "--json").json["books"][0]["chunk_count"] == 4
    assert octavo("contents", "the-tides", "--json").json["sections"][0]["id"] == "harbour"
    found = octavo("search", "ships", "--json").json
    assert found["processing_time_ms"] >= 1
    assert found["results"][0]["content"].startswith("The harbour master")
    assert octavo("doctor", "--json").json["sound"] is True
    assert octavo("remove", "the-tides", "--yes", "--json").json["removed"]["id"] == "the-tides"


def test_a_dry_run_prints_the_change_and_makes_none(octavo: Octavo, tides: Path) -> None:
    octavo("add", tides)
    changed = {
        "New": "Something new stands here now.",
        **small_books.TIDES,
        "Storm": "Another storm came by.",
    }
    del changed["Morning"]
    small_books.write_markdown(tides, changed)
    said = octavo("add", tides, "--dry-run")
    assert said.out == "The Tides: +1 ~1 −1 sections, +2 −2 passages (nothing was changed)\n"
    assert "Morning" in octavo("contents", "the-tides").out


def test_title_id_and_address_are_taken_and_shown(octavo: Octavo, tides: Path) -> None:
    asked = ("--title", "High Tides", "--id", "ht", "--base-url", "https://example.org/tides/")
    octavo("add", tides, *asked)
    assert octavo("list").out.startswith("ht  High Tides [")
    assert (
        octavo("search", "ships", "--json").json["results"][0]["url"].startswith("https://example.org/tides/")
    )


def test_a_search_is_narrowed_by_book_section_page_and_place(
    octavo: Octavo, tides: Path, tmp_path: Path
) -> None:
    octavo("add", tides)
    pages = [[f"On page {n} the ship of captain {n} sails on and on."] for n in range(1, 4)]
    octavo("add", small_books.write_pdf(tmp_path / "log.pdf", pages), "--title", "The Log")

    def sections(*narrowed: str) -> set[str]:
        return {r["section"] for r in octavo("search", "the ship", *narrowed, "--json").json["results"]}

    assert sections("--book", "The Tides", "--section", "storm") == {"Storm"}
    assert sections("--book", "the-tides", "--up-to", "Lighthouse") == {"Harbour", "Lighthouse"}
    assert sections("--book", "the-log", "--page", "2-3")
    assert octavo("search", "x", "--page", "2").code == 2
    both = octavo("search", "x", "--page", "2", "--section", "Storm")
    assert both.code == 2
    assert "Use only one of" in both.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["search", "whale"], 3, "Nothing found"),
        (["search", ""], 2, "query"),
        (["search", "whale", "--top", "0"], 2, "top_k"),
        (["search", "whale", "--top", "ten"], 2, "ten"),
        (["search", "whale", "--book", "moby"], 2, "no book 'moby'"),
        (["contents", "moby"], 2, "no book 'moby'"),
        (["remove", "moby"], 2, "no book 'moby'"),
        (["add", "/no/such/file.md"], 1, "nothing at"),
        (["add"], 2, "Missing argument"),
        (["add", ""], 2, "A PATH is empty"),
        (["ask", " "], 2, "QUESTION is empty"),
        (["add", "a.md", "b.md", "--title", "T"], 2, "are for a single book"),
        (["add", "a.md", "--id", "Not A Slug"], 2, "such as 'not-a-slug'"),
        (["add", "a.md", "--base-url", "nowhere"], 2, "valid URL"),
        (["add", "a.md", "--title", " "], 2, "title"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_every_wrong_call_ends_with_its_code_and_a_sentence(
    octavo: Octavo, words: Sequence[str], code: int, said: str
) -> None:
    ended = octavo(*words)
    assert ended.code == code
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_the_list_of_commands_fits_a_narrow_terminal(octavo: Octavo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    commands = octavo("--help").out.partition("Commands:")[2].splitlines()
    assert len(commands) > 10
    assert [line for line in commands if line.endswith("...")] == []


def test_one_of_something_is_not_told_as_many(octavo: Octavo, tmp_path: Path) -> None:
    octavo(
        "add", small_books.write_markdown(tmp_path / "one.md", {"One": "It rained all day."}, title="Rain")
    )
    assert octavo("list").out == "rain  Rain [markdown, 1 section, 1 passage]\n"


def test_an_error_is_json_too_when_json_was_asked_for(octavo: Octavo) -> None:
    ended = octavo("contents", "moby", "--json")
    assert (ended.code, ended.json["error"]["code"]) == (2, "not_found")


def test_one_bad_path_among_several_fails_alone(octavo: Octavo, tides: Path, tmp_path: Path) -> None:
    other = small_books.write_text(tmp_path / "other.txt", {"a": "Quite another text stands here."})
    (tmp_path / "bad.pdf").write_bytes(b"not a PDF at all")
    ended = octavo("add", tides, tmp_path / "bad.pdf", other, "--json")
    assert ended.code == 1
    assert [b["id"] for b in ended.json["books"]] == ["the-tides", "other"]
    assert [e["code"] for e in ended.json["errors"]] == ["type_mismatch"]
    assert "octavo: " in ended.err
    assert len(octavo("list", "--json").json["books"]) == 2


def test_what_is_wrong_with_the_machine_is_said_once(
    octavo: Octavo, tides: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_FREE_SPACE_MB", str(10**9))
    other = small_books.write_text(tmp_path / "other.txt")
    ended = octavo("add", tides, other)
    assert ended.code == 1
    assert ended.err.count("octavo: ") == 1
    assert "OCTAVO_FREE_SPACE_MB" in ended.err


def test_a_library_is_backed_up_lost_and_restored(octavo: Octavo, tides: Path, tmp_path: Path) -> None:
    octavo("add", tides)
    made = octavo("backup", tmp_path / "copies", "--keep", "2", "--json").json
    assert made["snapshots"][0]["files"].keys() == {"records.sqlite"}
    assert "verified" in octavo("backup", tmp_path / "copies", "--verify").out
    older = next((tmp_path / "copies" / "snapshots").glob("*.json"))
    older.with_name("00000000-000000.json").write_bytes(older.read_bytes()[:-9])
    checked = octavo("backup", tmp_path / "copies", "--verify", "--keep", "1")
    assert checked.code == 1
    assert f"{older.stem}: " in checked.out
    assert "✗ 00000000-000000: " in checked.out
    assert "Deleted" not in checked.out
    older.with_name("00000000-000000.json").unlink()
    refused = octavo("restore", tmp_path / "copies")
    assert (refused.code, "--replace" in refused.err) == (2, True)
    shutil.rmtree(tmp_path / "library")
    restored = octavo("restore", tmp_path / "copies")
    assert restored.code == 0, restored
    assert "✓ store: holds exactly what the records say" in restored.out
    assert "Lighthouse" in octavo("search", "Who looks after the lamp?").out


def test_lost_records_are_rebuilt(octavo: Octavo, tides: Path, tmp_path: Path) -> None:
    octavo("add", tides)
    (tmp_path / "library" / "records.sqlite").unlink()
    for command in ("list", "verify"):
        said = octavo(command).err
        assert "that the records do not know" in said
        assert "octavo doctor --rebuild" in said
    refused = octavo("search", "lamp")
    assert "that the records do not know" in octavo("list").err
    assert (refused.code, "octavo doctor --rebuild" in refused.err) == (1, True)
    assert octavo("doctor", "--rebuild", "--repair").code == 2
    assert "✓ rebuild: 1 books are in the records again" in octavo("doctor", "--rebuild").out
    assert octavo("list").err == ""
    assert "Lighthouse" in octavo("search", "Who looks after the lamp?").out


@pytest.mark.parametrize("repair", [(), ("--repair",)], ids=["examined", "repaired"])
def test_an_empty_library_that_the_doctor_has_seen_has_lost_no_records(
    octavo: Octavo, tides: Path, repair: tuple[str, ...]
) -> None:
    for _ in range(2):
        assert octavo("doctor", *repair).code == 0
        for command in ("list", "verify"):
            assert "do not know" not in octavo(command).err
        octavo("add", tides)
        octavo("remove", "the-tides", "--yes")


def test_the_doctor_says_what_is_wrong_and_repairs_it(octavo: Octavo, tides: Path, tmp_path: Path) -> None:
    octavo("add", tides)
    assert octavo("doctor").out.splitlines()[-3:] == [
        "✓ store: holds exactly what the records say",
        "✓ second copy: the records can be rebuilt from the store",
        "✓ check before this one: no full pass yet",
    ]
    (tmp_path / "library" / "store").rename(tmp_path / "gone")
    ill = octavo("doctor")
    assert ill.code == 1
    assert "✗ store: the chunk store is missing" in ill.out
    assert "doctor --repair" in ill.out
    assert "doctor --repair" in octavo("search", "ships").err
    healed = octavo("doctor", "--repair")
    assert healed.code == 0
    assert "✓ repair: repaired the store (4 missing, 0 damaged, 0 too many)" in healed.out
    assert octavo("search", "ships").code == 0


def test_progress_is_shown_on_a_terminal_only(
    octavo: Octavo, tides: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.cli.books.is_terminal", lambda: True)
    shown = octavo("add", tides)
    assert "4/4" in shown.err
    assert "4/4" not in shown.out
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    kept = octavo("remove", "the-tides")
    assert kept.code == 130
    assert octavo("list").out.startswith("the-tides")


def test_nothing_is_removed_without_a_word_where_nobody_can_be_asked(octavo: Octavo, tides: Path) -> None:
    octavo("add", tides)
    refused = octavo("remove", "the-tides")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert octavo("list").out.startswith("the-tides")


def test_a_misspelt_variable_is_named(octavo: Octavo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_MODLE", "gpt-4.1-mini")
    said = octavo("list").err
    assert "OCTAVO_MODLE is no setting and is not used. Did you mean OCTAVO_MODEL?" in said


class Interrupted(TinyEmbedder):
    """Somebody presses Ctrl-C while it embeds."""

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        os.kill(os.getpid(), signal.SIGINT)
        return super().embed(texts)


def test_ctrl_c_stops_with_a_word_and_loses_nothing(
    octavo: Octavo, tides: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_with(Interrupted(), monkeypatch)
    stopped = octavo("add", tides)
    assert stopped.code == 130
    assert "run the same command again" in stopped.err
    assert "Traceback" not in stopped.err
    embed_with(TinyEmbedder(), monkeypatch)
    assert "No books yet" in octavo("list").out
    assert octavo("add", tides).code == 0


def test_the_installed_program_works_with_the_packaged_model(tides: Path, tmp_path: Path) -> None:
    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "octavo.cli", "--data", str(tmp_path / "real"), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)

    added = run("add", tides)
    assert (added.returncode, added.stderr) == (0, "")
    found = run("search", "Who looks after the lamp?", "--json")
    assert json.loads(found.stdout)["results"][0]["section"] == "Lighthouse"
    refused = run("search", "lamp", "--section", "Lamp", "--json")
    assert refused.returncode == 2
    assert json.loads(refused.stdout)["error"]["code"] == "not_found"
    assert "octavo: no section 'Lamp' here" in refused.stderr
    installed = Path(sys.executable).with_name("octavo")
    version = subprocess.run([installed, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("octavo, version ")
    helped = subprocess.run([installed, "add", "-h"], capture_output=True, text=True, check=True)
    assert "--dry-run" in helped.stdout


def test_a_shell_completes_commands_with_the_script_that_it_is_given() -> None:
    script = subprocess.run(
        [sys.executable, "-m", "octavo.cli", "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    assert "_OCTAVO_COMPLETE=bash_complete" in script
    asked = {"_OCTAVO_COMPLETE": "bash_complete", "COMP_WORDS": "octavo cont", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "octavo.cli"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "plain,contents\n"
