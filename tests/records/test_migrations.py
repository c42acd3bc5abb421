"""Migrations make exactly the tables of `tables`, once, whoever opens first, with a backup of what was."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from octavo.errors import RecordsError
from octavo.records.catalogue import Records
from octavo.records.conversations import Conversations
from octavo.records.lost_answers import list_lost_answers
from octavo.records.migrations import SCRIPTS, back_up, read_revision, upgrade
from octavo.records.tables import HEAD, metadata
from tests.support.builders import make_answer, make_question
from tests.support.patience import PATIENCE

NEXT = """
from alembic import op

revision = "8000"
down_revision = "HEAD"


def upgrade() -> None:
    op.execute("CREATE TABLE loans (id INTEGER PRIMARY KEY)")
"""


async def _make(file: Path) -> None:
    records = await Records.open(file)
    await records.set_meta("embedder", "minilm")
    await records.close()


def _tables(file: Path) -> set[str]:
    with sqlite3.connect(file) as raw:
        found = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    raw.close()
    return found


async def test_a_new_file_gets_exactly_the_tables_of_the_schema(tmp_path: Path) -> None:
    await _make(tmp_path / "r.sqlite")
    engine = create_engine(f"sqlite:///{tmp_path / 'r.sqlite'}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert read_revision(connection) == HEAD
    engine.dispose()


def test_the_schema_names_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


async def test_opening_again_changes_nothing_and_makes_no_backup(tmp_path: Path) -> None:
    await _make(tmp_path / "r.sqlite")
    await _make(tmp_path / "r.sqlite")
    assert [file.name for file in tmp_path.iterdir()] == ["r.sqlite"]


async def test_an_older_file_is_copied_before_it_is_upgraded(tmp_path: Path) -> None:
    scripts = tmp_path / "migrations"
    shutil.copytree(SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "versions" / "v8000_loans.py").write_text(NEXT.replace("HEAD", HEAD))
    file = tmp_path / "r.sqlite"
    await _make(file)
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        upgrade(connection, file=file, scripts=scripts)
        assert read_revision(connection) == "8000"
    engine.dispose()
    assert "loans" in _tables(file)
    backup = tmp_path / f"r.sqlite.backup-{HEAD}"
    assert "loans" not in _tables(backup)
    old = await Records.open(backup)
    assert await old.get_meta("embedder") == "minilm"
    await old.close()


async def test_what_an_earlier_version_deleted_is_not_called_lost(tmp_path: Path) -> None:
    file = tmp_path / "r.sqlite"
    records = await Records.open(file)
    conversations = Conversations(records.database)
    await conversations.start_session("talk")
    asked = replace(make_question(id="q1"), session_id="talk")
    await conversations.receive(asked, interpreted="?")
    begun = await conversations.begin(asked)
    await conversations.publish_draft(begun, make_answer(question_id="q1"), receipt={})
    await records.close()
    with sqlite3.connect(file) as raw:
        raw.execute("DELETE FROM answers")
        raw.execute("UPDATE sessions SET query_count = 7")
        raw.execute("ALTER TABLE editions DROP COLUMN looks_digest")
        raw.execute("UPDATE alembic_version SET version_num = '0017'")
    raw.close()
    records = await Records.open(file)
    assert await list_lost_answers(records.database) == []
    assert (await Conversations(records.database).find_session("talk")).query_count == 1
    await records.close()


async def test_a_file_from_a_newer_octavo_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "r.sqlite"
    await _make(file)
    with sqlite3.connect(file) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.close()
    before = file.read_bytes()
    with pytest.raises(
        RecordsError, match=r"r\.sqlite were written by a newer Octavo \(schema 9999\)"
    ) as refused:
        await Records.open(file)
    assert "Upgrade Octavo" in refused.value.hint
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.glob("*backup*")] == []


async def test_an_upgrade_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "r.sqlite"
    with sqlite3.connect(file) as raw:
        raw.execute("CREATE TABLE chunks (mine TEXT)")
    raw.close()
    with pytest.raises(RecordsError, match=r"r\.sqlite failed: table chunks already exists"):
        await Records.open(file)
    assert _tables(file) == {"chunks"}


async def test_a_backup_has_what_was_committed_and_still_in_the_log(tmp_path: Path) -> None:
    file = tmp_path / "r.sqlite"
    records = await Records.open(file)
    await records.set_meta("late", "note")
    copy = back_up(file, "0001")
    await records.close()
    again = await Records.open(copy)
    assert await again.get_meta("late") == "note"
    await again.close()


def test_processes_that_open_at_once_all_succeed(tmp_path: Path) -> None:
    code = """
import asyncio, sys
from pathlib import Path
from octavo.records import database as records_database
from octavo.records.catalogue import Records

records_database.PRAGMAS = ("busy_timeout = 120000", *records_database.PRAGMAS[1:])

async def main():
    records = await Records.open(Path(sys.argv[1]))
    await records.set_meta(sys.argv[2], "here")
    await records.close()

asyncio.run(main())
"""
    file = str(tmp_path / "r.sqlite")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, file, f"process {n}"], stderr=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    for process in started:
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors

    async def notes() -> list[str | None]:
        records = await Records.open(file)
        found = [await records.get_meta(f"process {n}") for n in range(4)]
        await records.close()
        return found

    assert asyncio.run(notes()) == ["here"] * 4
