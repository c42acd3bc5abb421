"""What `make demo` runs: adds the bundled book (this documentation), asks it, and shows the way on.

With `--serve` it then serves the library: the app, and the documentation as a site with the widget on it.
"""

from __future__ import annotations

import asyncio
import sys
import textwrap
from pathlib import Path
from typing import Any

import docs_site

from octavo import Library
from octavo.events import Embedding, IngestEvent

ROOT = Path(__file__).parent.parent
DATA = ROOT / ".demo"
PORT = 8321
HOME = f"http://127.0.0.1:{PORT}/"
SITE = f"{HOME}book/"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
QUESTIONS = (
    "What is a section?",
    "What happens if the process dies before step 5?",
    "Why is each text embedded by itself?",
    "Who won the football world cup in 1998?",
)


def progress(event: IngestEvent) -> None:
    if isinstance(event, Embedding):
        print(f"\r  {event.done} of {event.total} passages", end="", flush=True)


async def main() -> str:
    async with Library.open(DATA) as library:
        print("Adding the bundled book: Octavo's own documentation.")
        book = await library.add(ROOT / "docs", base_url=SITE, on_event=progress)
        print(f"\r  {book.title}: {book.section_count} sections, {book.chunk_count} passages\n")
        for question in QUESTIONS:
            answer = await library.ask(question, book_id=book.id)
            print(f"? {question}")
            print(textwrap.fill(answer.content, 100, initial_indent="  ", subsequent_indent="  "))
            for cited in answer.citations:
                print(f"    [{cited.number}] {cited.source_location}")
            print(f"    {answer.processing_time_ms} ms\n")
    return book.id


def serve(book_id: str) -> None:
    """The app at `/`, and this documentation with the widget at `/book/`, until it is stopped."""
    import uvicorn
    from starlette.responses import Response
    from starlette.staticfiles import StaticFiles

    from octavo.server.app import make_app
    from octavo.settings import Settings

    class Site(StaticFiles):
        """Pages with a policy of their own: nothing but this site's files, and the widget's questions."""

        def file_response(self, *args: Any, **named: Any) -> Response:
            response = super().file_response(*args, **named)
            response.headers["Content-Security-Policy"] = POLICY
            return response

    site = docs_site.build(ROOT / "docs", DATA / "site", server=HOME, book_id=book_id)
    app = make_app(Settings(data=DATA))
    app.mount("/book", Site(directory=site, html=True))
    print(f"The app:                              {HOME}")
    print(f"The documentation, with the widget:   {SITE}\n\nCtrl-C stops it.")
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")


if __name__ == "__main__":
    added = asyncio.run(main())
    if "--serve" in sys.argv:
        serve(added)
    else:
        print("Now try it yourself:\n")
        print(f"  .venv/bin/python examples/demo.py --serve   # open the app at {HOME}")
        print(
            f"                                              # and the documentation with the widget at {SITE}"
        )
        print("  .venv/bin/octavo add YOUR-BOOK.epub")
        print('  .venv/bin/octavo ask "a question of yours"')
        print(f"  .venv/bin/octavo --data {DATA.name} serve     # the API is described at {HOME}docs")
