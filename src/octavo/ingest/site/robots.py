"""Read `robots.txt` as RFC 9309 has it: the longest rule decides, and a rule that allows wins a tie."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

AGENT = "octavo"
LONGEST_RULE = 2_000
MOST_RULES = 5_000


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    length: int
    allows: bool


@dataclass(frozen=True, slots=True)
class Robots:
    """What a site allows, the seconds it asks for between two requests, and the sitemaps it names."""

    rules: tuple[_Rule, ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, address: str) -> bool:
        parts = urlsplit(address)
        target = _spell(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
        matching = [rule for rule in self.rules if rule.pattern.match(target)]
        return max(((rule.length, rule.allows) for rule in matching), default=(0, True))[1]


def parse_robots(text: str) -> Robots:
    """Take the rules of the groups for `octavo`, or else those for everyone."""
    groups: dict[str, list[tuple[str, str]]] = {}
    agents: list[str] = []
    in_rules = False
    sitemaps: list[str] = []
    for line in text.splitlines():
        name, _, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if name == "user-agent":
            agents = [*([] if in_rules else agents), value.lower()]
            in_rules = False
            groups.setdefault(value.lower(), [])
        elif name == "sitemap":
            sitemaps.append(value)
        elif name in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for agent in agents:
                groups[agent].append((name, value))
    lines = groups.get(AGENT, groups.get("*", []))[:MOST_RULES]
    rules = [
        _make_rule(value, allows=name == "allow") for name, value in lines if name != "crawl-delay" and value
    ]
    delay = max((_read_seconds(value) for name, value in lines if name == "crawl-delay"), default=0.0)
    return Robots(tuple(rules), delay, tuple(sitemaps))


def _make_rule(value: str, *, allows: bool) -> _Rule:
    """Compile a rule, in which `*` stands for anything and a `$` at the end for the end."""
    value = value[:LONGEST_RULE]
    ends = value.endswith("$")
    parts = [re.escape(_spell(part)) for part in re.split(r"\*+", value.removesuffix("$"))]
    # Each part is found at its first place and never given back, so no rule takes long.
    body = parts[0] + "".join(f"(?>.*?{part})" for part in parts[1:-1])
    if len(parts) > 1:
        body += f".*{parts[-1]}" if ends else f".*?{parts[-1]}"
    return _Rule(re.compile(body + (r"\Z" if ends else ""), re.DOTALL), len(value), allows)


def _spell(target: str) -> str:
    return quote(unquote(target, errors="surrogateescape"), safe="/?=&:@!$'()*+,;~", errors="surrogateescape")


def _read_seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
