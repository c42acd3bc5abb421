"""Uploads: streamed, counted, named harmlessly, and gone without a trace when they come to nothing."""

from __future__ import annotations

import errno
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from octavo.errors import StorageLow
from octavo.limits import MB, Limits, ServiceLimits
from octavo.server.space import translate_full_disk
from octavo.server.uploads import FIELD_MOST, NAME_MOST, PARTS_MOST, UploadForm, make_safe_name, read_boundary
from tests.support.answerers import add_tides
from tests.support.book_service import BOUNDARY, MULTIPART, Service, make_form, serve_books
from tests.support.embedders import GatedEmbedder
from tests.support.patience import PATIENCE, wait_until

TIDES = b"# The Tides\n\nSeven boats were lost in the storm, with all their nets."
HEAD = "POST /v1/books HTTP/1.1\nhost: localhost\ncontent-type: {type}\n{more}"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    limits = Limits(max_file_mb=1)
    with serve_books(tmp_path_factory.mktemp("uploads") / "library", limits=limits) as made:
        yield made


def head(type: str = MULTIPART, **headers: object) -> str:
    more = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in headers.items())
    return HEAD.format(type=type, more=more)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def nothing_left(service: Service) -> bool:
    wait_until(lambda: not service.left())
    return True


def test_an_upload_is_queued_and_read(service: Service) -> None:
    sent = service.send(TIDES, title="Tides", base_url="https://example.org/tides/")
    assert sent.status == 202
    job = sent.json["job"]
    assert set(job) == {"job_id", "state", "name", "progress", "book_id", "error", "created_at"}
    assert (job["state"], job["name"], sent.headers["location"]) == (
        "queued",
        "tides.md",
        f"/v1/jobs/{job['job_id']}",
    )
    done = service.ended(job["job_id"])
    assert (done["state"], done["progress"]) == ("done", {"step": "added", "done": 1, "total": 1})
    book = service.get(f"/v1/books/{done['book_id']}").json
    assert (book["title"], book["base_url"], book["source_file"]) == (
        "Tides",
        "https://example.org/tides/",
        "tides.md",
    )
    assert nothing_left(service)


def test_the_same_file_again_is_the_same_book(service: Service) -> None:
    first, second = (service.taken_in(TIDES, title="Tides") for _ in range(2))
    assert first["book_id"] == second["book_id"]
    assert first["job_id"] != second["job_id"]


def test_a_file_that_is_no_book_fails_with_a_reason(service: Service) -> None:
    job = service.taken_in(b"%PDF-1.4 cut off", name="cut.pdf")
    assert (job["state"], job["error"]["code"], job["book_id"]) == ("failed", "damaged_pdf", None)
    assert job["error"]["hint"]
    assert nothing_left(service)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"base_url": "javascript:alert(1)"}, "base_url"),
        ({"book_id": "../../etc"}, "book_id"),
        ({"book_id": "Not A Slug"}, "book_id"),
    ],
)
def test_wishes_that_break_a_rule_are_told_at_once(
    service: Service, fields: dict[str, str], said: str
) -> None:
    refused = service.send(TIDES, **fields)
    assert refused.status == 422
    assert said in refused.json["detail"]
    assert nothing_left(service)


def test_an_empty_file_is_refused_at_once(service: Service) -> None:
    refused = service.send(b"")
    assert (refused.status, refused.code) == (422, "empty_file")
    assert nothing_left(service)


def test_blank_fields_count_as_not_given(service: Service) -> None:
    assert (
        service.taken_in(b"# Blank\n\nA form sends what was not filled in.", title="", book_id=" ")["book_id"]
        == "blank"
    )


def test_a_file_over_the_limit_is_refused_and_the_connection_closed(service: Service) -> None:
    answer = service.raw(head(transfer_encoding="chunked"), *chunked(make_form(b"x" * (2 * MB))))
    assert status(answer) == 413
    assert b"connection: close" in answer.lower()
    assert b'"too_large"' in answer
    assert nothing_left(service)


def chunked(body: bytes, *, size: int = 65_536) -> Iterator[bytes]:
    for start in range(0, len(body), size):
        piece = body[start : start + size]
        yield f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    yield b"0\r\n\r\n"


