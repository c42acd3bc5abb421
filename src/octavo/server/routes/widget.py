"""`/widget.js`: everything that a book's site adds to its pages, as one classic script.

`/widget.de.js` and the like are the same script with the words of one language besides the English ones.

The script is put together from the modules in `web/widget` and `web/shared` when the server starts. Each
module becomes a function that returns what it exports, called in the order of the imports. A style sheet
becomes a string. Comments that stand alone and JSDoc are left out. The same files always give the same bytes.
Any page may load the script; its key decides what it may ask.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import dirname, join, normpath

from fastapi import APIRouter, Request
from fastapi.responses import Response

from octavo.errors import NotFound
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
_OWN_LINE_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/)[ \t]*\n", re.MULTILINE | re.DOTALL)
_JSDOC = re.compile(r"/\*\*(?:(?!\*/)[^\n])*\*/ ?")
_BLANK_LINES = re.compile(r"\n\s*\n")
_CSS_COMMENT = re.compile(r"/\*(?:(?!\*/).)*\*/\n?", re.DOTALL)
_IMPORT = re.compile(r'^import (?P<names>[^;]*?) from "(?P<file>[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) )", re.MULTILINE)
_NAMED = re.compile(r"^export (?:async )?(?:function\*?|class|const|let) (\w+|\[[\w, ]+\])", re.MULTILINE)


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


@dataclass
class Bundle:
    """Modules in the order in which they can run, each once."""

    folder: Path
    names: dict[str, str] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def add(self, file: str) -> str:
        """Add a module after those it imports; return the name that its exports go by."""
        if file not in self.names:
            source = (self.folder / file).read_text(encoding="utf-8")
            if file.endswith(".css"):
                code = json.dumps(_CSS_COMMENT.sub("", source), ensure_ascii=False)
            else:
                code = self._wrap(file, strip_comments(source))
            self.names[file] = f"m{len(self.names)}"
            self.parts.append(f"const {self.names[file]} = {code};")
        return self.names[file]

    def _wrap(self, file: str, source: str) -> str:
        """Wrap a module in a function that returns its exports."""
        needed = []
        for found in _IMPORT.finditer(source):
            name = self.add(normpath(join(dirname(file), found["file"])))
            needed.append(f"const {found['names'].replace(' as ', ': ')} = {name};\n")
        body = _EXPORT.sub("", _IMPORT.sub("", source))
        exported = ", ".join(name.strip("[]") for name in _NAMED.findall(source))
        return f"(() => {{\n{''.join(needed)}{body}return {{ {exported} }};\n}})()"


def strip_comments(source: str) -> str:
    """Leave out comments that stand on lines of their own, types within a line, and blank lines."""
    return _BLANK_LINES.sub("\n", _JSDOC.sub("", _OWN_LINE_COMMENT.sub("", source)))
