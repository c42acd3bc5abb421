"""The core works without any extra, and a feature whose extra is missing says which command installs it.

Each case runs in a process of its own in which the packages of the extras cannot be imported.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from octavo.errors import EXTRAS

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "build": ("onnx",),
    "litellm": ("litellm",),
    "llm": ("agents", "openai"),
    "mcp": ("mcp",),
    "postgres": ("asyncpg",),
    "qdrant": ("qdrant_client", "grpc"),
    "service": (
        *("fastapi", "starlette", "uvicorn", "httptools", "prometheus_client"),
        *("python_multipart", "multipart"),
    ),
    "tracing": ("opentelemetry",),
}
EVERYTHING = tuple(package for packages in PACKAGES.values() for package in packages)

ADD_SEARCH_ASK = """
import asyncio
import octavo
from pathlib import Path

async def main():
    async with octavo.Library.open(Path(DATA) / "library") as library:
        await library.add(BOOK)
        found = await library.search("How many boats were lost?")
        answer = await library.ask("How many boats were lost?")
        return {"hits": len(found), "answer": answer.content}

show(asyncio.run(main()))
"""
OPEN = """
import asyncio
from pathlib import Path
from octavo import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder

async def main():
    settings = Settings(data=Path(DATA) / "library", **SETTINGS)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        await library.add(BOOK)
        await library.prepare()
        await library.ask("How many boats were lost?")

asyncio.run(main())
"""
USES = {
    "build": """
from octavo.models import graph
graph.build_graph({}, graph.Recipe(heads=2), precision="fp32")
""",
    "litellm": OPEN.replace("**SETTINGS", "model='litellm/openai/any'"),
    "llm": OPEN.replace("**SETTINGS", "model='any', model_url='http://127.0.0.1:9/v1'"),
    "mcp": "from octavo.mcp import serve_stdio",
    "postgres": OPEN.replace("**SETTINGS", "records_url='postgresql://nobody@127.0.0.1:9/none'"),
    "qdrant": OPEN.replace("**SETTINGS", "store_url='http://127.0.0.1:9'"),
    "service": "from octavo.server.app import make_app",
    "tracing": OPEN.replace("**SETTINGS", "tracing=True"),
}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "reef.md"
    path.write_text("# The reef\n\n## The storm\n\nSeven boats were lost on the reef below the tower.\n")
    return path


def run(code: str, *, hidden: tuple[str, ...], data: Path, book: Path) -> dict[str, object]:
    """Run `code` where the `hidden` packages are missing, and return what it showed or how it failed."""
    lines = [
        "import json, sys",
        f"sys.modules.update(dict.fromkeys({hidden!r}))",
        f"DATA, BOOK = {str(data)!r}, {str(book)!r}",
        "def show(value): print(json.dumps(value))",
        "from octavo.errors import OctavoError",
        "try:",
        *(f"    {line}" for line in code.strip().splitlines()),
        "except OctavoError as error:",
        "    show({'code': error.code, 'message': error.message})",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    shown: dict[str, object] = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    return shown


def test_the_core_alone_adds_searches_and_answers_offline(tmp_path: Path, book: Path) -> None:
    shown = run(ADD_SEARCH_ASK, hidden=EVERYTHING, data=tmp_path, book=book)
    assert shown["hits"] == 1
    assert "Seven boats were lost" in str(shown["answer"])


@pytest.mark.parametrize("extra", sorted(USES))
def test_a_feature_whose_extra_is_missing_names_the_command(extra: str, tmp_path: Path, book: Path) -> None:
    shown = run(USES[extra], hidden=PACKAGES[extra], data=tmp_path, book=book)
    assert shown["code"] == "missing_extra"
    assert f"pip install 'octavo[{extra}]'" in str(shown["message"])


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["serve"], "service"),
        (["mcp"], "mcp"),
        (["attach", "http://127.0.0.1:9"], "qdrant"),
        (["migrate", "--to", "http://127.0.0.1:9"], "qdrant"),
        (["migrate", "--to", "embedded", "--records", "postgresql://nobody@127.0.0.1:9/none"], "postgres"),
    ],
)
def test_the_command_line_says_it_in_a_sentence(command: list[str], extra: str, tmp_path: Path) -> None:
    arguments = ["octavo", "--data", str(tmp_path), *command]
    code = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES[extra]!r})); sys.argv = {arguments!r}"
    code += "\nfrom octavo.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"pip install 'octavo[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_service_without_mcp_serves_the_rest_and_answers_501_there(tmp_path: Path, book: Path) -> None:
    code = """
from fastapi.testclient import TestClient
from octavo.server.app import make_app
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from pathlib import Path

app = make_app(Settings(data=Path(DATA) / "library"), embedder=TinyEmbedder())
with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000)) as client:
    refused = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    show({"mcp": refused.status_code, "type": refused.headers["content-type"], "problem": refused.json(),
          "books": client.get("/v1/books").status_code})
"""
    shown = run(code, hidden=(*PACKAGES["mcp"], *PACKAGES["llm"]), data=tmp_path, book=book)
    assert (shown["mcp"], shown["books"]) == (501, 200)
    assert shown["type"] == "application/problem+json"
    problem = shown["problem"]
    assert isinstance(problem, dict)
    assert problem["code"] == "missing_extra"
    assert "pip install 'octavo[mcp]'" in problem["detail"]


def test_every_extra_is_declared_and_named_by_its_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["optional-dependencies"]
    assert set(EXTRAS) == set(PACKAGES) == set(declared) - {"all", "dev"}
    (everything,) = declared["all"]
    assert set(re.findall(r"\w+", everything.removeprefix("octavo"))) == set(EXTRAS)
    required = {re.split(r"[\[>=<]", line)[0] for line in project["dependencies"]}
    optional = {re.split(r"[\[>=<]", line)[0] for extra in EXTRAS for line in declared[extra]}
    assert not required & optional
