"""The page: the app at `/` and the files it is made of, under `/static/`.

The files are read once, when the server starts, and only what was found then is ever served: a path cannot
lead anywhere else. A browser may keep a file but asks each time whether it has changed. Every answer carries
a policy under which the page can load nothing from elsewhere and run nothing but its own files. Its modules
are sent as one script, and its style sheets as one: a browser asks for few files before it shows a book.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from octavo.errors import NotFound
from octavo.server.bundle import bundle_module
from octavo.server.static import StaticFile

WEB = Path(__file__).parents[2] / "web"
PARTS = ("app", "shared", "strings")
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
_SHEETS = re.compile(r'(?: *<link rel="stylesheet" href="static/[^"]+">\n)+')
_SHEET = re.compile(r'href="static/([^"]+)"')
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def load_files(web: Path = WEB) -> dict[str, StaticFile]:
    """Load every file that may be served, by its path under `/static/`."""
    paths = (path for part in PARTS for path in sorted((web / part).rglob("*")) if path.suffix in TYPES)
    bodies = {path.relative_to(web).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    page = bodies["app/index.html"]
    sheets = _SHEETS.search(page)
    names = _SHEET.findall(sheets.group()) if sheets else []
    bodies["app/page.css"] = "\n".join(bodies.pop(name) for name in names)
    bodies["app/page.js"] = bundle_module(web, "app/main.js")
    page = _SHEETS.sub('    <link rel="stylesheet" href="static/app/page.css">\n', page)
    bodies["app/index.html"] = page.replace('src="static/app/main.js"', 'src="static/app/page.js"')
    return {
        name: StaticFile(body.encode(), TYPES[posixpath.splitext(name)[1]], HEADERS)
        for name, body in bodies.items()
    }


def router(web: Path = WEB) -> APIRouter:
    made = APIRouter(include_in_schema=False)
    files = load_files(web)

    @made.get("/")
    async def app(request: Request) -> Response:
        return files["app/index.html"].respond(request)

    @made.get("/static/{path:path}")
    async def static(path: str, request: Request) -> Response:
        if path not in files:
            raise NotFound("file", path)
        return files[path].respond(request)

    return made
