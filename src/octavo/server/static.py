"""Files that never change while the server runs, each prepared once: as it is, and compressed with gzip.

Each form has an ETag of its own, and every answer varies by `Accept-Encoding`, so that a cache never hands a
compressed body to a client that cannot read it. A client that holds either form, and says so, gets 304.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from fastapi.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import Request


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file and the headers it is sent with."""

    body: bytes
    media_type: str
    headers: Mapping[str, str]
    etag: str = field(init=False)
    compressed: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "etag", f'"{sha256(self.body).hexdigest()[:20]}"')
        object.__setattr__(self, "compressed", gzip.compress(self.body, 9, mtime=0))

    @property
    def gzip_etag(self) -> str:
        return f'{self.etag[:-1]}-gzip"'

    def respond(self, request: Request) -> Response:
        headers = {**self.headers, "Vary": "Accept-Encoding"}
        known = _read_etags(request.headers.get("if-none-match", ""))
        for etag in (self.etag, self.gzip_etag):
            if etag in known:
                return Response(status_code=304, headers={**headers, "ETag": etag})
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            headers |= {"ETag": self.gzip_etag, "Content-Encoding": "gzip"}
            return Response(self.compressed, media_type=self.media_type, headers=headers)
        return Response(self.body, media_type=self.media_type, headers={**headers, "ETag": self.etag})


def accepts_gzip(accept_encoding: str) -> bool:
    """Tell whether a client takes gzip: named or by `*`, and not with a quality of zero."""
    qualities: dict[str, float] = {}
    for item in accept_encoding.lower().split(","):
        name, _, parameter = item.partition(";")
        qualities[name.strip()] = _read_quality(parameter)
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


def _read_quality(parameter: str) -> float:
    name, _, value = parameter.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


def _read_etags(if_none_match: str) -> set[str]:
    return {etag.strip().removeprefix("W/") for etag in if_none_match.split(",")}
