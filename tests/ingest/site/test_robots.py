"""The longest rule decides, for the group that names us."""

from __future__ import annotations

import pytest

from octavo.ingest.site.robots import parse_robots

RULES = """
User-agent: other
Disallow: /

User-agent: *
Allow: /
Disallow: /private
Allow: /private/open   # a part of it
Disallow: /*.pdf$
Disallow: /*/tmp*/x
Disallow: /%7Ejoe/
Disallow:
Crawl-delay: 2
Sitemap: https://example.org/map.xml
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/private/a", False),
        ("/private/open/a", True),
        ("/book.pdf", False),
        ("/book.pdf?x", True),
        ("/a/tmp1/x", False),
        ("/~joe/", False),
        ("/Private", True),
    ],
)
def test_a_rule_applies_to_what_it_matches(path: str, allowed: bool) -> None:
    assert parse_robots(RULES).allows(f"https://example.org{path}") is allowed


def test_our_own_group_counts_before_that_for_everyone() -> None:
    robots = parse_robots("User-agent: Octavo\nUser-agent: x\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n")
    assert robots.allows("https://example.org/b")
    assert not robots.allows("https://example.org/a")
    assert (parse_robots(RULES).delay, parse_robots(RULES).sitemaps) == (
        2.0,
        ("https://example.org/map.xml",),
    )


def test_a_rule_that_is_made_to_take_long_does_not() -> None:
    robots = parse_robots(f"User-agent: *\nDisallow: /{'a*' * 900}b$\nCrawl-delay: inf\n")
    assert robots.allows(f"https://example.org/{'a' * 1900}")
    assert robots.delay == 0.0
