"""The contract of the code base: who may import whom, who owns which library, and how big things are.

Modules stand in layers. A module imports from its own layer or from those above it in `LAYERS`, never in a
circle; imports inside functions and under TYPE_CHECKING count like any other. The budgets are DESIGN's.
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "octavo"

LAYERS = (
    ("errors", "rules", "states", "limits", "types", "conversation", "events", "protocols", "settings"),
    ("readers", "text", "binding", "sentences", "chunking", "fusion", "words", "wordforms", "speech"),
    ("relevance", "selection"),
    ("mentions", "questions", "matching", "measures", "scoring", "answering", "verification", "followups"),
    ("links", "citations", "refusing", "export", "prompts", "wording"),
    ("concurrency", "models", "embedding", "local", "llm", "tracing", "store", "parsing"),
    ("schema", "schema_asking", "schema_service", "migrations"),
    ("records", "records_database", "records_editions", "records_reading", "records_rows"),
    ("journal", "journal_rows", "keys", "throttle", "jobs", "covers"),
    ("remembered", "perusal", "scope", "retrieval", "reading", "shelf", "tools", "agent", "desk", "auditing"),
    ("drafting", "ingest", "repair", "doctor", "ask", "moving", "attaching", "workers"),
    ("library",),
    ("", "testing", "wire", "wire_asking", "wire_service", "mcp", "cli", "server"),
)
OWNERS = {
    "qdrant_edge": {"store.edge", "store.edge_filters", "store.edge_files", "testing.qdrant_collections"},
    "onnxruntime": {"embedding", "local"},
    "tokenizers": {"embedding", "local"},
    "qdrant_client": {"store.qdrant"},
    "agents": {"llm", "agent", "tools"},
    "openai": {"llm", "agent"},
    "opentelemetry": {"tracing"},
    "mcp": {"mcp"},
    "limits": {"throttle"},
    "prometheus_client": {"server"},
    "python_multipart": {"server"},
    "onnx": {"models"},
    "pypdfium2": {"readers.pdf"},
    "lxml": {"readers.opf", "readers.epub"},
    "selectolax": {"readers.dom", "readers.html"},
    "pyromark": {"readers.markdown"},
    "nupunkt": {"sentences"},
    "sqlalchemy": {"schema", "records", "journal", "migrations", "keys", "throttle", "jobs", "covers"},
    "alembic": {"migrations"},
    "click": {"cli"},
    "fastapi": {"server"},
    "uvicorn": {"cli", "testing"},
}
HEAVY = (
    *("numpy", "onnxruntime", "qdrant_edge", "sqlalchemy", "lxml", "pypdfium2", "pydantic", "nupunkt"),
    *("qdrant_client", "agents", "openai", "mcp", "fastapi", "prometheus_client"),
)


def module_name(path: Path) -> str:
    parts = list(path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    files = sorted(SOURCE.rglob("*.py"))
    return {module_name(f): ast.parse(f.read_text(encoding="utf-8")) for f in files}


def imports(name: str) -> set[str]:
    """Every module that `name` imports, anywhere in it; our own without their package name."""
    found: set[str] = set()
    for node in ast.walk(modules()[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            base = node.module or ""
            found |= {f"{base}.{a.name}" if is_module(f"{base}.{a.name}") else base for a in node.names}
    return found


def is_module(dotted: str) -> bool:
    return dotted.removeprefix("octavo").removeprefix(".") in modules() and dotted.startswith("octavo")


def own_imports(name: str) -> set[str]:
    ours = {i for i in imports(name) if i == "octavo" or i.startswith("octavo.")}
    return {i.removeprefix("octavo").removeprefix(".") for i in ours} - {name}


def layer(name: str) -> int:
    top = name.split(".")[0]
    for number, names in enumerate(LAYERS):
        if top in names:
            return number
    raise AssertionError(f"module {name!r} stands in no layer: add it to LAYERS deliberately")


def test_every_module_imports_only_from_its_own_layer_or_those_above() -> None:
    wrong = [(n, i) for n in modules() for i in own_imports(n) if layer(i) > layer(n)]
    assert not wrong, wrong


def test_no_imports_go_in_a_circle_even_lazily() -> None:
    graph = {n: own_imports(n) for n in modules()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " → ".join((*trail, name))
        if name not in done:
            for other in graph.get(name, ()):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("library", OWNERS)
def test_each_outside_library_has_its_owners(library: str) -> None:
    users = {n for n in modules() if any(i.split(".")[0] == library for i in imports(n))}
    owned = {u for u in users if any(u == o or u.startswith((f"{o}.", f"{o}_")) for o in OWNERS[library])}
    assert users == owned


def test_importing_octavo_and_its_command_line_loads_nothing_heavy() -> None:
    code = f"import sys, octavo, octavo.cli; print([m for m in {HEAVY} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions() -> list[tuple[str, int]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = chain.from_iterable(
        ((n, f) for f in ast.walk(t) if isinstance(f, kinds)) for n, t in modules().items()
    )
    return [(f"{n}.{f.name}", (f.end_lineno or f.lineno) - f.lineno + 1) for n, f in found]


def test_files_stay_small() -> None:
    sizes = {str(f.relative_to(ROOT)): lines(f) for f in SOURCE.rglob("*.py")}
    assert max(sizes.values()) <= 400, max(sizes.items(), key=lambda kv: kv[1])
    assert statistics.median(sizes.values()) <= 150


def test_functions_stay_small() -> None:
    sizes = sorted(size for _, size in functions())
    assert sizes[-1] <= 60, max(functions(), key=lambda kv: kv[1])
    assert sizes[int(len(sizes) * 0.9)] <= 30


def test_public_names_are_few() -> None:
    import octavo

    assert len(octavo.__all__) <= 25


def test_readme_is_short_and_shows_code_early() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(text) <= 150
    assert any(line.startswith("```") for line in text[:25])


def test_tests_weigh_as_much_as_code() -> None:
    code = sum(lines(f) for f in SOURCE.rglob("*.py"))
    tests = sum(lines(f) for f in (ROOT / "tests").rglob("*.py"))
    assert 1.0 <= tests / code <= 1.5, f"{tests} lines of tests for {code} lines of code"


def test_nothing_of_ours_is_mocked() -> None:
    mocks = [
        f.name
        for f in (ROOT / "tests").rglob("*.py")
        if "unittest." + "mock" in f.read_text(encoding="utf-8")
    ]
    assert not mocks


def test_no_lock_file_records_addresses() -> None:
    names = {"uv.lock", "poetry.lock", "pdm.lock", "package-lock.json", "yarn.lock"}
    assert not [p for p in ROOT.iterdir() if p.name in names]
