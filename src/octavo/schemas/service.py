"""The JSON shapes of the service and the command line themselves: health, errors, keys, maintenance."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from octavo.errors import OctavoError
from octavo.schemas.base import Schema, Time, omit_empty
from octavo.schemas.books import FailureJson

Permission = Literal["ask", "ingest", "gaps", "admin"]


class ProblemJson(Schema):
    """RFC 9457: what went wrong. `code` is for programs and never changes; the texts are for people."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    code: str = Field(examples=["not_found"])
    detail: str = Field(examples=["no book 'moby' here; the nearest are: moby-dick"])
    hint: str = omit_empty("")
    request_id: str = omit_empty("")


class ErrorJson(Schema):
    """What a command prints when it fails."""

    error: FailureJson

    @classmethod
    def from_error(cls, error: OctavoError) -> ErrorJson:
        return cls(error=FailureJson.from_value(error))


class HealthJson(Schema):
    status: Literal["ok"]


class ReadyJson(Schema):
    status: Literal["ready"]
    books: int


class ConfigJson(Schema):
    """What the service is, and what the caller may do."""

    name: str
    version: str
    model: str | None
    keys_required: bool
    upload_mb: int
    may: list[Permission]


class KeyJson(Schema):
    """A key without its secret."""

    id: str
    name: str
    scopes: list[str]
    books: list[str] | None
    origins: list[str]
    public: bool
    per_minute: int | None
    created_at: Time
    expires_at: Time | None
    revoked_at: Time | None
    used_at: Time | None
    state: str


class NewKeyJson(KeyJson):
    """A key that was just made, with its secret."""

    key: str


class KeyListJson(Schema):
    keys: list[KeyJson]


class FindingJson(Schema):
    """One thing that `octavo doctor` checked."""

    what: str
    said: str
    sound: bool
    hint: str


class ExaminationJson(Schema):
    """The result of `octavo doctor`."""

    sound: bool
    findings: list[FindingJson]


class DeletedJson(Schema):
    """How many questions were deleted, with their answers."""

    deleted: int


class SetupJson(Schema):
    """The language models that `octavo setup` found, the one that is used, and the file that says so."""

    found: list[str]
    model: str
    settings: str


class SnapshotJson(Schema):
    """A snapshot in a backup folder: its files with their sizes, and a digest of all of it."""

    name: str
    digest: str
    files: dict[str, int]
    written: int


class WidgetCheckJson(Schema):
    """One thing that `octavo widget check` looked at."""

    ok: bool
    what: str
    hint: str = omit_empty("")


class WidgetChecksJson(Schema):
    """The result of `octavo widget check`."""

    url: str
    checks: list[WidgetCheckJson]


class BackupJson(Schema):
    """The result of `octavo backup`. `damaged` says by snapshot what is wrong with it."""

    snapshots: list[SnapshotJson]
    deleted: list[str]
    damaged: dict[str, str]


class RestoredJson(Schema):
    """The result of `octavo restore`."""

    snapshot: SnapshotJson
    sound: bool
    findings: list[FindingJson]


class MigrationJson(Schema):
    """The result of `octavo migrate`: what was copied where, and the settings to use from now on."""

    chunks: int
    written: int
    tables: dict[str, int]
    store: str
    records: str
    settings: dict[str, str]
    source_differs: str
