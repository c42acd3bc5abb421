"""The command that tests how well a book is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from octavo.cli.ask import write_text
from octavo.cli.common import (
    GroupOptions,
    add_common_options,
    draw_bar,
    format_count,
    is_terminal,
    run_with_library,
    show_json,
)
from octavo.errors import InvalidValue

if TYPE_CHECKING:
    from octavo.answers.evaluate import Comparison, Evaluation
    from octavo.library import Library

SHOWN_FAILURES = 10


@click.command("eval", short_help="Test how well a book is answered.")
@click.argument("book")
@click.option(
    "--questions",
    type=click.Path(exists=True, dir_okay=False),
    help="Ask these: a question a line, or JSON lines with question, section, answers, answerable.",
)
@click.option("--top", default=40, show_default=True, help="Number of questions to make, 1 to 2000.")
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report with the failures as HTML.")
@click.option(
    "--compare",
    type=click.Path(exists=True, dir_okay=False),
    help="Ask the questions of this earlier --json again, and say what changed.",
)
@add_common_options
def eval_(
    context: GroupOptions,
    book: str,
    questions: str | None,
    top: int,
    report: str | None,
    compare: str | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Test how well BOOK is answered, with questions made from its definitions, its map and its headings.

    A language model, if one is set, writes some of them.

    Shown are how often the right section was found (hit@k), how many questions were answered, how many
    answers come from the right place, how many questions beyond the book were refused, and whether
    confidence is true. Nothing of it stays in the library. To compare settings, models or editions, save one
    with --json.

    \b
      octavo eval moby-dick --report eval.html
      octavo eval moby-dick --json > before.json
      OCTAVO_READER=small octavo eval moby-dick --compare before.json
      octavo eval moby-dick --questions mine.jsonl
    """
    before = _read_report(compare) if compare else None
    source = questions or compare

    def show_progress(done: int, total: int) -> None:
        if is_terminal() and not as_json:
            click.echo(f"\r{draw_bar(done, total)} {done}/{total} ", nl=False, err=True)
            if done == total:
                click.echo(f"\r{'':<60}\r", nl=False, err=True)

    async def work(library: Library) -> Evaluation:
        path = Path(source) if source else None
        return await library.evaluate(book, path, limit=top, on_answer=show_progress)

    found = run_with_library(context, data, work)
    compared = None
    if before is not None:
        from octavo.answers.evaluate import compare as compare_results

        compared = compare_results(found.results, before)
    if report:
        from octavo.answers.evaluation_page import write_page

        write_text(Path(report), write_page(found, compared))
    if as_json:
        from octavo.schemas import EvaluationJson

        show_json(EvaluationJson.from_value(found, comparison=compared))
    else:
        _show(found, compared)


def _read_report(path: str) -> dict[str, bool]:
    """Read which questions of an earlier evaluation were right."""
    try:
        results = json.loads(Path(path).read_text(encoding="utf-8"))["results"]
        return {str(row["question"]): bool(row["right"]) for row in results}
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidValue("--compare", "must be what `octavo eval BOOK --json` wrote", path) from None


def _show(found: Evaluation, compared: Comparison | None) -> None:
    from octavo.answers.evaluation_page import describe_failure, list_figures

    click.secho(found.title, bold=True, nl=False)
    click.secho(f"  {format_count(len(found.results), 'question')}", dim=True)
    for name, figure in list_figures(found):
        click.echo(f"  {figure:>5}  {name}")
    wrong = [result for result in found.results if not result.right]
    if wrong:
        click.secho("Not right", bold=True)
    for result in wrong[:SHOWN_FAILURES]:
        click.echo(f"  {result.question}  " + click.style(describe_failure(result), dim=True))
    if len(wrong) > SHOWN_FAILURES:
        click.secho(f"  and {len(wrong) - SHOWN_FAILURES} more; --report FILE shows all of them", dim=True)
    if compared is not None:
        click.secho(f"Compared, {format_count(compared.shared, 'question')} in both", bold=True)
        for sign, questions in (("+", compared.gained), ("−", compared.lost)):
            for question in questions:
                click.echo(f"  {sign} {question}")
        if not compared.gained and not compared.lost:
            click.echo("  nothing changed")
