"""The page: the app at `/` and the files it is made of, under `/static/`.

The files are read once, when the server is made, and only what was found then is ever served: a path cannot
lead anywhere else. Each answer says what it is, may be kept by the browser but is asked for again by its tag,
and carries a policy under which the page can load nothing from elsewhere and run nothing but its own files.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from octavo.errors import NotFound

WEB = Path(__file__).parents[2] / "web"
PARTS = ("app", "shared")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """One file of the page, as it goes out."""

    body: bytes
    type: str
    tag: str

    @classmethod
    def of(cls, path: Path) -> Sheet:
        body = path.read_bytes()
        return cls(body, TYPES[path.suffix], f'"{sha256(body).hexdigest()[:20]}"')

    def response(self, request: Request) -> Response:
        headers = {
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
            "ETag": self.tag,
        }
        known = request.headers.get("if-none-match", "")
        if self.tag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(self.body, media_type=self.type, headers=headers)


def sheets(web: Path = WEB) -> dict[str, Sheet]:
    """Every file that may be served, by its path under `/static/`."""
    files = (path for part in PARTS for path in sorted((web / part).rglob("*")) if path.suffix in TYPES)
    return {path.relative_to(web).as_posix(): Sheet.of(path) for path in files}


def router(web: Path = WEB) -> APIRouter:
    made = APIRouter(include_in_schema=False)
    served = sheets(web)

    @made.get("/")
    async def app(request: Request) -> Response:
        return served["app/index.html"].response(request)

    @made.get("/static/{path:path}")
    async def static(path: str, request: Request) -> Response:
        if path not in served:
            raise NotFound("file", path)
        return served[path].response(request)

    return made
