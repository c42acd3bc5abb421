"""The pieces that the app and the widget share, in a real browser: offsets, streams, elements."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import BrowserThread, PageVisit, open_page, serve_page

LETTERS = "aé \n漢🌊👩‍🚀𝔸\u0301[1]"


@pytest.fixture(scope="module")
def base(tides_made: Path) -> Iterator[str]:
    with serve_page(tides_made) as address:
        yield address


@pytest.fixture
def visit(stage: BrowserThread, base: str) -> Iterator[PageVisit]:
    with open_page(stage, base) as opened:
        stage.call(opened.go)
        yield opened
        stage.call(opened.assert_clean)


def call(visit: PageVisit, module: str, code: str, given: Any = None) -> Any:
    source = f"async (given) => {{ const m = await import('/static/shared/{module}.js'); {code} }}"
    return visit.page.evaluate(source, given)


def test_offsets_mean_the_same_characters_here_and_in_the_browser(visit: PageVisit) -> None:
    choose = random.Random(7)
    texts = ["".join(choose.choices(LETTERS, k=choose.randrange(1, 40))) for _ in range(200)]
    spans = [sorted(choose.choices(range(len(t) + 1), k=2)) for t in texts]
    cases = [(t, start, end) for t, (start, end) in zip(texts, spans, strict=True)]
    cut = call(
        visit, "text", "return given.map(([t, a, b]) => t.slice(m.toUnits(t, a), m.toUnits(t, b)));", cases
    )
    assert cut == [text[start:end] for text, start, end in cases]
    back = call(visit, "text", "return given.map(([t, a]) => m.toPoints(t, m.toUnits(t, a)));", cases)
    assert back == [start for _, start, _ in cases]
    assert call(visit, "text", "return given.map(([t]) => m.countCharacters(t));", cases) == [
        len(t) for t in texts
    ]


def test_an_answer_is_cut_where_its_own_footnotes_stand(visit: PageVisit) -> None:
    code = "return m.splitClaims(given, [{number: 1}, {number: 2}]).map((c) => [c.text, c.citations]);"
    assert call(visit, "turn", code, "One (3). [1][2] See [9] there. [1]\n\nAnd more") == [
        ["One (3).", [1, 2]],
        [" See [9] there.", [1]],
        ["\n\nAnd more", []],
    ]


def test_marks_cut_a_text_without_losing_any_of_it(visit: PageVisit) -> None:
    code = "return m.splitAtMarks('🌊 seven boats', given).map((s) => [s.text, s.marked]);"
    assert call(visit, "text", code, [[2, 7]]) == [["🌊 ", False], ["seven", True], [" boats", False]]
    assert call(visit, "text", code, [[4, 99], [0, 3], [5, 6], [3, 3]]) == [
        ["🌊 s", True], ["e", False], ["ven boats", True],
    ]  # fmt: skip


def test_a_stream_is_read_whatever_pieces_it_comes_in(visit: PageVisit) -> None:
    stream = ': ping\n\nevent: asked\r\ndata: {"a": "ü\\n🌊"}\r\n\r\n'
    stream += "id: 3\ndata: one\ndata: two\n\nevent: lost\n\n"
    code = "const f = new m.EventParser(); return given.flatMap((piece) => f.parse(piece));"
    wanted = [{"event": "asked", "data": {"a": "ü\n🌊"}}, {"event": "message", "data": "one\ntwo"}]
    for size in (1, 2, 3, 7, 1000):
        pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
        assert call(visit, "sse", code, pieces) == wanted


def test_a_problem_keeps_the_words_of_the_server(visit: PageVisit) -> None:
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


def test_an_element_takes_text_as_text_and_refuses_what_could_run(visit: PageVisit) -> None:
    assert (
        call(visit, "dom", "return m.el('p', {}, given, [1, null, false]).innerHTML;", "<b>&")
        == "&lt;b&gt;&amp;1"
    )
    refused = ["onclick", "style", "srcdoc", "action", "formaction", "innerHTML", "xlink:href"]
    taken = "try { m.el('div', {[n]: 'x'}); return true; } catch { return false; }"
    code = f"return given.filter((n) => {{ {taken} }});"
    assert call(visit, "dom", code, refused) == []


def test_only_ordinary_addresses_become_links(visit: PageVisit) -> None:
    kept = ["#/books/a", "/v1/x", "https://example.org/a", "mailto:a@example.org"]
    left_out = [
        "javascript:alert(1)", " JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,x",
        "vbscript:x",
        "//evil.example", "blob:x", "book://tides/storm", "",
    ]  # fmt: skip
    code = "return given.filter((href) => m.el('a', {href}).hasAttribute('href'));"
    assert call(visit, "dom", code, [*kept, *left_out]) == kept


def test_pictures_come_from_memory_and_never_from_the_network(visit: PageVisit) -> None:
    code = "return given.map((src) => m.el('img', {src}).hasAttribute('src'));"
    given = [
        "https://evil.example/x.png",
        "/v1/x.png",
        "data:image/svg+xml;base64,AA",
        "data:image/png;base64,AA",
    ]
    assert call(visit, "dom", code, given) == [False, False, False, True]


FOLLOW = """const stop = new AbortController();
async function* events() {
  for (const [event, data] of given.events) {
    if (event === "stop") { stop.abort(); throw new DOMException("", "AbortError"); }
    if (event === "break") throw new TypeError("network");
    yield { event, data };
  }
}
const seen = [];
const begun = m.beginTurn({ question: "How many?", body: {} });
for await (const turn of m.followTurn(begun, events(), stop.signal)) seen.push(turn);
return seen;"""
FINAL = {"answer_id": "a1", "answer": "Two boats. [1]", "citations": [{"number": 1}], "refusal": None}


def follow(visit: PageVisit, *events: tuple[str, object]) -> list[dict[str, Any]]:
    """The turns that these events make of a question, one after the other."""
    turns: list[dict[str, Any]] = call(visit, "turn", FOLLOW, {"events": events})
    return turns


def test_a_turn_gathers_steps_and_claims_until_it_is_answered(visit: PageVisit) -> None:
    turns = follow(
        visit,
        ("asked", {"interpreted": "How many?"}),
        ("scoped", {"description": "The Tides"}),
        ("retrieved", {"evidence": [1, 2]}),
        ("working", {"step": "writing", "detail": "one"}),
        ("working", {"step": "writing", "detail": "two"}),
        ("working", {"step": "dancing", "detail": "well"}),
        ("claimed", {"text": "Two boats.", "citations": [1], "marks": [[0, 3]]}),
        ("unheard_of", {}),
        ("answered", FINAL),
        ("working", {"step": "late"}),
    )
    assert [turn["state"] for turn in turns] == ["asking"] * 8 + ["answered"], "nothing after the answer"
    last = turns[-1]
    assert [(step["kind"], step["detail"], step["count"]) for step in last["steps"]] == [
        ("asked", "", 0), ("scoped", "The Tides", 0), ("retrieved", "", 2), ("writing", "", 0),
        ("other", "well", 0),
    ]  # fmt: skip
    assert last["claims"] == [{"text": "Two boats.", "citations": [1], "marks": [[0, 3]]}]
    assert (last["interpreted"], last["final"]) == ("", FINAL), "a question as it was asked needs no word"
    assert turns[0]["steps"] != last["steps"], "a turn never changes"


def test_a_turn_without_streamed_claims_takes_them_from_its_answer(visit: PageVisit) -> None:
    (turn,) = follow(visit, ("answered", {**FINAL, "interpreted": "How many boats?"}))
    assert turn["claims"] == [{"text": "Two boats.", "citations": [1], "marks": []}]
    assert turn["interpreted"] == "How many boats?"


def test_a_short_answer_is_told_once_and_only_if_it_cites_something(visit: PageVisit) -> None:
    answer = {**FINAL, "answer": f"Two. [1] {FINAL['answer']}", "short": {"text": "Two", "citation": 1}}
    (turn,) = follow(visit, ("answered", answer))
    assert (turn["short"], len(turn["claims"])) == ({"text": "Two", "citation": 1}, 1)
    for wrong in ("Two", {"text": 2, "citation": 1}, {"text": "Two", "citation": 9}):
        (turn,) = follow(visit, ("answered", {**answer, "short": wrong}))
        assert (turn["short"], len(turn["claims"])) == (None, 2)


@pytest.mark.parametrize(
    ("event", "state", "code"),
    [
        (("error", {"status": 503, "code": "busy", "detail": "later"}), "failed", "busy"),
        (("break", {}), "failed", "unreachable"),
        (("stop", {}), "stopped", None),
        (None, "failed", "interrupted"),
    ],
)
def test_a_turn_ends_however_its_stream_does(
    visit: PageVisit, event: tuple[str, object] | None, state: str, code: str | None
) -> None:
    claimed = ("claimed", {"text": "Two boats.", "citations": [1]})
    code_of = FOLLOW.replace(
        "return seen;", "return seen.map((t) => [t.state, t.problem?.code, t.claims.length]);"
    )
    ends = call(visit, "turn", code_of, {"events": [claimed, *([event] if event else [])]})
    assert ends == [["asking", None, 1], [state, code, 1]], "what was said already stays"


def test_a_turn_leaves_out_what_has_the_wrong_shape(visit: PageVisit) -> None:
    spoilt = {"citations": 3, "dropped": "no", "claims": None, "refusal": {"reason": "odd", "nearest": {}}}
    (turn,) = follow(visit, ("answered", spoilt))
    assert (turn["state"], turn["citations"], turn["dropped"], turn["claims"]) == ("refused", [], [], [])
    assert turn["refusal"]["nearest"] == []


def test_feedback_is_opened_sent_and_kept_when_it_fails(visit: PageVisit) -> None:
    code = """const said = { vote: "down", reasons: ["passage"], comment: "" };
    const begun = m.finishTurn(m.beginTurn({ question: "q", body: {} }), { answer_id: "a1", citations: [] });
    const open = m.openFeedback(begun, "down");
    const failed = await m.sendFeedback(open, said, async () => { throw new TypeError("network"); });
    const sent = [];
    const done = await m.sendFeedback(failed, said, async (...given) => sent.push(given));
    const read = ({ feedback: f }) => [f.vote, f.isOpen, f.sent, f.problem?.code];
    return [sent, ...[begun, open, m.openFeedback(open, ""), failed, done].map(read)];"""
    assert call(visit, "turn", code) == [
        [["a1", {"vote": "down", "reasons": ["passage"], "comment": ""}]],
        ["", False, "", None],
        ["down", True, "", None],
        ["", False, "", None],
        ["down", True, "", "unreachable"],
        ["down", False, "down", None],
    ]


def test_a_quotation_with_marks_of_its_own_gets_no_others(visit: PageVisit) -> None:
    code = """const host = document.body.appendChild(document.createElement("div"));
      return given.map((text) => { const q = m.drawQuotation(text); host.append(q);
        return getComputedStyle(q, "::before").content; });"""
    plain, *bare = call(visit, "dom", code, ["He said so.", "“So,” he said.", "«Ainsi»", "'Tis so"])
    assert plain == "open-quote"
    assert bare == ["none"] * 3
    assert call(visit, "text", "return given.map(m.quote)", ["a", "“a” b"]) == ["“a”", "“a” b"]


def test_every_translation_has_every_word_in_the_same_shape(visit: PageVisit) -> None:
    code = """async () => {
      const load = async (name) => Object.values(await import(`/static/strings/${name}.js`)).at(-1);
      const kind = (value) => (Array.isArray(value) ? value.length : typeof value);
      const shape = (words) => Object.fromEntries(Object.entries(words).map(([key, value]) =>
        [key, kind(value) === "object" ? shape(value) : kind(value)]));
      const list = (words) => JSON.stringify(Object.keys(words).sort());
      const blanks = (text) => (String(text).match(/\\{\\w+\\}/g) || []).sort().join();
      const made = {};
      for (const language of ["de", "ur"]) {
        const [app, widget] = [await load(`app.${language}`), await load(`widget.${language}`)];
        const english = await load("widget.en");
        made[language] = [list(english) === list(widget),
          Object.keys(english).filter((key) => blanks(english[key]) !== blanks(widget[key])), shape(app)];
      }
      return [shape(await load("app.en")), made];
    }"""
    english, made = visit.page.evaluate(code)
    # The product's name and the names of exported files may stay as they are.
    for words in (english, *(shape for _, _, shape in made.values())):
        words.pop("turn")
        for name in ("name", "exportName"):
            words.pop(name, None)
    for language, (is_whole, wrong_blanks, shape) in made.items():
        assert is_whole, language
        assert wrong_blanks == [], language
        assert shape == english, language


def test_the_sentence_that_fits_a_search_is_found_in_its_passage(visit: PageVisit) -> None:
    code = """async (given) => {
      const { findBestSentence } = await import("/static/app/find.js");
      const [start, end] = findBestSentence(given, ["boats", "lost"]);
      return given.slice(start, end);
    }"""
    text = "🌊 One.\n\n“A Two it lost. Three.\n\nBoats! The boats were lost. Four."
    assert visit.page.evaluate(code, text) == "The boats were lost."


DRAW_AROUND = """async ([text, words, markup]) => {
  const { drawAround } = await import("/static/app/passage.js");
  const start = [...text.slice(0, text.indexOf(words))].length;
  const made = drawAround({ text, markup, pages: [] }, start, start + [...words].length, "book");
  return [made.textContent, made.querySelector("mark").textContent, made.className];
}"""


def test_a_sentence_stands_in_the_paragraph_that_the_markup_says(visit: PageVisit) -> None:
    text = "🌊 One.\n\nTwo it lost.\n\n" + "word " * 100 + "Three."
    paragraphs = [{"kind": "paragraph", "start": 0, "end": 20, "depth": 0}]
    paragraphs.append({"kind": "paragraph", "start": 22, "end": len(text), "depth": 0})
    found = visit.page.evaluate(DRAW_AROUND, [text, "Two it lost.", paragraphs])
    # A blank line in a paragraph does not end it.
    assert found == ["🌊 One.\n\nTwo it lost.", "Two it lost.", "text"]
    said, words, name = visit.page.evaluate(DRAW_AROUND, [text, "Three.", paragraphs])
    assert (words, name) == ("Three.", "text cut-before")
    assert said.startswith("word word")
    assert 250 < len(said) < 270


def test_a_sentence_of_a_book_without_markup_stands_between_blank_lines(visit: PageVisit) -> None:
    text = "🌊 One.\n\n“A Two it lost. Three.\n\nFour."
    found = visit.page.evaluate(DRAW_AROUND, [text, "Two it lost.", []])
    assert found == ["“A Two it lost. Three.", "Two it lost.", "text"]
