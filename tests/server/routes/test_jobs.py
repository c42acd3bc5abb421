"""Jobs over HTTP: watched by stream, cancelled, listed in pages, and nobody else's business."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from octavo.limits import ServiceLimits
from octavo.records.database import Database
from octavo.records.keys import Keyring
from tests.ingest.test_worker import Held
from tests.support.book_service import ENDS, MULTIPART, Service, make_form, serve_books
from tests.support.patience import PATIENCE, wait_until

TIDES = b"# The Tides\n\nSeven boats were lost in the storm, with all their nets."


def long_book(name: str, pages: int = 400) -> bytes:
    days = (
        f"## Day {n}\n\nOn day {n} the {name} logged wind {n * 3} and wave {n * 7}.\n" for n in range(pages)
    )
    return f"# {name}\n\n{''.join(days)}".encode()


@pytest.fixture
def held() -> Iterator[Held]:
    made = Held()
    yield made
    made.gate.set()


@pytest.fixture
def service(tmp_path: Path, held: Held) -> Iterator[Service]:
    with serve_books(
        tmp_path / "library", embedder=held, service=ServiceLimits(heartbeat_seconds=0.2)
    ) as made:
        yield made
        held.gate.set()


def sent(service: Service, name: str, pages: int = 400) -> str:
    return str(service.send(long_book(name, pages), name=f"{name}.md").json["job"]["job_id"])


def running(service: Service, job_id: str) -> None:
    wait_until(lambda: service.job(job_id)["state"] == "running")


def test_a_stream_tells_the_whole_way_of_a_job(service: Service) -> None:
    job_id = sent(service, "Albatross")
    events = service.events(f"/v1/jobs/{job_id}/events")
    kinds = [kind for kind, _ in events]
    assert kinds[-1] == "done"
    assert set(kinds[:-1]) == {"progress"}
    counts = [job["progress"]["done"] for _, job in events if job["progress"]["step"] == "embedding"]
    assert counts == sorted(counts)
    assert events[-1][1] == service.get(f"/v1/jobs/{job_id}").json
    assert events[-1][1]["book_id"] == "albatross"


def test_a_stream_of_a_job_that_has_ended_has_one_event(service: Service) -> None:
    job = service.taken_in(TIDES)
    assert service.events(f"/v1/jobs/{job['job_id']}/events") == [("done", job)]


def test_a_stream_gives_signs_of_life_while_nothing_happens(service: Service, held: Held) -> None:
    held.hold()
    job_id = sent(service, "Pelican", 10)
    with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)) as line:
        line.request("GET", f"/v1/jobs/{job_id}/events")
        response = line.getresponse()
        while (said := response.readline()) != b": ping\n":
            assert said, "the stream ended without a sign of life"
        held.gate.set()
        assert b"event: done\n" in response.read()


def test_a_failed_job_ends_its_stream_with_the_reason(service: Service) -> None:
    job_id = service.send(b"PK\3\4 no archive", name="x.epub").json["job"]["job_id"]
    kind, job = service.events(f"/v1/jobs/{job_id}/events")[-1]
    assert kind == "failed"
    assert job["error"]["code"] == "damaged_archive"


def test_a_running_job_that_is_cancelled_leaves_nothing_and_the_next_is_read(
    service: Service, held: Held
) -> None:
    held.hold()
    first, second = sent(service, "Gannet"), sent(service, "Heron", 3)
    wait_until(held.waiting.is_set)
    cancelled = service.call("DELETE", f"/v1/jobs/{first}")
    wait_until(lambda: first not in service.left())  # the worker has heard of it, in the middle of a batch
    held.gate.set()
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
    assert service.ended(second)["state"] == "done"
    assert [book["id"] for book in service.get("/v1/books").json["books"]] == ["heron"]
    assert service.get(f"/v1/jobs/{first}").json["state"] == "cancelled"


def test_a_waiting_job_that_is_cancelled_leaves_no_file(service: Service, held: Held) -> None:
    held.hold()
    first, second = sent(service, "Gannet"), sent(service, "Heron", 3)
    running(service, first)
    assert service.call("DELETE", f"/v1/jobs/{second}").json["state"] == "cancelled"
    assert second not in service.left()
    assert service.events(f"/v1/jobs/{second}/events")[-1][0] == "cancelled"


def test_cancelling_what_has_ended_changes_nothing(service: Service) -> None:
    job = service.taken_in(TIDES)
    assert service.call("DELETE", f"/v1/jobs/{job['job_id']}").json == job


def test_jobs_are_listed_in_pages_the_newest_first(service: Service) -> None:
    ids = [service.taken_in(TIDES)["job_id"] for _ in range(3)]
    first = service.get("/v1/jobs", limit=2).json
    rest = service.get("/v1/jobs", limit=2, after=first["next"]).json
    assert [job["job_id"] for job in first["jobs"] + rest["jobs"]] == ids[::-1]
    assert rest["next"] is None
    assert all(job["state"] in ENDS for job in first["jobs"])


def test_a_page_that_never_was_is_refused_and_an_unknown_job_not_found(service: Service) -> None:
    for after in ("x", "-1", "1.5", "9" * 30, "٣"):
        assert service.get("/v1/jobs", after=after).status == 422
    for method, path in (("GET", ""), ("GET", "/events"), ("DELETE", "")):
        missing = service.call(method, f"/v1/jobs/nothing{path}")
        assert (missing.status, missing.code) == (404, "not_found")


def test_a_restart_goes_on_with_what_was_being_read(tmp_path: Path, held: Held) -> None:
    held.hold(free=2)
    with serve_books(tmp_path / "library", embedder=held) as service:
        job_id = sent(service, "Petrel")
        wait_until(held.waiting.is_set)
    held.gate.set()
    with serve_books(tmp_path / "library", embedder=held) as again:
        assert again.ended(job_id)["book_id"] == "petrel"


def test_jobs_belong_to_the_key_that_sent_them(tmp_path: Path) -> None:
    async def keys() -> list[str]:
        database = await Database.open(tmp_path / "library" / "records.sqlite")
        ring = Keyring(database)
        wanted = [("one", ("ingest",)), ("two", ("ingest",)), ("boss", ("admin",)), ("reader", ("ask",))]
        made = [await ring.create(name, scopes=scopes) for name, scopes in wanted]
        await database.close()
        return [token for _, token in made]

    one, two, boss, reader = asyncio.run(keys())
    with serve_books(tmp_path / "library", keys=True) as service:

        def call(key: str, method: str, path: str) -> int:
            return service.call(method, path, headers={"authorization": f"Bearer {key}"}).status

        head = {"authorization": f"Bearer {one}", "content-type": MULTIPART}
        accepted = service.call("POST", "/v1/books", make_form(TIDES), headers=head)
        path = accepted.headers["location"]
        assert [call(key, "GET", path) for key in (one, two, boss, reader)] == [200, 404, 200, 403]
        assert call(two, "DELETE", path) == 404
        assert service.call("GET", path).status == 401
        assert (
            service.call("POST", "/v1/books", make_form(TIDES), headers={"content-type": MULTIPART}).status
            == 401
        )
