"""Commands that search, ask, and look at earlier answers: search, ask, verify, sessions."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from octavo.cli.common import (
    FAILED,
    NOT_SAID,
    Command,
    GroupOptions,
    add_common_options,
    format_count,
    is_terminal,
    run_with_library,
    show_json,
)
from octavo.events import Answered, Asked, AskEvent, Retrieved, Scoped, last
from octavo.types import Evidence, Question, Scope, ScopeType

if TYPE_CHECKING:
    from octavo.answers.audit import Verdict
    from octavo.library import Library
    from octavo.types import Citation, Session

# What the app says of how sure an answer is, from these figures on. One with less is shown as a guess.
SURE = ((0.9, "Very confident"), (0.7, "Fairly confident"), (0.4, "Not very confident"))

# So much of a session's id is shown, and enough to name it.
SHORT_ID = 8
_MADE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# The word in the place of a session's id that asks to delete old ones.
PRUNE = "prune"
LAST = "last"


def add_scope_options(command: Command) -> Command:
    """Add the options that narrow a search."""
    for option in (
        click.option(
            "--up-to", help="Only the text up to the end of this section, page ('p. 12') or position."
        ),
        click.option("--page", help="A page or a range: 12, xii, 12-15. #12 is the 12th physical page."),
        click.option("--section", help="A section with its subsections, by id, title or address."),
        click.option(
            "--tag", "tags", multiple=True, help="Only books with this tag, of those named. Can be repeated."
        ),
        click.option(
            "--book", "names", multiple=True, help="Only this book, by id or title. Can be repeated."
        ),
    ):
        command = option(command)
    return command


def make_scope(section: str | None, page: str | None, up_to: str | None) -> Scope | None:
    given = [(ScopeType.SECTION, section), (ScopeType.PAGE, page), (ScopeType.UP_TO, up_to)]
    chosen = [(kind, name) for kind, name in given if name is not None]
    if len(chosen) > 1:
        raise click.UsageError("Use only one of --section, --page and --up-to.")
    return Scope(type=chosen[0][0], identifier=chosen[0][1]) if chosen else None


async def choose_books(
    library: Library, names: Sequence[str], tags: Sequence[str]
) -> tuple[str | None, tuple[str, ...] | None]:
    """Return the one book that is chosen, or the ids of several. Names and tags narrow together.

    Without any, all are meant.
    """
    if len(names) < 2 and not tags:
        return next(iter(names), None), None
    chosen = tuple(dict.fromkeys([(await library.book(name)).id for name in names]))
    if tags:
        from octavo.search.scope import keep_tagged

        tagged = await library.tagged(tags)
        chosen = keep_tagged(chosen, tagged, tags) if chosen else tagged
    return (chosen[0], None) if len(chosen) == 1 else (None, chosen)


@click.command(short_help="Find passages by meaning and by words.")
@click.argument("query")
@add_scope_options
@click.option("--top", "top_k", default=5, show_default=True, help="Number of passages, 1 to 100.")
@click.option("--no-rerank", is_flag=True, help="Faster: do not reorder the results with the local model.")
@add_common_options
def search(
    context: GroupOptions,
    query: str,
    names: tuple[str, ...],
    tags: tuple[str, ...],
    section: str | None,
    page: str | None,
    up_to: str | None,
    top_k: int,
    no_rerank: bool,
    data: str | None,
    as_json: bool,
) -> None:
    """Find the passages that match QUERY best, by meaning and by words.

    \b
      octavo search "why is the whale white?"
      octavo search "interest rates" --book annual-report --page 40-60
      octavo search "storms at sea" --book moby-dick --book typhoon
      octavo search "who is Ishmael?" --book moby-dick --up-to "Chapter 10"
    """
    within = make_scope(section, page, up_to)
    began = time.monotonic()

    async def work(library: Library) -> list[Evidence]:
        book_id, books = await choose_books(library, names, tags)
        return await library.search(
            query, book_id=book_id, scope=within, top_k=top_k, books=books, rerank=not no_rerank
        )

    found = run_with_library(context, data, work)
    if as_json:
        from octavo.schemas import SearchJson

        show_json(SearchJson.from_results(found, seconds=time.monotonic() - began))
    else:
        for evidence in found:
            show_evidence(evidence)
    if not found:
        click.echo("Nothing found. `octavo list` shows the books of the library.", err=True)
        raise click.exceptions.Exit(NOT_SAID)


def show_evidence(evidence: Evidence) -> None:
    chunk = evidence.chunk
    width = min(100, shutil.get_terminal_size().columns)
    click.secho(f"{evidence.rank}. {chunk.source_location}", bold=True, nl=False)
    click.secho(f"  {evidence.relevance_score:.0%}", dim=True)
    for line in chunk.content.splitlines():
        wrapped = textwrap.wrap(line, width - 3, break_long_words=False) or [""]
        click.echo("\n".join(f"   {w}" for w in wrapped))
    click.secho(f"   {chunk.url}\n", dim=True)


async def find_session_id(library: Library, name: str) -> str:
    """Return the id that a name is, or that it is the beginning of if only one begins so. "last" is the
    newest conversation.
    """
    ids = [session.session_id for session in await library.conversations.list_sessions()]
    if name == LAST and name not in ids and ids:
        return ids[0]
    begun = [id_ for id_ in ids if id_.startswith(name)]
    return begun[0] if name not in ids and len(begun) == 1 else name


def show_sessions(sessions: Sequence[Session], titles: Mapping[str, str], *, as_json: bool) -> None:
    """Print the conversations, the newest first."""
    if as_json:
        from octavo.schemas import SessionListJson

        show_json(SessionListJson.from_sessions(sessions))
    elif not sessions:
        click.echo("No conversations yet. `octavo chat` starts one.")
    else:
        for session in sessions:
            count = f"{session.query_count} question{'' if session.query_count == 1 else 's'}"
            state = "ended" if session.end_time else "open"
            shown = textwrap.shorten(titles.get(session.session_id, ""), 60, placeholder=" …")
            when = f"{session.start_time:%Y-%m-%d %H:%M}"
            name = f"{_shorten_id(session.session_id):<{SHORT_ID}}"
            click.echo(f"{name}  {when}  {count}, {state}  {shown}".rstrip())


def _shorten_id(session_id: str) -> str:
    """Shorten an id that we made. A name that somebody chose stays whole."""
    return session_id[:SHORT_ID] if _MADE_ID.fullmatch(session_id) else session_id


async def export_session(library: Library, session_id: str, *, as_json: bool) -> str:
    """Return one conversation with its citations, as Markdown or JSON."""
    from octavo.answers.export import list_sections, write_markdown
    from octavo.answers.export_blocks import find_sections
    from octavo.schemas import SessionExport

    session_id = await find_session_id(library, session_id)
    session = await library.conversations.find_session(session_id)
    meant = {
        entry.question.id: entry.interpreted
        for entry in await library.conversations.list_exchanges(session_id)
    }
    if as_json:
        return json.dumps(
            SessionExport.from_session(session, interpreted=meant).to_json(), ensure_ascii=False, indent=2
        )
    quoted = await find_sections(list_sections(session), library.section)
    return write_markdown(session, interpreted=meant, sections=quoted)


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}.") from error
    click.echo(f"Written to {path}.", err=True)


@click.command(short_help="Answer a question in the book's own words, with footnotes.")
@click.argument("question")
@add_scope_options
@click.option("--selected-text", help="Ask about this text; '-' reads it from standard input.")
@click.option(
    "--session",
    "session_id",
    help="Continue a conversation, or start one with this name. Follow-up questions work.",
)
@click.option("--top", "top_k", default=5, show_default=True, help="Number of passages to read, 1 to 20.")
@add_common_options
def ask(
    context: GroupOptions,
    question: str,
    names: tuple[str, ...],
    tags: tuple[str, ...],
    section: str | None,
    page: str | None,
    up_to: str | None,
    selected_text: str | None,
    session_id: str | None,
    top_k: int,
    data: str | None,
    as_json: bool,
) -> None:
    """Answer QUESTION with the book's own sentences and footnotes, or say that the book does not answer it.

    \b
      octavo ask "Where does Queequeg come from?"
      octavo ask "What was revenue in 2022?" --book annual-report --page 40-60
      octavo ask "Who is speaking?" --selected-text "Call me Ishmael."
    """
    from octavo.schemas import AnsweredJson

    if not question.strip():
        raise click.UsageError("QUESTION is empty.")
    within = make_scope(section, page, up_to)
    selection = sys.stdin.read().strip() if selected_text == "-" else selected_text
    if selection is not None and not selection.strip():
        raise click.UsageError("--selected-text is empty; leave it out to ask the whole book.")

    async def work(library: Library) -> Answered:
        book_id, books = await choose_books(library, names, tags)
        asked = Question(
            content=question,
            book_id=book_id,
            scope=within or Scope(),
            selected_text=selection,
            session_id=session_id,
            top_k=top_k,
        )
        return await answer_question(library, asked, books=books, quiet=as_json)

    done = run_with_library(context, data, work)
    if as_json:
        show_json(AnsweredJson.from_event(done))
    else:
        show_answer(done)
    if done.answer.refusal is not None:
        raise click.exceptions.Exit(NOT_SAID)


async def answer_question(
    library: Library, question: Question, *, quiet: bool, books: Sequence[str] | None = None
) -> Answered:
    """Answer a question, and show each step on the terminal while it lasts."""

    async def show_step(event: AskEvent) -> None:
        if is_terminal() and not quiet and not isinstance(event, Answered):
            click.echo(f"\r{_describe_step(event):<78}\r", nl=False, err=True)

    done = await last(library.stream(question, books=books), on_event=show_step)
    return replace(done, answer=await library.conversations.deliver(done.answer))


def _describe_step(event: AskEvent) -> str:
    match event:
        case Asked():
            return f"looking for: {event.interpreted[:60]}"
        case Scoped():
            return f"in {event.description[:70]}"
        case Retrieved():
            return f"reading {len(event.evidence)} passages"
        case _:
            return ""


WITHOUT_MODEL = "offline, because "


def _describe_confidence(confidence: float) -> str:
    """Say how reliable an answer is in the words of the app, and call a guess a guess."""
    said = next((words for least, words in SURE if confidence >= least), None)
    if said is None:
        return f"A guess ({confidence:.0%}): these sentences come closest, but may not answer it."
    return f"{said} ({confidence:.0%})."


def describe_place(citation: Citation) -> str:
    """Describe where a quotation stands: the book, every heading above it, and the page."""
    chunk, said = citation.chunk, citation.source_location
    path = chunk.heading_path
    short = " › ".join(dict.fromkeys((chunk.source_title, *path[:1], *path[-1:])))
    whole = " › ".join(dict.fromkeys((chunk.source_title, *path)))
    return whole + said.removeprefix(short) if said.startswith(short) else said


def show_answer(done: Answered) -> None:
    width = min(100, shutil.get_terminal_size().columns)
    if done.interpreted != done.question.content:
        click.secho(f"(interpreted as: {done.interpreted})", dim=True)
    if done.answerer.startswith(WITHOUT_MODEL):
        reason = done.answerer.removeprefix(WITHOUT_MODEL)
        click.secho(f"Answered without the model: {reason}.", fg="yellow", err=True)
    answer = done.answer
    text = answer.content
    for sentence in dict.fromkeys(answer.translated):
        text = text.replace(sentence, f"{sentence} (translated)")
    if answer.short is not None:
        mark = f"[{answer.short.citation}]"
        opening, _, text = text.partition(mark)
        click.secho(f"{opening}{mark}\n", bold=True)
    for line in text.strip().splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        wrapped = textwrap.wrap(line, width, break_long_words=False, subsequent_indent=indent)
        click.echo("\n".join(wrapped))
    if answer.refusal is not None:
        for item, excerpt in zip(answer.refusal.nearest, answer.refusal.excerpts, strict=True):
            click.echo(f"\n  {item.chunk.source_location}")
            # Code, lists and tables keep their lines.
            lines = (textwrap.wrap(line, width - 4, break_long_words=False) for line in excerpt.split("\n"))
            for line in chain.from_iterable(lines):
                click.echo(f"    {line}")
            click.secho(f"    {item.chunk.url}", dim=True)
        return
    click.secho(f"\n{_describe_confidence(answer.confidence)}", dim=True)
    originals = {number for claim in done.claims if claim.translated for number in claim.citations}
    for citation in answer.citations:
        click.echo(f"  [{citation.number}] {describe_place(citation)}")
        if citation.number in originals:
            for line in textwrap.wrap(f"“{citation.content_snippet}”", width - 6, break_long_words=False):
                click.echo(f"      {line}")
        click.secho(f"      {citation.link}", dim=True)


@click.command(short_help="Check the quotations of old answers against the book.")
@click.argument("answer", required=False)
@add_common_options
def verify(context: GroupOptions, answer: str | None, data: str | None, as_json: bool) -> None:
    """Check the quotations of ANSWER, or of all answers, against the book, letter by letter.

    Exit code 0 if every quotation is in the book at its place, 1 if one is not.

    \b
      octavo verify
      octavo verify --json
    """
    from octavo.maintenance.repair import describe_lost_records
    from octavo.schemas import VerificationJson

    async def work(library: Library) -> tuple[list[Verdict], str]:
        return await library.verify(answer), await describe_lost_records(library.settings, library.database)

    verdicts, lost = run_with_library(context, data, work)
    if lost:
        click.echo(lost, err=True)
    wrong = [v for v in verdicts if not v.true and v.checked]
    checked = [v for v in verdicts if v.checked]
    if as_json:
        show_json(VerificationJson.from_verdicts(verdicts, true=not wrong))
    else:
        for verdict in wrong:
            click.echo(f"✗ {verdict.answer_id} [{verdict.number}] {verdict.source_location}: {verdict.note}")
        click.echo(f"{len(checked) - len(wrong)} of {len(checked)} quotations are correct.")
        if len(checked) < len(verdicts):
            gone = len(verdicts) - len(checked)
            click.echo(f"{gone} cannot be checked: their books or editions are no longer in the library.")
    if wrong:
        raise click.exceptions.Exit(FAILED)


@click.command()
@click.argument("session", required=False)
@click.option(
    "--export", "path", type=click.Path(dir_okay=False), help="Write it to this file, as Markdown or JSON."
)
@click.option("--delete", is_flag=True, help="Delete the conversation, with its questions and answers.")
@click.option(
    "--older-than", "days", type=click.IntRange(min=1), help="With `prune`: delete what is older, in days."
)
@add_common_options
def sessions(
    context: GroupOptions,
    session: str | None,
    path: str | None,
    delete: bool,
    days: int | None,
    data: str | None,
    as_json: bool,
) -> None:
    """List the conversations, or show, export or delete one.

    `prune` deletes old questions and answers.

    \b
      octavo sessions
      octavo sessions 3f2a91c0 --export talk.md
      octavo sessions 3f2a91c0 --delete
      octavo sessions prune --older-than 90
    """
    if session == PRUNE or days is not None:
        _prune(context, data, session, days, as_json=as_json)
        return
    if delete:
        _delete_session(context, data, session, as_json=as_json)
        return

    if session is None:
        if path:
            raise click.UsageError("--export needs the id of a conversation.")

        async def list_all(library: Library) -> tuple[list[Session], dict[str, str]]:
            found = await library.conversations.list_sessions()
            return found, await library.conversations.list_titles([each.session_id for each in found])

        show_sessions(*run_with_library(context, data, list_all), as_json=as_json)
        return
    wants_json = as_json or (path or "").endswith(".json")
    text = run_with_library(
        context, data, lambda library: export_session(library, session, as_json=wants_json)
    )
    if path:
        write_text(Path(path), text)
    else:
        click.echo(text)


def _prune(
    context: GroupOptions, data: str | None, session: str | None, days: int | None, *, as_json: bool
) -> None:
    """Delete old questions and answers: as many days as given, or as the settings say."""
    from octavo.schemas import DeletedJson

    if session != PRUNE:
        raise click.UsageError("--older-than belongs to `octavo sessions prune`.")

    async def work(library: Library) -> int:
        if days is None and not library.settings.keep_days:
            raise click.UsageError("Say how old with --older-than DAYS, or set OCTAVO_KEEP_DAYS.")
        return await library.prune(days=days)

    count = run_with_library(context, data, work)
    if as_json:
        show_json(DeletedJson(deleted=count))
    else:
        click.echo(f"Deleted {format_count(count, 'question')} with their answers.")


def _delete_session(context: GroupOptions, data: str | None, session: str | None, *, as_json: bool) -> None:
    from octavo.schemas import DeletedJson

    if session is None:
        raise click.UsageError("--delete needs the id of a conversation.")

    async def work(library: Library) -> int:
        id_ = await find_session_id(library, session)
        count = len(await library.conversations.list_exchanges(id_))
        await library.conversations.delete_session(id_)
        return count

    count = run_with_library(context, data, work)
    if as_json:
        show_json(DeletedJson(deleted=count))
    else:
        click.echo(f"Deleted the conversation with {format_count(count, 'question')}.")
