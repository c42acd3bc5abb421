"""The `push` command: send the folder of a book to a running service, and wait until readers can ask it."""

from __future__ import annotations

import json
import tempfile
import time
import zipfile
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit
from uuid import uuid4

import click

from octavo.cli.common import GroupOptions, add_common_options
from octavo.errors import BadBook, InvalidValue, MachineError

SENT = frozenset(
    (
        *(".md", ".mdx", ".markdown", ".html", ".htm", ".xhtml", ".txt", ".text"),
        *(".rst", ".rest", ".adoc", ".asciidoc"),
        *(".json", ".js", ".cjs", ".mjs", ".ts", ".toml", ".yml", ".yaml"),
    )
)
# Settings that are told by their names.
SENT_NAMES = ("conf.py", ".gitbook.yaml")
POLL_SECONDS, CALL_SECONDS = 0.5, 120.0
POLL_TRIES = 10


@click.command(short_help="Send the folder of a book to a running service.")
@click.argument("folder", type=click.Path(exists=True))
@click.option("--url", required=True, help="Address of the service, like https://octavo.example.org.")
@click.option(
    "--key-file", type=click.File(), help="File with a key that may `ingest`; '-' is standard input."
)
@click.option(
    "--key", default="", help="The key itself. Others on this machine may see it: prefer --key-file."
)
@click.option("--title", help="Title to show; the default is the book's own.")
@click.option("--id", "book_id", help="Id of the book there; the default is made from the title.")
@click.option("--base-url", help="Web address of the published book; results link to it.")
@add_common_options
def push(
    context: GroupOptions,  # noqa: ARG001
    folder: str,
    url: str,
    key_file: TextIO | None,
    key: str,
    title: str | None,
    book_id: str | None,
    base_url: str | None,
    data: str | None,  # noqa: ARG001
    as_json: bool,
) -> None:
    """Send FOLDER, or the file of a book, to a running service, and wait until it was added there.

    The texts and settings of a folder (Docusaurus, mdBook, MkDocs, Sphinx, AsciiDoc, GitBook, Markdown, HTML)
    are sent as one archive. Run it after each build of a site: the service embeds only what changed.

    \b
      octavo push . --url https://octavo.example.org --key-file key.txt
    """
    service = urlsplit(url)
    if service.scheme not in ("http", "https") or not service.hostname:
        raise InvalidValue("url", "must be the address of a service, like https://octavo.example.org", url)
    token = key_file.read().strip() if key_file else key
    fields = {"title": title, "book_id": book_id, "base_url": base_url}
    with tempfile.TemporaryDirectory() as room:
        sent = _pack(Path(folder).resolve(), Path(room))
        body, kind = _make_form(sent, {name: value for name, value in fields.items() if value})
    client = _Service(url.rstrip("/"), token)
    job = client.call("POST", "/v1/books", body, {"content-type": kind})["job"]
    while job["state"] in ("queued", "running"):
        time.sleep(POLL_SECONDS)
        job = client.poll(f"/v1/jobs/{job['job_id']}")
    if job["state"] != "done":
        error = job.get("error") or {}
        said = error.get("message") or f"the job ended as {job['state']!r}"
        raise MachineError(f"{url} did not add the book: {said}", hint=error.get("hint") or "")
    if as_json:
        click.echo(json.dumps(job, ensure_ascii=False, indent=2))
        return
    click.echo(f"{job['book_id']}: readers of {url} can ask it.")


def _pack(source: Path, room: Path) -> Path:
    """Return the file to send: the book itself, or an archive of what is read in a folder."""
    if source.is_file():
        return source
    from octavo.limits import Limits
    from octavo.readers.files import find_files

    files = find_files(source, SENT, Limits())
    if not files:
        raise BadBook("no_text", f"{source} has no file that Octavo reads")
    named = (folder / name for folder in sorted({source, *(f.parent for f in files)}) for name in SENT_NAMES)
    files += [file for file in named if file.is_file() and not file.is_symlink()]
    target = room / f"{source.name or 'book'}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(source).as_posix())
    return target


def _make_form(file: Path, fields: dict[str, str]) -> tuple[bytes, str]:
    mark = f"octavo-{uuid4().hex}"
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    name = file.name.replace('"', "'")
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return b"".join((*parts, head, file.read_bytes(), f"\r\n--{mark}--\r\n".encode())), (
        f"multipart/form-data; boundary={mark}"
    )


class _Service:
    """A running service, as this key may use it."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._headers = url, {"authorization": f"Bearer {key}"} if key else {}

    def poll(self, path: str) -> Any:
        """Get something that is there, and try again a few times where that fails."""
        for _ in range(POLL_TRIES - 1):
            try:
                return self.call("GET", path)
            except MachineError:
                time.sleep(POLL_SECONDS)
        return self.call("GET", path)

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Any:
        place = urlsplit(self._url)
        kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
        connection = kind(place.hostname or "", place.port, timeout=CALL_SECONDS)
        try:
            connection.request(method, f"{place.path}{path}", body, {**self._headers, **(headers or {})})
            response = connection.getresponse()
            said = json.loads(response.read())
        except (OSError, HTTPException, ValueError) as failed:
            raise MachineError(
                f"{self._url} does not answer as Octavo does: {failed}", hint="Check --url, and try again."
            ) from None
        finally:
            connection.close()
        if response.status >= 400:
            detail = said.get("detail") or response.reason
            raise MachineError(f"{self._url} refused it: {detail}", hint=said.get("hint") or "")
        return said
