"""Modules put together into one script, so that a browser asks once and not fifty times.

Each module becomes a function that returns what it exports, called in the order of the imports. A style sheet
becomes a string. Comments that stand alone and JSDoc are left out. The same files always give the same bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import dirname, join, normpath

_OWN_LINE_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/)[ \t]*\n", re.MULTILINE | re.DOTALL)
_JSDOC = re.compile(r"/\*\*(?:(?!\*/)[^\n])*\*/ ?")
_BLANK_LINES = re.compile(r"\n\s*\n")
_CSS_COMMENT = re.compile(r"/\*(?:(?!\*/).)*\*/\n?", re.DOTALL)
_IMPORT = re.compile(r'^import (?P<names>[^;]*?) from "(?P<file>[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) )", re.MULTILINE)
_NAMED = re.compile(r"^export (?:async )?(?:function\*?|class|const|let) (\w+|\[[\w, ]+\])", re.MULTILINE)


@dataclass
class Bundle:
    """Modules in the order in which they can run, each once; with `waits`, they may wait for something."""

    folder: Path
    waits: bool = False
    names: dict[str, str] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)

    def add(self, file: str) -> str:
        """Add a module after those it imports; return the name that its exports go by."""
        if file not in self.names:
            # A module that imports itself by way of others finds no name here, and cannot run first.
            self.names[file] = ""
            source = (self.folder / file).read_text(encoding="utf-8")
            if file.endswith(".css"):
                code = json.dumps(_CSS_COMMENT.sub("", source), ensure_ascii=False)
            else:
                code = self._wrap(file, strip_comments(source))
            self.names[file] = f"m{len(self.parts)}"
            self.parts.append(f"const {self.names[file]} = {code};")
        if not self.names[file]:
            raise ValueError(f"{file} imports itself by way of other modules")
        return self.names[file]

    def _wrap(self, file: str, source: str) -> str:
        """Wrap a module in a function that returns its exports."""
        needed = []
        for found in _IMPORT.finditer(source):
            name = self.add(normpath(join(dirname(file), found["file"])))
            needed.append(f"const {found['names'].replace(' as ', ': ')} = {name};\n")
        body = _EXPORT.sub("", _IMPORT.sub("", source))
        exported = ", ".join(name.strip("[]") for name in _NAMED.findall(source))
        begin = "await (async" if self.waits else "("
        return f"{begin}() => {{\n{''.join(needed)}{body}return {{ {exported} }};\n}})()"


def bundle_module(folder: Path, entry: str) -> str:
    """Make one module that does what the module `entry` does."""
    made = Bundle(folder, waits=True)
    made.add(entry)
    return "\n".join(made.parts) + "\n"


def strip_comments(source: str) -> str:
    """Leave out comments that stand on lines of their own, types within a line, and blank lines."""
    return _BLANK_LINES.sub("\n", _JSDOC.sub("", _OWN_LINE_COMMENT.sub("", source)))
