"""The page: the app at `/` and the files it is made of, under `/static/`.

The files are read once, when the server starts, and only what was found then is ever served: a path cannot
lead anywhere else. A browser may keep a file but asks each time whether it has changed. Every answer carries
a policy under which the page can load nothing from elsewhere and run nothing but its own files. It lists
all modules that the script imports, so that a browser fetches them at once and not one after the other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from octavo.errors import NotFound
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
_IMPORT = re.compile(r'^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)";', re.MULTILINE)
_SCRIPT = '    <script type="module"'
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
    links = (
        f'    <link rel="modulepreload" href="static/{name}">\n'
        for name in list_modules("app/main.js", bodies)
    )
    bodies["app/index.html"] = bodies["app/index.html"].replace(_SCRIPT, "".join(links) + _SCRIPT, 1)
    return {
        name: StaticFile(body.encode(), TYPES[posixpath.splitext(name)[1]], HEADERS)
        for name, body in bodies.items()
    }


def list_modules(first: str, bodies: Mapping[str, str]) -> list[str]:
    """List the modules that a script imports, and those that they import, in the order of their first use."""
    found = [first]
    for name in found:
        imported = (posixpath.join(posixpath.dirname(name), path) for path in _IMPORT.findall(bodies[name]))
        found += [path for path in dict.fromkeys(map(posixpath.normpath, imported)) if path not in found]
    return found[1:]


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
