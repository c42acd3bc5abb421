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