def test_a_file_of_exactly_the_limit_is_taken(service: Service) -> None:
    text = b"# Long\n\n" + b"The tide rises and falls. " * (MB // 26 + 1)
    sent = service.send(text[:MB], name="long.md")
    assert sent.status == 202
    service.call("DELETE", f"/v1/jobs/{sent.json['job']['job_id']}")
    assert service.send(text[: MB + 1], name="long.md").status == 413


def test_a_length_that_is_too_large_is_refused_before_a_byte_is_read(service: Service) -> None:
    answer = service.raw(head(content_length=500 * MB))
    assert status(answer) == 413
    assert nothing_left(service)


def test_a_client_that_leaves_in_the_middle_leaves_no_file(service: Service) -> None:
    body = make_form(TIDES * 100)
    with socket.create_connection(("127.0.0.1", service.port)) as line:
        line.sendall(
            head(content_length=len(body)).replace("\n", "\r\n").encode() + b"\r\n" + body[: len(body) // 2]
        )
        wait_until(lambda: len(service.left()) == 1)
    assert nothing_left(service)
    assert service.get("/healthz").status == 200


BODIES = {
    "no body": (MULTIPART, b"", 400),
    "no boundary": ("multipart/form-data", make_form(TIDES), 400),
    "an empty boundary": ('multipart/form-data; boundary=""', make_form(TIDES), 400),
    "another boundary": ("multipart/form-data; boundary=other", make_form(TIDES), 400),
    "ten thousand parts": (
        MULTIPART,
        f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="title"\r\n\r\n\r\n'.encode() * 10_000,
        400,
    ),
    "ten thousand fields": (MULTIPART, make_form(TIDES, **{f"f{n}": "x" for n in range(10_000)}), 422),
    "endless headers": (MULTIPART, f"--{BOUNDARY}\r\n".encode() + b"x: y\r\n" * 50_000, 400),
    "one endless header": (MULTIPART, f"--{BOUNDARY}\r\nx: ".encode() + b"y" * 300_000, 400),
    "no end": (MULTIPART, make_form(TIDES)[:-8], 400),
    "no file": (MULTIPART, make_form(TIDES).replace(b'name="file"', b'name="title"'), 422),
    "a file without a name": (MULTIPART, make_form(TIDES).replace(b'; filename="tides.md"', b""), 422),
    "a part without a name": (MULTIPART, make_form(TIDES).replace(b'name="file"; ', b""), 422),
    "an unknown field": (MULTIPART, make_form(TIDES, path="/etc"), 422),
    "an endless field": (MULTIPART, make_form(TIDES, title="x" * (FIELD_MOST + 1)), 413),
    "plain text": ("text/plain", TIDES, 415),
    "no type": ("", TIDES, 415),
}


@pytest.mark.parametrize("case", BODIES)
def test_a_body_that_is_not_as_it_should_be_is_refused_and_leaves_nothing(
    service: Service, case: str
) -> None:
    type, body, expected = BODIES[case]
    answer = service.raw(head(type, content_length=len(body), connection="close"), body)
    assert status(answer) == expected, answer
    assert b"application/problem+json" in answer
    assert nothing_left(service)


def test_two_files_in_one_request_are_refused(service: Service) -> None:
    twice = make_form(TIDES).replace(f"--{BOUNDARY}--\r\n".encode(), b"") + make_form(TIDES)
    answer = service.raw(head(content_length=len(twice), connection="close"), twice)
    assert status(answer) == 422
    assert b"is there twice" in answer


def test_the_same_key_gives_the_same_job_and_another_book_under_it_is_a_conflict(service: Service) -> None:
    first = service.send(TIDES, key="upload-1")
    again = service.send(TIDES, key="upload-1")
    assert (again.status, again.json) == (202, first.json)
    assert service.send(TIDES, key="upload-1", title="Other").status == 409
    service.ended(first.json["job"]["job_id"])
    assert nothing_left(service)


def test_a_full_queue_is_told_before_the_file_is_read(tmp_path: Path) -> None:
    embedder = GatedEmbedder(free=0)
    with serve_books(tmp_path / "library", embedder=embedder, service=ServiceLimits(queue=1)) as service:
        first, second = (service.send(TIDES + b" %d" % n, name=f"{n}.md") for n in range(2))
        if second.status == 429:  # the first one was still waiting
            wait_until(embedder.waiting.is_set)
            second = service.send(TIDES + b" 2", name="2.md")
        assert (first.status, second.status) == (202, 202)
        wait_until(embedder.waiting.is_set)  # one is being read and stays so; the other waits
        refused = service.raw(head(content_length=9_000_000))  # no body is sent, and none is waited for
        assert status(refused) == 429
        assert b"retry-after: 15" in refused.lower()
        assert service.send(TIDES, name="3.md").status == 429
        embedder.gate.set()
        for sent in (first, second):
            assert service.ended(sent.json["job"]["job_id"])["state"] == "done"


def test_a_disk_that_is_nearly_full_is_told_before_the_file_is_read(tmp_path: Path) -> None:
    with serve_books(add_tides(tmp_path), free_space_mb=1 << 30) as service:
        refused = service.send(TIDES)
        assert (refused.status, refused.code) == (507, "storage_low")
        assert service.left() == []
        assert service.get("/healthz").status == 200


def begin_upload(service: Service, held: ExitStack, *, length: int) -> socket.socket:
    """Send the head of an upload and the beginning of its body, and no more."""
    line = held.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE))
    line.sendall(head(content_length=length).replace("\n", "\r\n").encode() + b"\r\n" + make_form(TIDES)[:60])
    return line


