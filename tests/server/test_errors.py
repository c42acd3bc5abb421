"""Problem documents: what a stranger is told of a failure, and what he is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from octavo.errors import (
    BadBook,
    InvalidValue,
    OctavoError,
    RecordsError,
    StorageLow,
    StoreError,
    WeightsError,
)
from octavo.server.errors import describe_error, make_error_response
from tests.support.answerers import add_tides
from tests.support.book_service import serve_books

FOLDER = "/srv/private/octavo-library"


@pytest.mark.parametrize(
    "error",
    [
        StorageLow(f"only 3 MB are free on the disk of {FOLDER}; this write needs 4 MB"),
        StoreError(f"the store at {FOLDER}/store/ai_book_embedding failed or is damaged: x"),
        RecordsError(f"the records at {FOLDER}/records.sqlite are damaged: malformed"),
    ],
)
def test_the_machines_folders_are_not_named(error: OctavoError) -> None:
    for said in (json.loads(bytes(make_error_response(error).body)), describe_error(error)):
        assert FOLDER not in said["detail"]
        assert "the data folder" in said["detail"]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("cannot open '/home/John Doe/octavo/records.sqlite'", "cannot open 'the data folder'"),
        (
            "cannot open `/srv/books` (see /srv/log) [/srv/x]",
            "cannot open `the data folder` (see the data folder) [the data folder]",
        ),
        (
            "the records at /home/John Doe/octavo/records.sqlite are damaged",
            "the records at the data folder are damaged",
        ),
        ("'/home/John Doe/octavo/a b.sqlite' is gone", "'the data folder' is gone"),
        (
            "a key is made by `POST /v1/keys`, or at '/v1/keys' or /v1",
            "a key is made by `POST /v1/keys`, or at '/v1/keys' or /v1",
        ),
        ("/v1.old is full", "the data folder is full"),
        (
            "the model's folder /srv/a is not the reader's",
            "the model's folder the data folder is not the reader's",
        ),
    ],
)
def test_paths_are_hidden_whole_and_routes_are_not(message: str, shown: str) -> None:
    folder = Path("/home/John Doe/octavo")
    assert describe_error(RecordsError(message), folder=folder)["detail"] == shown


def test_a_folder_with_spaces_is_not_named_by_a_service(tmp_path: Path) -> None:
    (tmp_path / "John Doe").mkdir()
    with serve_books(add_tides(tmp_path / "John Doe"), free_space_mb=1 << 30) as service:
        refused = service.send(b"# A book")
        assert refused.status == 507
        assert b"Doe" not in refused.body


def test_hints_do_not_name_the_machines_folders() -> None:
    error = WeightsError("the model's file is damaged", hint=f"Delete {FOLDER}/models/a.onnx: start again.")
    for said in (json.loads(bytes(make_error_response(error).body)), describe_error(error)):
        assert said["hint"] == "Delete [path]: start again."


def test_addresses_and_the_callers_own_words_stay() -> None:
    server = StoreError("the Qdrant server at http://qdrant:6333/collections/x did not search")
    assert describe_error(server)["detail"] == server.message
    mistake = InvalidValue("source", "must exist", "/books/a.md")
    assert describe_error(mistake)["detail"] == mistake.message
    assert describe_error(BadBook("no_text", "a/b.md has no text"))["detail"] == "a/b.md has no text"


def test_a_full_disk_is_told_without_the_folder(tmp_path: Path) -> None:
    with serve_books(add_tides(tmp_path), free_space_mb=1 << 30) as service:
        refused = service.send(b"# A book")
        assert refused.status == 507
        assert str(tmp_path).encode() not in refused.body
