"""The examples run as they are, on a real book with the packaged models."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from octavo import Library
from octavo.testing import Call, Claims, ModelRequest, Reply, Say, ScriptedModel

pytestmark = pytest.mark.usefixtures("local_models")
EXAMPLES = Path(__file__).parent.parent / "examples"
BOOK = """# Lighthouses

## The lamp

The lamp of the old lighthouse was lit by the keeper's daughter every evening at six.

## The storm

In the great storm of 1851 seven boats were lost on the reef below the tower.
"""


@pytest.mark.parametrize("name", ["ask.py", "search.py"])
def test_an_example_finds_its_sentence_and_says_where(name: str, tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(BOOK, encoding="utf-8")
    command = [
        sys.executable,
        str(EXAMPLES / name),
        "book.md",
        "How many boats were lost in the great storm of 1851?",
    ]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "seven boats were lost on the reef" in said
    assert "Lighthouses › The storm" in said


async def test_the_demo_answers_all_its_questions_but_the_last_which_the_book_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    demo = import_module("demo")
    async with Library.open(tmp_path / "library") as library:
        book = await library.add(demo.ROOT / "docs", base_url=demo.SITE)
        answers = [await library.ask(question, book_id=book.id) for question in demo.QUESTIONS]
    assert [answer.refusal is None for answer in answers] == [True, True, True, False]


# With a language model: the scripted one stands where the vendor's would

QUESTION = "How many boats were lost in the great storm of 1851?"


def quoting(request: ModelRequest) -> Reply:
    return Claims([(text, [id_]) for id_, text in request.sentences.items() if "seven boats" in text])


def run(name: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (folder / "book.md").write_text(BOOK, encoding="utf-8")
    command = [sys.executable, str(EXAMPLES / name), "book.md", QUESTION]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("name", "model"), [("openai_model.py", "gpt-4.1-mini"), ("ollama_model.py", "qwen2.5:7b")]
)
def test_an_example_with_a_model_asks_it_and_cites_the_book(name: str, model: str, tmp_path: Path) -> None:
    with ScriptedModel(quoting) as server:
        address = server.url.removeprefix("http://").removesuffix("/v1")
        where = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test", "OLLAMA_HOST": address}
        done = run(name, tmp_path, where)
    assert done.returncode == 0, done.stderr
    assert "seven boats were lost on the reef below the tower. [1]" in done.stdout
    assert "[1] Lighthouses › The storm" in done.stdout
    assert {request.model for request in server.requests} == {model}
    if name == "openai_model.py":
        assert "… writing" in done.stdout
        assert done.stdout.rstrip().endswith(f"answered by {model}")


def test_an_agent_of_ones_own_searches_the_library_with_its_tool(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> Reply:
        if not request.tool_results:
            return Call("search_books", {"query": QUESTION, "book": None, "section": None})
        return Say(f"From the tool: {request.tool_results[0].text}")

    with ScriptedModel(answer) as server:
        done = run("own_agent.py", tmp_path, {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test"})
    assert done.returncode == 0, done.stderr
    assert "seven boats were lost on the reef below the tower" in done.stdout
    assert "Lighthouses › The storm" in done.stdout


def test_the_page_about_ones_own_agent_shows_the_example() -> None:
    page = (EXAMPLES.parent / "docs" / "own-agent.md").read_text(encoding="utf-8")
    shown = page.split("```python\n")[1].split("```")[0]
    lines = (EXAMPLES / "own_agent.py").read_text(encoding="utf-8").splitlines()
    assert shown.strip().splitlines() == lines[2:]
    assert len([line for line in shown.splitlines() if line.strip()]) <= 15


def test_the_example_for_other_vendors_asks_where_litellm_is_installed_and_else_says_how_to_get_it(
    tmp_path: Path,
) -> None:
    with ScriptedModel(quoting) as server:
        where = {"OCTAVO_MODEL_URL": server.url, "OCTAVO_MODEL_KEY": "sk-test", "OPENAI_API_KEY": "sk-other"}
        done = run("litellm_model.py", tmp_path, {"OCTAVO_MODEL": "litellm/openai/scripted", **where})
    if find_spec("litellm") is None:
        assert done.returncode == 1
        assert "pip install 'octavo[litellm]'" in done.stderr
        assert server.requests == []
    else:
        assert done.returncode == 0, done.stderr
        assert "seven boats were lost on the reef below the tower. [1]" in done.stdout
        assert {(r.model, r.headers["authorization"]) for r in server.requests} == {
            ("scripted", "Bearer sk-test")
        }
        assert "LiteLLM" not in done.stderr
