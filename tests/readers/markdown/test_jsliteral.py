"""Settings that stand in programs, read without running them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.readers.markdown.jsliteral import read_export


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (
            "module.exports = {a: 'x', \"b\": [1, 2.5, -3], c: true, d: null,};",
            {"a": "x", "b": [1, 2.5, -3], "c": True, "d": None},
        ),
        ("export default {url: `https://a.b`}", {"url": "https://a.b"}),
        ("const c: Config = {title: 'T'} satisfies Config;\nexport default c;", {"title": "T"}),
        ("const s = ['a'];\nmodule.exports = {docs: s, s};", {"docs": ["a"], "s": ["a"]}),
        (
            "const more = ['b', 'c'];\nexport default {x: ['a', ...more], ...{y: 1}};",
            {"x": ["a", "b", "c"], "y": 1},
        ),
        ("export default {p: require.resolve('./sidebars.js')}", {"p": "./sidebars.js"}),
        ("export default {p: path.join(__dirname, 'x'), q: 2}", {"p": "x", "q": 2}),
        ("export default {f: () => 'no', g() { return {a: 1}; }, h: 'yes'}", {"f": None, "h": "yes"}),
        (
            "export default {a: 'it\\'s', b: \"// no comment\", /* c: 1, */ d: 2 // e\n}",
            {"a": "it's", "b": "// no comment", "d": 2},
        ),
        ("export default {a: x ? 'b' : 'c', d: 1}", {"a": "c", "d": 1}),
        ("export default {'guides/a': {B: ['c']}}", {"guides/a": {"B": ["c"]}}),
        ("const sidebars = {a: ['b']}", {"a": ["b"]}),
        ("export default ({a: (({b: 1})), c: ('d')})", {"a": {"b": 1}, "c": "d"}),
        ("export default {a: ({b: 1} as Options), c: 2}", {"a": {"b": 1}, "c": 2}),
        (
            "const k = 'no';\nexport default {f: (k) => ({a: 1}), g: (k, n) => k, h: (), i: 3}",
            {"f": None, "g": None, "h": None, "i": 3},
        ),
        ("nothing here", None),
        ("", None),
    ],
)
def test_what_is_written_out_is_read(source: str, value: Any) -> None:
    assert read_export(source) == value


def test_names_that_point_at_each_other_come_to_an_end() -> None:
    read_export("const a = [b, b, b]; const b = [a, a, a]; module.exports = a;")


@pytest.mark.parametrize(
    "bomb",
    ["[", "{a:", "x(", "'", "`", "/* ", "const a=[", "{...", "[...a,", "a,", "}", "export default ", "\\'"],
)
def test_a_bomb_of_marks_is_read_in_one_go(bomb: str) -> None:
    source = bomb * (40_000 // len(bomb))
    read_export(source)
    read_export(f"module.exports = {source}")


@given(st.text(alphabet="{}[](),:'\"`\\/*.=>ab1 \n", max_size=80))
def test_any_text_is_read_without_a_fault(source: str) -> None:
    read_export(f"const a = {source};\nmodule.exports = {source}")
