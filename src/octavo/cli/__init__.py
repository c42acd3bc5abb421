"""The command line.

Results go to standard output, progress and errors to standard error. Exit codes: 0 done, 1 failed, 2 wrong
usage, 3 the book does not answer. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import sys

import click

from octavo import __version__
from octavo.cli import (
    ask,
    backup,
    books,
    chat,
    completion,
    evaluate,
    gaps,
    keys,
    maps,
    migrate,
    push,
    serve,
    setup,
    sync_folder,
    widget,
)
from octavo.cli.common import GroupOptions, report_error
from octavo.errors import OctavoError

HELP = """Ask your books: every sentence of an answer has a footnote, or Octavo says that it found no answer.

\b
  octavo add moby-dick.epub            also PDF, HTML, Markdown, Word, Sphinx, MkDocs …
  octavo ask "Where does Queequeg come from?"
  octavo search "harpoon" --book moby-dick --section "The Line"

The library is one folder: --data, or $OCTAVO_DATA, or your user data directory.
Every command takes --json. `octavo COMMAND --help` shows examples.
"""


@click.group(help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--data", type=click.Path(file_okay=False), help="Folder of the library.")
@click.version_option(__version__, prog_name="octavo")
@click.pass_context
def octavo(context: click.Context, data: str | None) -> None:
    context.obj = GroupOptions(data=data)


for command in (
    books.add,
    sync_folder.sync,
    books.list_,
    books.contents,
    books.tag,
    maps.map_,
    ask.search,
    ask.ask,
    chat.chat,
    ask.verify,
    ask.sessions,
    gaps.gaps,
    evaluate.eval_,
    serve.serve,
    serve.mcp,
    books.work,
    keys.keys,
    books.remove,
    push.push,
    migrate.attach,
    migrate.migrate,
    widget.widget,
    backup.backup,
    backup.restore,
    books.doctor,
    setup.setup,
    completion.completion,
):
    octavo.add_command(command)


def main() -> None:
    """Run the command line. Each of our own errors becomes a message with a hint, never a traceback."""
    try:
        sys.exit(octavo.main(prog_name="octavo", standalone_mode=False))
    except click.ClickException as wrong:
        wrong.show()
        sys.exit(wrong.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped. Nothing is lost; run the same command again to continue.", err=True)
        sys.exit(130)
    except OctavoError as error:
        sys.exit(report_error(error, as_json="--json" in sys.argv))
    except BrokenPipeError:
        sys.exit(1)
    except OSError as failed:
        click.echo(f"octavo: {failed}", err=True)
        sys.exit(1)
