"""`/widget.js`: everything that a book's site adds to its pages, as one classic script.

The script is put together from the modules in `web/widget` and `web/shared` when the server is made: each
module becomes a function that returns what it exports, called in the order of the imports; a style sheet
becomes a string. The same files always give the same bytes. Any page may load the script; what it may ask is
decided by its key.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from posixpath import dirname, join, normpath

from fastapi import APIRouter, Request
from fastapi.responses import Response

WEB = Path(__file__).parents[2] / "web"
ENTRY = "widget/main.js"
TYPE = "text/javascript"
HEADERS = {
    "Cache-Control": "public, max-age=600, stale-while-revalidate=86400",
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Accept-Encoding",
}
_IMPORT = re.compile(r'^import (?P<names>[^;]*?) from "(?P<file>[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) )", re.MULTILINE)
_NAMED = re.compile(r"^export (?:async )?(?:function\*?|class|const|let) (\w+|\[[\w, ]+\])", re.MULTILINE)


def router(web: Path = WEB) -> APIRouter:
    made = APIRouter(include_in_schema=False)
    body = bundle(web, ENTRY).encode()
    packed = gzip.compress(body, 9, mtime=0)
    headers = {**HEADERS, "ETag": f'"{sha256(body).hexdigest()[:20]}"'}

    @made.get("/widget.js")
    async def widget(request: Request) -> Response:
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(packed, media_type=TYPE, headers={**headers, "Content-Encoding": "gzip"})
        return Response(body, media_type=TYPE, headers=headers)

    return made


def bundle(folder: Path, entry: str) -> str:
    """One script that does what the module `entry` does."""
    made = Bundle(folder)
    made.add(entry)
    return '(() => {\n"use strict";\n' + "\n".join(made.parts) + "\n})();\n"


@dataclass
class Bundle:
    """Modules in the order in which they can run, each once."""

    folder: Path
    names: dict[str, str] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def add(self, file: str) -> str:
        """Adds a module after those it imports; returns the name that its exports go by."""
        if file not in self.names:
            source = (self.folder / file).read_text(encoding="utf-8")
            if file.endswith(".css"):
                code = json.dumps(source, ensure_ascii=False)
            else:
                code = self._module(file, source)
            self.names[file] = f"m{len(self.names)}"
            self.parts.append(f"const {self.names[file]} = {code};")
        return self.names[file]

    def _module(self, file: str, source: str) -> str:
        needed = []
        for found in _IMPORT.finditer(source):
            name = self.add(normpath(join(dirname(file), found["file"])))
            needed.append(f"const {found['names'].replace(' as ', ': ')} = {name};\n")
        body = _EXPORT.sub("", _IMPORT.sub("", source))
        exported = ", ".join(name.strip("[]") for name in _NAMED.findall(source))
        return f"(() => {{\n{''.join(needed)}{body}return {{ {exported} }};\n}})()"
