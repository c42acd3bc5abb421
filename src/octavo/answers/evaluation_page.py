"""Writes an evaluation as one HTML page: the figures, what went wrong, and all questions.

Everything that comes from the book, a question or an answer is escaped. The page has no script, and its
policy lets a browser load nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.answers.evaluate import Comparison, Evaluation, Result

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } td, th { padding: .3rem .8rem; text-align: left; }
td, th { border-bottom: 1px solid #8886; vertical-align: top; overflow-wrap: anywhere; }
article { border-left: 4px solid #b3403a; padding: .1rem 1rem; margin: 1rem 0; }
.soft { opacity: .75; }
"""


def format_share(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def list_figures(found: Evaluation) -> list[tuple[str, str]]:
    """List the figures with their names, as the terminal and the page show them."""
    return [
        *((f"hit@{k}", format_share(share)) for k, share in found.hits.items()),
        ("answered, of those the book answers", format_share(found.answered)),
        ("right, of those the book answers", format_share(found.right)),
        ("right, of the answers given", format_share(found.right_of_answered)),
        ("refused, of those beyond the book", format_share(found.refused)),
        ("confidence differs from truth by", format_share(found.calibration_error)),
    ]


def describe_failure(result: Result) -> str:
    if not result.answerable:
        return "answered, though the book does not say"
    if not result.answered:
        found = "not found" if result.rank is None else f"found at place {result.rank}"
        return "refused" + (f"; its section was {found}" if result.sections else "")
    return "answered from elsewhere" if result.sections and not result.accepted else "another answer"


def write_page(found: Evaluation, compared: Comparison | None = None) -> str:
    wrong = [result for result in found.results if not result.right]
    bins = [
        (f"{b.low:.0%} to {b.high:.0%}", str(b.count), f"{b.confidence:.0%}", f"{b.right:.0%}")
        for b in found.calibration
    ]
    every = [
        (r.question, r.source, "right" if r.right else describe_failure(r), f"{r.confidence:.0%}")
        for r in found.results
    ]
    body = [
        f"<h1>{escape(found.title)}</h1>",
        f"<p class=soft>{len(found.results)} questions, {len(wrong)} not right</p>",
        _write_table(("figure", ""), list_figures(found)),
        "<h2>Settings</h2>",
        _write_table(("setting", ""), [*found.settings.items(), ("content", found.content_hash)]),
        "<h2>Confidence against truth</h2>",
        _write_table(("confidence", "answers", "on average", "right"), bins),
        *(_write_comparison(compared) if compared else ()),
        "<h2>What went wrong</h2>",
        *(map(_write_failure, wrong) if wrong else ["<p>Nothing.</p>"]),
        "<h2>All questions</h2>",
        _write_table(("question", "made from", "result", "confidence"), every),
    ]
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(found.title)}: evaluation</title>'
        f"<style>{_STYLE}</style>"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _write_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _write_failure(result: Result) -> str:
    rows = [
        ("what happened", describe_failure(result)),
        ("confidence", f"{result.confidence:.0%}"),
        ("said", result.answer),
        ("cited", "; ".join(result.cited) or "–"),
        ("found first", "; ".join(result.nearest) or "–"),
        ("expected", "; ".join(result.accepted or result.sections) or "a refusal"),
    ]
    return f"<article><h3>{escape(result.question)}</h3>{_write_table(('', ''), rows)}</article>"


def _write_comparison(compared: Comparison) -> list[str]:
    lists = []
    for name, questions in (("Right now, wrong before", compared.gained), ("Wrong now", compared.lost)):
        items = "".join(f"<li>{escape(question)}</li>" for question in questions) or "<li>none</li>"
        lists.append(f"<h3>{name}</h3><ul>{items}</ul>")
    return [f"<h2>Compared</h2><p>{compared.shared} questions are in both.</p>", *lists]
