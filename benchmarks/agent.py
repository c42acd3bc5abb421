"""What the agent costs on this machine beyond the model's own time: CPU of this process for each turn.

    python -m benchmarks.agent [--questions 40]

The scripted model runs in a process of its own. It searches, reads a section and then quotes: three turns a
question. The same questions answered offline are taken off; what is left is divided by the turns.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import Call, Claims, ModelRequest, Reply, ScriptedModel

BOOK = Path(__file__).parent.parent / "docs"
TURNS = 3
QUESTION = "What happens to a chunk when its section changes, the {n}th time?"


def script(request: ModelRequest) -> Reply:
    done = len(request.tool_results)
    if done == 0:
        return Call("search_book", {"query": request.question.split("\n")[0], "top_k": 5})
    if done == 1:
        return Call("read_section", {"section": "", "around": "s1"})
    return Claims([(text, [id_]) for id_, text in list(request.sentences.items())[:2]])


async def serve() -> None:
    async with ScriptedModel(script) as model:
        print(model.url, flush=True)
        await asyncio.Event().wait()


async def measure(settings: Settings, questions: int) -> tuple[float, list[int]]:
    """CPU seconds of a question, the first left out, and how many turns each took."""
    turns: list[int] = []
    async with Library.open(settings=settings) as library:
        await library.ask(QUESTION.format(n=0))
        began = time.process_time()
        for n in range(1, questions + 1):
            answer = await library.ask(QUESTION.format(n=n))
            model = (await library.conversations.find_exchange(answer.id)).receipt.get("model", {})
            turns.append(model.get("turns", 0) if isinstance(model, dict) else 0)
        return (time.process_time() - began) / questions, turns


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--questions", type=int, default=40)
    options.add_argument("--serve", action="store_true", help="be the scripted model")
    said = options.parse_args()
    if said.serve:
        asyncio.run(serve())
        return
    command = [sys.executable, "-m", "benchmarks.agent", "--serve"]
    with (
        tempfile.TemporaryDirectory(prefix="octavo-agent-") as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as model,
    ):
        try:
            assert model.stdout is not None
            url = model.stdout.readline().strip()
            plain = Settings(data=Path(folder), risk=0.9)
            asyncio.run(_fill_library(plain))
            offline, _ = asyncio.run(measure(plain, said.questions))
            modelled = plain.model_copy(update={"model": "scripted-1", "model_url": url})
            agent, turns = asyncio.run(measure(modelled, said.questions))
        finally:
            model.terminate()
    assert set(turns) == {TURNS}, turns
    each = (agent - offline) / TURNS
    print("| offline, CPU | agent, CPU | turns | beyond the model, CPU a turn |\n|---|---|---|---|")
    print(f"| {offline * 1000:.1f} ms | {agent * 1000:.1f} ms | {TURNS} | {each * 1000:.1f} ms |")


async def _fill_library(settings: Settings) -> None:
    async with Library.open(settings=settings) as library:
        await library.add(BOOK)


if __name__ == "__main__":
    main()
