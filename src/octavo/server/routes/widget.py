"""`/widget.js`: everything that a book's site adds to its pages, as one classic script.

`/widget.de.js` and the like are the same script with the words of one language besides the English ones.

The script is put together from the modules in `web/widget` and `web/shared` when the server starts. Any page
may load it; its key decides what it may ask.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from octavo.errors import NotFound
from octavo.server.bundle import Bundle
from octavo.server.static import StaticFile

WEB = Path(__file__).parents[2] / "web"
ENTRY = "widget/main.js"
TRANSLATED = "widget/translated.js"
MEDIA_TYPE = "text/javascript"
HEADERS = {
    "Cache-Control": "public, max-age=600, stale-while-revalidate=86400",
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


def router(web: Path = WEB) -> APIRouter:
    made = APIRouter(include_in_schema=False)
    files = {name: StaticFile(text.encode(), MEDIA_TYPE, HEADERS) for name, text in bundle_all(web).items()}

    @made.get("/widget.js")
    async def widget(request: Request) -> Response:
        return files["widget.js"].respond(request)

    @made.get("/widget.{language}.js")
    async def translated(language: str, request: Request) -> Response:
        name = f"widget.{language}.js"
        if name not in files:
            raise NotFound("file", name)
        return files[name].respond(request)

    return made


def bundle_all(web: Path) -> dict[str, str]:
    """Make the script, and one for each language that there are words of, by their names."""
    languages = sorted(file.name.split(".")[1] for file in (web / "strings").glob("widget.*.js"))
    made = {f"widget.{name}.js": bundle(web, ENTRY, language=name) for name in languages if name != "en"}
    return {"widget.js": bundle(web, ENTRY), **made}


def bundle(folder: Path, entry: str, *, language: str = "") -> str:
    """Make one script that does what the module `entry` does, with the words of another language or none."""
    made = Bundle(folder)
    if language:
        words = made.add(f"strings/widget.{language}.js")
        made.names[TRANSLATED] = "words"
        made.parts.append(f"const words = {{ TRANSLATED: {{ {language}: Object.values({words})[0] }} }};")
    made.add(entry)
    return '(() => {\n"use strict";\n' + "\n".join(made.parts) + "\n})();\n"
