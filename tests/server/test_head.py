"""HEAD gives the headers of GET and no body, and ends a stream at once."""

from __future__ import annotations

from pathlib import Path

from tests.support import book_service
from tests.support.answerers import fill_library
from tests.support.small_books import write_markdown


def test_head_has_the_headers_of_get_and_no_body(tmp_path: Path) -> None:
    library = fill_library(tmp_path / "library", write_markdown(tmp_path / "tides.md"))
    with book_service.serve_books(library) as service:
        for path in ("/", "/static/app/main.js", "/widget.js", "/healthz", "/v1/books", "/openapi.json"):
            got, head = service.get(path), service.call("HEAD", path)
            assert (head.status, head.body) == (200, b""), path
            assert head.headers["content-length"] == got.headers["content-length"] == str(len(got.body))
            assert head.headers["content-type"] == got.headers["content-type"]
        assert service.call("HEAD", "/nowhere").status == 404
        assert service.call("HEAD", "/v1/ask").status == 405
        job = service.send(b"# Fen\n\nThe fen was drained.\n", name="fen.md").json["job"]["job_id"]
        stream = service.call("HEAD", f"/v1/jobs/{job}/events")
        assert (stream.status, stream.body) == (200, b"")
