"""What a reference says of one of its entries: a command, an option, a variable."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.library import Library
from octavo.types import Scope, ScopeType
from tests.support.answerers import ask_truly, fill_library, open_copy

MANUAL = """<title>Winch Guide</title><h1>Winch Guide</h1><p>The winch is run from a desk on the quay.</p>
<h2>Commands</h2><p>The desk knows few commands.</p>
<dl>
<dt><code>haul</code></dt><dd><pre>haul [-q] [n]</pre>
<p>Turn the drum n times. The rope comes in at the bow. It stops at a knot.</p><p>Mind your hands.</p></dd>
<dt><code>slack</code></dt><dt><code>ease</code></dt><dd><p>Let the rope out until it hangs.</p></dd>
<dt>park BERTH</dt><dd>Lower the hook to the ground. The lamp is red then.</dd>
</dl>
<h2>Options</h2>
<dl>
<dt>-q FILE</dt><dd>Say nothing. Errors go to the file.</dd>
<dt>-V</dt><dd>Print the version and exit.</dd>
<dt>program</dt><dd>A roll of steps that the desk keeps.</dd>
<dt>knot_stop</dt><dd>If this is set, haul ends at a knot.</dd>
</dl>
<h2>Signals of the quay</h2>
<dl><dt>horn</dt><dd>Somebody stands below the load.</dd></dl>
<h2>Signals of the ship</h2>
<dl><dt>horn</dt><dd>The ship is about to sail.</dd></dl>
<h2>Index</h2>
<table><tr><td>park:</td><td></td><td>Commands of the desk on the quay</td></tr></table>
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("entries")
    (folder / "guide.html").write_text(MANUAL, encoding="utf-8")
    return fill_library(folder / "library", folder / "guide.html", chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    async with open_copy(shelf, tmp_path, chunk_tokens=64, local_models=False) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "opening"),
    [
        ("what does haul do", "Turn the drum n times."),
        ("What is the haul command for?", "Turn the drum n times."),
        ("what does slack do", "ease\nLet the rope out until it hangs."),
        ("what is ease", "ease\nLet the rope out until it hangs."),
        ("what does park do", "park BERTH\nLower the hook to the ground."),
        ("what does the -q option do", "-q FILE\nSay nothing."),
        ("what does -V do", "-V\nPrint the version and exit."),
        ("what does knot_stop mean", "knot_stop\nIf this is set, haul ends at a knot."),
    ],
)
async def test_an_entry_says_what_it_is(library: Library, question: str, opening: str) -> None:
    answer = await ask_truly(library, question)
    assert answer.content.startswith(opening)
    assert answer.confidence >= 0.6


async def test_an_entry_is_quoted_to_the_end_of_its_paragraph(library: Library) -> None:
    answer = await ask_truly(library, "what does haul do")
    assert "It stops at a knot." in answer.content
    assert "Mind your hands." not in answer.content
    answer = await ask_truly(library, "what does park do")
    assert "The lamp is red then." in answer.content
    assert "Say nothing" not in answer.content


@pytest.mark.parametrize(
    "question",
    [
        "what does q do",  # "-q" is another name
        "what does -v do",  # so is "-V"
        "what is a program option",  # is no program
        "who is ease",
        "what does the horn do",  # two entries
        "what does the rope do",  # none
    ],
)
async def test_another_name_has_no_entry(library: Library, question: str) -> None:
    answer = await library.ask(question)
    assert answer.confidence != pytest.approx(0.6)


async def test_an_entry_out_of_scope_tells_nothing(library: Library) -> None:
    options = Scope(type=ScopeType.SECTION, identifier="Options")
    answer = await library.ask("what does slack do", scope=options)
    assert "Let the rope out" not in answer.content
    before = Scope(type=ScopeType.UP_TO, identifier="Commands")
    answer = await library.ask("what does knot_stop do", scope=before)
    assert "If this is set" not in answer.content
