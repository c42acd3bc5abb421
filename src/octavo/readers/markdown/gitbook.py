"""The settings of a GitBook: `.gitbook.yaml` of the service, or `book.json` of the older program.

They are returned as mdBook's `book.toml` has them, since both list their chapters in SUMMARY.md. The service
publishes pages without an ending, the program as `.html`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from octavo.readers.files import load_file
from octavo.readers.markdown.frontmatter import load_yaml
from octavo.text.clean import clean, decode

if TYPE_CHECKING:
    from octavo.limits import Limits

GITBOOK = "gitbook"
_TAG = re.compile(r"\{%[^{}\n]{0,1000}%\}[ \t]*")
_TITLE = re.compile(
    r"\{%\s*(?:tab|code|content-ref)\s[^{}\n]{0,500}?title=\"([^\"]{0,300})\"[^{}\n]{0,500}%\}"
)


def read_gitbook_settings(path: Path, limits: Limits) -> dict[str, Any]:
    """Return the settings of a GitBook in this folder; nothing when it is none."""
    for name, load in ((".gitbook.yaml", load_yaml), ("book.json", json.loads)):
        file = path / name
        if not file.is_file() or file.stat().st_size > limits.max_front_matter_kb * 1024:
            continue
        try:
            found = load(clean(decode(load_file(file, limits)).text))
        except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
            found = {}
        found = found if isinstance(found, dict) else {}
        book = {key: found[key] for key in ("title", "language") if isinstance(found.get(key), str)}
        book |= {"authors": [found["author"]]} if isinstance(found.get("author"), str) else {}
        return {"book": book | {"src": str(found.get("root") or ".")}, GITBOOK: name}
    return {}


def drop_tags(text: str) -> str:
    """Drop GitBook's tags (`{% hint %}`); the titles of tabs and code stay."""
    return _TAG.sub("", _TITLE.sub(r"**\1**\n", text)) if "{%" in text else text