def test_uploads_that_drip_hold_nobodys_place_and_a_caller_has_only_a_few(tmp_path: Path) -> None:
    limits = ServiceLimits(working=2, uploads=2)
    with serve_books(add_tides(tmp_path), service=limits) as service, ExitStack() as held:
        for _ in range(2):
            begin_upload(service, held, length=9_000)
        wait_until(lambda: service.app.state.load.uploading == 2)
        assert service.post("/v1/search", {"query": "boats"}).status == 200
        # The route refuses the third before it has read it; the others are still arriving.
        refused = service.raw(head(content_length=9_000, connection="close"))
        assert status(refused) in (429, 503)
        assert service.app.state.load.working == 0


def test_one_upload_more_than_a_caller_may_send_at_once_is_refused(tmp_path: Path) -> None:
    with serve_books(tmp_path / "library", service=ServiceLimits(uploads=1)) as service, ExitStack() as held:
        begin_upload(service, held, length=9_000)
        wait_until(lambda: len(service.left()) == 1)
        refused = service.send(TIDES)
        assert (refused.status, refused.json["detail"]) == (429, "1 uploads are arriving already")
    assert service.left() == []


def test_an_upload_that_is_too_slow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("octavo.server.uploads.GRACE_SECONDS", 0.2)
    with serve_books(tmp_path / "library") as service, ExitStack() as held:
        line = begin_upload(service, held, length=9_000)
        assert status(line.recv(65_536)) == 408
        assert nothing_left(service)


def test_uploads_at_once_cannot_all_have_the_same_free_space(tmp_path: Path) -> None:
    free_mb = shutil.disk_usage(tmp_path).free // MB
    with (
        serve_books(
            tmp_path / "library", limits=Limits(max_file_mb=1_000), free_space_mb=free_mb - 2_000
        ) as service,
        ExitStack() as held,
    ):
        begin_upload(service, held, length=400 * MB)
        wait_until(lambda: len(service.left()) == 1)
        refused = service.raw(head(content_length=400 * MB, connection="close"))
        assert status(refused) == 507
        assert status(service.raw(head(content_length=len(BODY), connection="close"), BODY)) == 202


def test_a_write_that_finds_no_space_is_told_as_such() -> None:
    with pytest.raises(StorageLow, match="the disk is full"), translate_full_disk():
        raise OSError(errno.ENOSPC, "No space left on device")


BODY = make_form(TIDES)
NAMES = {
    "../../x.md": "x.md",
    "C:\\books\\x.md": "x.md",
    "CON.md": "book CON.md",
    "nul": "book nul",
    "": "book",
    "...": "book",
    "a\r\nb.md": "a b.md",
    ";rm -rf *.md": "rm -rf.md",
    "Ärger über Öl 🙂.epub": "Ärger über Öl.epub",
    "тихий океан.txt": "тихий океан.txt",
    ".hidden": "hidden",
}


@pytest.mark.parametrize("given_name", NAMES)
def test_a_name_is_only_a_name(given_name: str) -> None:
    assert make_safe_name(given_name) == NAMES[given_name]


@given(st.text(max_size=400))
@example("x" * 300 + ".md")
@example("я" * 300 + ".epub")
def test_a_safe_name_is_one_part_of_a_path_and_fits_everywhere(name: str) -> None:
    safe = make_safe_name(name)
    assert safe
    assert safe not in (".", "..")
    assert not any(letter in safe for letter in '/\\\0\r\n\t:*?"<>|;')
    assert len(safe.encode()) <= NAME_MOST
    assert make_safe_name(safe) == safe


def test_a_file_name_with_a_path_stays_in_its_folder(service: Service) -> None:
    job = service.send(b"# Far\n\nIt did not go far from home.", name="../../../../far.md").json["job"]
    assert job["name"] == "far.md"
    assert service.ended(job["job_id"])["state"] == "done"
    assert not (service.data.parent / "far.md").exists()


@given(st.binary(max_size=300), st.integers(1, 50))
def test_a_file_comes_out_of_its_form_as_it_went_in_however_it_is_cut(data: bytes, size: int) -> None:
    if f"--{BOUNDARY}".encode() in data:
        return
    body = make_form(data, title="Tides", book_id="tides")
    made, out = UploadForm(read_boundary(MULTIPART), most_bytes=MB), b""
    for start in range(0, len(body), size):
        made.feed(body[start : start + size])
        out += made.take()
    made.end()
    assert (out, made.size, made.name) == (data, len(data), "tides.md")
    assert made.fields == {"title": "Tides", "book_id": "tides"}


def test_a_form_takes_no_more_than_it_may() -> None:
    made = UploadForm(read_boundary(MULTIPART), most_bytes=10)
    with pytest.raises(HTTPException) as refused:
        made.feed(make_form(b"x" * 11))
    assert refused.value.status_code == 413
    assert made.waiting <= 10
    assert PARTS_MOST >= 4
