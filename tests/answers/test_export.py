"""An exported conversation reads well, loses nothing, and gives no book a way out of its quotation marks."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import timedelta
from html.parser import HTMLParser

import pyromark
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.export import write_markdown
from octavo.schemas import SessionExport
from octavo.types import Answer, Chunk, Citation, Session
from tests.support.builders import (
    NOON,
    make_answer,
    make_chunk,
    make_citation,
    make_evidence,
    make_message,
    make_question,
    make_refusal,
    make_session,
)


def conversation(
    snippet: str = "the whiteness of the whale", *, content: str = "It appalled him. [1]"
) -> Session:
    """Two questions, of which the first is answered from a chunk with `snippet` in it."""
    chunk = make_chunk(f"It was {snippet} that above all things appalled me.")
    answer = make_answer(
        content, citations=[make_citation(snippet, chunk=chunk)], evidence=[make_evidence(chunk)]
    )
    told = make_answer("The book doesn't say.", id="a2", question_id="q2")
    refused = replace(told, refusal=make_refusal(), citations=(), evidence=())
    questions = (make_question("And why?"), make_question("Who is Job?", id="q2"))
    return replace(make_session(), query_count=2, questions=questions, answers=(answer, refused))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(markdown: str) -> Tags:
    options = (
        pyromark.Options.ENABLE_FOOTNOTES | pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_MATH
    )
    options |= pyromark.Options.ENABLE_STRIKETHROUGH | pyromark.Options.ENABLE_TASKLISTS
    options |= pyromark.Options.ENABLE_DEFINITION_LIST | pyromark.Options.ENABLE_HEADING_ATTRIBUTES
    page = Tags()
    page.feed(pyromark.html(markdown, options=options))
    page.close()
    return page


def test_a_translated_sentence_says_so_before_its_footnote() -> None:
    told = conversation(content="Er war weiß\\_. [1] Ja. [1]")
    answer = replace(told.answers[0], translated=("Er war weiß\\_.",))
    page = write_markdown(replace(told, answers=(answer, *told.answers[1:])))
    assert "weiß\\\\\\_. *(translated)* [^1] Ja. [^1]" in page


def test_a_page_has_questions_as_headings_and_citations_as_footnotes() -> None:
    page = write_markdown(conversation(), interpreted={"q1": "Why is the whale white?"})
    assert page.startswith("# Conversation reading-group\n\n2025-03-01 12:00 UTC\n\n## And why?\n")
    assert "*Interpreted as:* Why is the whale white?\n\nIt appalled him. [^1]\n" in page
    assert "[^1]: Moby Dick › Chapter 42 › The Whiteness · [moby-dick.txt](<book://" in page
    assert "\n\n    > the whiteness of the whale\n" in page


def test_a_refusal_is_marked_with_its_reason() -> None:
    page = write_markdown(conversation())
    assert "## Who is Job?\n\n**Not answered** (not_in_book): The book doesn't say.\n" in page
    assert "Interpreted as" not in page


def test_a_question_without_an_answer_says_so_and_a_selection_is_quoted() -> None:
    asked = replace(make_question("What is this?"), selected_text="Call me\n\nIshmael.")
    page = write_markdown(replace(make_session(), messages=(), questions=(asked,)))
    assert "## What is this?\n\n*About the selection:*\n\n> Call me\n>\n> Ishmael.\n" in page
    assert page.endswith("*Not answered.*\n")


def test_footnotes_are_counted_through_the_page_and_none_is_lost() -> None:
    session = conversation(content="No mark at all.")
    chunk = make_chunk("A second passage, with a first and a second part in it.")
    cited = [
        make_citation(s, chunk=chunk, number=n, answer_id="a2") for n, s in ((1, "first"), (2, "second"))
    ]
    second = make_answer(
        "Both [1, 2], not [3].", id="a2", question_id="q2", citations=cited, evidence=[make_evidence(chunk)]
    )
    page = write_markdown(replace(session, answers=(session.answers[0], second)))
    assert "No mark at all.[^1]\n" in page
    assert "Both [^2][^3], not \\[3\\]." in page
    assert [line[:5] for line in page.splitlines() if line.startswith("[^")] == ["[^1]:", "[^2]:", "[^3]:"]


def test_messages_that_are_no_question_or_answer_of_the_session_keep_their_place() -> None:
    hello = replace(
        make_message("Good morning!", id="m0"), query_id=None, timestamp=NOON - timedelta(minutes=1)
    )
    reply = replace(make_message("Good morning.", id="m2", role="assistant"), query_id=None)
    session = replace(conversation(), messages=(hello, make_message("And why?"), reply))
    page = write_markdown(session)
    assert page.index("## Good morning!") < page.index("## And why?") < page.index("\nGood morning.\n")
    assert page.count("And why?") == 1
    assert "## Why is the whale white?" in write_markdown(make_session())


def test_the_same_conversation_gives_the_same_page() -> None:
    assert write_markdown(conversation()) == write_markdown(conversation())


HOSTILE = (
    "# H|- x|* y|1. z|2) z|> q|```|~~~|---|===|<script>|</blockquote>|<!--|&lt;|[a](http://e.org)|![i](x)|[^1]:"
    "|[^1]|[1]|[1]:|[1](x)|[x]: y|<http://e.org>|www.e.org|$x$|a@e.org|**|__|~~|\\|`|:|{#id}|    four|\t|a|\n"
    "|\n\n|- [ ] t|: d|a\n=|a | b\n--|--"
)
PIECES = st.lists(st.sampled_from(HOSTILE.split("|")), min_size=1, max_size=8)


@given(PIECES.map(" ".join) | PIECES.map("\n".join) | PIECES.map("".join))
def test_no_text_gets_out_of_its_place(text: str) -> None:
    text = f"So {text} it ends"
    plain = rendered(write_markdown(conversation("So it ends", content="So it ends. [1]")))
    page = rendered(write_markdown(conversation(text, content=f"{text} [1]"), interpreted={"q2": text}))
    kept = {"h1", "h2", "p", "br", "em", "strong", "div", "sup", "a", "blockquote"}
    assert set(page.tags) <= kept
    assert set(page.links) == set(plain.links)
    assert [page.tags.count(t) for t in ("h1", "h2", "blockquote", "strong")] == [1, 2, 2, 1]
    assert "".join(text.split()) in "".join(page.text.split())


def test_the_json_has_every_field_and_survives_the_wire() -> None:
    session = replace(conversation(), messages=(make_message(),))
    interpreted = {"q1": "Why is the whale white?"}
    made = json.loads(json.dumps(SessionExport.from_session(session, interpreted=interpreted).to_json()))
    assert set(made) == {f.name for f in fields(Session)}
    assert [q["interpreted_as"] for q in made["questions"]] == ["Why is the whale white?", "Who is Job?"]
    assert made["start_time"] == NOON.isoformat()
    answer = made["answers"][0]
    assert set(answer) == {f.name for f in fields(Answer)}
    cited = answer["citations"][0]
    assert {f.name for f in fields(Citation)} | {"source_location", "url", "page", "title"} <= set(cited)
    assert set(cited["chunk"]) == {f.name for f in fields(Chunk)}
    assert cited["content_snippet"] == "the whiteness of the whale"
    assert made["answers"][1]["refusal"]["reason"] == "not_in_book"
    assert "content" not in json.dumps(made["answers"][1]["refusal"]), "places to look, not what they say"
