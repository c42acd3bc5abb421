"""Front matter: the lines of YAML or TOML that a Markdown file may start with.

`split_front_matter` separates them from the text. They are untrusted data: at most `max_front_matter_kb` is
read, YAML is loaded safely, and aliases (used in bombs), deep nesting and foreign tags make the whole block
be ignored with a warning. A horizontal rule at the start of a text is not front matter and stays.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from octavo.readers.titles import clean_line

if TYPE_CHECKING:
    from octavo.limits import Limits

_DEEPEST = 20
_YAML_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML_BLOCK = re.compile(r"\A\+\+\+[ \t]*\n(.*?)(?:^|\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the head of a file says, and the text below it."""

    body: str
    values: Mapping[str, Any] = field(default_factory=dict)
    warning: str = ""

    def get_text(self, *names: str) -> str:
        """Return the first of these values that is text or a number; '' if there is none."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, (str, int, float)) and not isinstance(value, bool):
                line = clean_line(str(value))
                if line:
                    return line
        return ""

    def get_number(self, *names: str) -> float | None:
        for name in names:
            try:
                return float(self.values[name])
            except (KeyError, TypeError, ValueError, OverflowError):
                continue
        return None

    def is_true(self, name: str) -> bool:
        return self.values.get(name) is True

    @property
    def authors(self) -> tuple[str, ...]:
        found = self.values.get("authors") or self.values.get("author") or []
        names = [
            n.get("name") if isinstance(n, dict) else n
            for n in (found if isinstance(found, list) else [found])
        ]
        return tuple(line for n in names if isinstance(n, str) and (line := clean_line(n)))


def split_front_matter(text: str, limits: Limits) -> FrontMatter:
    """Split the front matter from `text`, which has Unix line ends."""
    if not text.startswith(("---", "+++")):
        return FrontMatter(text)
    toml = text.startswith("+++")
    match = (_TOML_BLOCK if toml else _YAML_BLOCK).match(text)
    if not match:
        return FrontMatter(text)
    raw, body = match.group(1), text[match.end() :]
    if len(raw) > limits.max_front_matter_kb * 1024:
        if toml or re.match(r"\s*[\w-]+:", raw):
            return FrontMatter(body, warning=f"front matter over {limits.max_front_matter_kb} kB was ignored")
        return FrontMatter(text)
    try:
        values = tomllib.loads(raw) if toml else load_yaml(raw)
    except (yaml.scanner.ScannerError, yaml.parser.ParserError) as error:
        return FrontMatter(
            body, _read_line_by_line(raw), f"front matter is not valid YAML: {_describe_error(error)}"
        )
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        return FrontMatter(body, warning=f"front matter was ignored: {_describe_error(error)}")
    if values is None and not raw.strip(" \t\n"):
        return FrontMatter(body)
    if not isinstance(values, dict):
        return FrontMatter(text)
    return FrontMatter(body, {str(k): v for k, v in values.items()})


def load_yaml(raw: str) -> Any:
    """Load YAML that is not trusted; refuse aliases and deep nesting."""
    depth = 0
    for event in yaml.parse(raw, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it uses aliases")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
    return yaml.load(raw, Loader=_LOADER)  # noqa: S506 (a safe loader)


def _read_line_by_line(raw: str) -> dict[str, Any]:
    """Save what can be saved of broken YAML such as `title: Logs: how to read them`."""
    lines = re.findall(r"^([A-Za-z][\w-]*):[ \t]+(\S[^\n]*)$", raw, re.MULTILINE)
    words = {"true": True, "false": False}
    return {key: words.get(value.strip(), value.strip().strip("\"'")) for key, value in lines}


def _describe_error(error: Exception) -> str:
    problem = getattr(error, "problem", None)
    return clean_line(str(problem or error))[:120]
