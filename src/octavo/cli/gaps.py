"""The command that reports what readers asked a book and did not get."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from octavo.cli.common import GroupOptions, add_common_options, format_count, run_with_library, show_json

if TYPE_CHECKING:
    from octavo.answers.gaps import Gap, GapReport
    from octavo.library import Library

_KINDS = {"refused": "refused", "unsure": "answered with little confidence", "disliked": "rated down"}


@click.command(short_help="Show what readers asked and did not get.")
@click.argument("book", required=False)
@click.option("--weeks", default=12, show_default=True, help="This week and the weeks before it, 1 to 520.")
@click.option("--top", default=25, show_default=True, help="Number of gaps for each book, 1 to 500.")
@add_common_options
def gaps(
    context: GroupOptions, book: str | None, weeks: int, top: int, data: str | None, as_json: bool
) -> None:
    """Show what readers asked BOOK, or any book, and did not get: the most wanted first.

    Questions count that were refused, answered with little confidence, or rated down. They are grouped by
    what they ask for; each group has the sections that came nearest. It does not say who asked.
    OCTAVO_LOG_QUESTIONS=false keeps no such list, OCTAVO_GAP_DAYS says how long it is kept.

    \b
      octavo gaps
      octavo gaps moby-dick --weeks 4
      octavo gaps moby-dick --json
    """

    async def work(library: Library) -> tuple[list[GapReport], bool]:
        books = [await library.book(book)] if book else await library.books()
        reports = [await library.gaps(each.id, weeks=weeks, limit=top) for each in books]
        return reports, library.settings.log_questions

    reports, logged = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import GapReportJson, GapReportsJson

        show_json(GapReportsJson(books=[GapReportJson.from_value(report) for report in reports]))
    else:
        for report in reports:
            _show_report(report)
    if not logged:
        click.echo("OCTAVO_LOG_QUESTIONS is false: new questions are not listed.", err=True)
    elif not reports:
        click.echo("The library has no books. `octavo add PATH` adds one.", err=True)


def _show_report(report: GapReport) -> None:
    click.secho(report.title, bold=True, nl=False)
    asked = format_count(report.question_count, "question")
    click.secho(f"  {report.open_count:,} of {asked} without a good answer since {report.since}", dim=True)
    for number, gap in enumerate(report.gaps, start=1):
        _show_gap(number, gap)
    if report.gap_count > len(report.gaps):
        click.secho(f"  and {report.gap_count - len(report.gaps):,} more; --top shows more of them", dim=True)


def _show_gap(number: int, gap: Gap) -> None:
    counts = {"refused": gap.refused, "unsure": gap.unsure, "disliked": gap.disliked}
    how = ", ".join(f"{counts[kind]} {said}" for kind, said in _KINDS.items() if counts[kind])
    click.echo(f"{number:3}. {gap.question}")
    topic = f"{', '.join(gap.topic)}: " if gap.topic and gap.count > 1 else ""
    click.secho(f"     {topic}{how}; last {gap.last_asked:%Y-%m-%d}", dim=True)
    if len(gap.weeks) > 1:
        weeks = ", ".join(f"{each.count} in the week of {each.week}" for each in gap.weeks[-4:])
        click.secho(f"     {weeks}", dim=True)
    for question in [each for each in gap.questions if each != gap.question][:3]:
        click.echo(f"       also: {question}")
    for section in gap.sections:
        click.secho(f"       near: {' › '.join(section.heading_path)}  [{section.section_id}]", dim=True)
