"""The pieces that the app and the widget share, in a real browser: offsets, streams, elements."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import Stage, Visit, serving, window

LETTERS = "aé \n漢🌊👩‍🚀𝔸\u0301[1]"


@pytest.fixture(scope="module")
def base(tides_made: Path) -> Iterator[str]:
    with serving(tides_made) as address:
        yield address


@pytest.fixture
def visit(stage: Stage, base: str) -> Iterator[Visit]:
    with window(stage, base) as opened:
        stage.call(opened.go)
        yield opened
        stage.call(opened.assert_clean)


def call(visit: Visit, module: str, code: str, given: Any = None) -> Any:
    source = f"async (given) => {{ const m = await import('/static/shared/{module}.js'); {code} }}"
    return visit.page.evaluate(source, given)


def test_offsets_mean_the_same_characters_here_and_in_the_browser(visit: Visit) -> None:
    choose = random.Random(7)
    texts = ["".join(choose.choices(LETTERS, k=choose.randrange(1, 40))) for _ in range(200)]
    spans = [sorted(choose.choices(range(len(t) + 1), k=2)) for t in texts]
    cases = [(t, start, end) for t, (start, end) in zip(texts, spans, strict=True)]
    cut = call(
        visit, "cite", "return given.map(([t, a, b]) => t.slice(m.units(t, a), m.units(t, b)));", cases
    )
    assert cut == [text[start:end] for text, start, end in cases]
    back = call(visit, "cite", "return given.map(([t, a]) => m.points(t, m.units(t, a)));", cases)
    assert back == [start for _, start, _ in cases]
    assert call(visit, "cite", "return given.map(([t]) => m.characters(t));", cases) == [
        len(t) for t in texts
    ]


def test_an_answer_is_cut_where_its_own_footnotes_stand(visit: Visit) -> None:
    code = "return m.claims(given, [{number: 1}, {number: 2}]).map((c) => [c.text, c.citations]);"
    assert call(visit, "cite", code, "One (3). [1][2] See [9] there. [1]\n\nAnd more") == [
        ["One (3).", [1, 2]],
        [" See [9] there.", [1]],
        ["\n\nAnd more", []],
    ]


def test_marks_cut_a_text_without_losing_any_of_it(visit: Visit) -> None:
    code = "return m.stretches('🌊 seven boats', given).map((s) => [s.text, s.marked]);"
    assert call(visit, "cite", code, [[2, 7]]) == [["🌊 ", False], ["seven", True], [" boats", False]]
    assert call(visit, "cite", code, [[4, 99], [0, 3], [5, 6], [3, 3]]) == [
        ["🌊 s", True], ["e", False], ["ven boats", True],
    ]  # fmt: skip


def test_a_stream_is_read_whatever_pieces_it_comes_in(visit: Visit) -> None:
    stream = ': ping\n\nevent: asked\r\ndata: {"a": "ü\\n🌊"}\r\n\r\n'
    stream += "id: 3\ndata: one\ndata: two\n\nevent: lost\n\n"
    code = "const f = new m.Feed(); return given.flatMap((piece) => f.take(piece));"
    wanted = [{"event": "asked", "data": {"a": "ü\n🌊"}}, {"event": "message", "data": "one\ntwo"}]
    for size in (1, 2, 3, 7, 1000):
        pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
        assert call(visit, "sse", code, pieces) == wanted


def test_a_problem_keeps_the_words_of_the_server(visit: Visit) -> None:
    code = """const headers = {'Content-Type': 'application/json'};
    try { for await (const e of m.stream('/v1/ask', {body: given, headers})); }
    catch (p) { return [p.name, p.status, p.code, Boolean(p.message)]; }"""
    assert call(visit, "sse", code, '{"question": "x", "book_id": "none"}') == [
        "Problem",
        404,
        "not_found",
        True,
    ]
    assert call(visit, "sse", code, '{"question": 7}')[:2] == ["Problem", 422]


def test_an_element_takes_text_as_text_and_refuses_what_could_run(visit: Visit) -> None:
    assert (
        call(visit, "dom", "return m.el('p', {}, given, [1, null, false]).innerHTML;", "<b>&")
        == "&lt;b&gt;&amp;1"
    )
    refused = ["onclick", "style", "srcdoc", "action", "formaction", "innerHTML", "xlink:href"]
    taken = "try { m.el('div', {[n]: 'x'}); return true; } catch { return false; }"
    code = f"return given.filter((n) => {{ {taken} }});"
    assert call(visit, "dom", code, refused) == []


def test_only_ordinary_addresses_become_links(visit: Visit) -> None:
    kept = ["#/books/a", "/v1/x", "https://example.org/a", "mailto:a@example.org"]
    left_out = [
        "javascript:alert(1)", " JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,x",
        "vbscript:x",
        "//evil.example", "blob:x", "book://tides/storm", "",
    ]  # fmt: skip
    code = "return given.filter((href) => m.el('a', {href}).hasAttribute('href'));"
    assert call(visit, "dom", code, [*kept, *left_out]) == kept


def test_pictures_come_from_memory_and_never_from_the_network(visit: Visit) -> None:
    code = "return given.map((src) => m.el('img', {src}).hasAttribute('src'));"
    given = [
        "https://evil.example/x.png",
        "/v1/x.png",
        "data:image/svg+xml;base64,AA",
        "data:image/png;base64,AA",
    ]
    assert call(visit, "dom", code, given) == [False, False, False, True]
