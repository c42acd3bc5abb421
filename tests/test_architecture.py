"""The contract of the code base: who may import whom, who owns which library, and how big things are.

`LAYERS` lists the entries of `src/octavo`. A module imports from its own layer or from those before it, and
neither files nor packages import each other in a circle. Imports inside functions and under TYPE_CHECKING
count like any other. Raise a budget only in a commit of its own that says why.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "octavo"

LAYERS = (
    ("errors", "limits"),
    ("validation", "settings"),
    ("types",),
    ("protocols", "events", "text", "concurrency", "tracing"),
    ("store", "models", "readers", "verification"),
    ("records",),
    ("search", "ingest"),
    ("answers", "schemas"),
    ("llm",),
    ("maintenance",),
    ("library",),
    ("", "sync", "testing", "mcp", "cli", "server"),
)
OWNERS = {
    "qdrant_edge": {
        *("store.bm25", "store.compaction", "store.edge"),
        *("store.edge_digests", "store.edge_files", "store.edge_filters"),
    },
    "onnxruntime": {"models"},
    "tokenizers": {"models"},
    "qdrant_client": {"store.qdrant"},
    "agents": {"llm"},
    "openai": {"llm"},
    "opentelemetry": {"tracing"},
    "mcp": {"mcp"},
    "prometheus_client": {"server"},
    "python_multipart": {"server"},
    "onnx": {"models"},
    "pypdfium2": {"readers.pdf"},
    "lxml": {"readers.xml"},
    "selectolax": {"readers.html"},
    "pyromark": {"readers.markdown"},
    "nupunkt": {"text.sentences"},
    "sqlalchemy": {"records", "maintenance.migrate"},
    "alembic": {"records.migrations"},
    "click": {"cli"},
    "fastapi": {"server"},
    "uvicorn": {"cli", "server.run", "testing"},
}
HEAVY = (
    *("numpy", "onnxruntime", "qdrant_edge", "sqlalchemy", "lxml", "pypdfium2", "pydantic", "nupunkt"),
    *("qdrant_client", "agents", "openai", "mcp", "fastapi", "prometheus_client"),
)
MOST_ENTRIES, MOST_LINES = 30, 600


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
    entry = name.split(".")[0]
    for number, names in enumerate(LAYERS):
        if entry in names:
            return number
    raise AssertionError(f"module {name!r} stands in no layer: add it to LAYERS deliberately")


def test_every_module_imports_only_from_its_own_layer_or_those_before_it() -> None:
    wrong = [(n, i) for n in modules() for i in own_imports(n) if layer(i) > layer(n)]
    assert not wrong, wrong


def circles(graph: Mapping[str, set[str]]) -> Iterator[str]:
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> Iterator[str]:
        if name in trail:
            yield " → ".join((*trail[trail.index(name) :], name))
        elif name not in done:
            for other in sorted(graph.get(name, ())):
                yield from visit(other, (*trail, name))
            done.add(name)

    return chain.from_iterable(visit(name, ()) for name in graph)


def test_no_files_import_each_other_in_a_circle_even_lazily() -> None:
    assert not list(circles({n: own_imports(n) for n in modules()}))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_packages_import_each_other_in_a_circle_even_lazily(depth: int) -> None:
    graph: dict[str, set[str]] = {}
    for name in modules():
        room = ".".join(name.split(".")[:depth])
        others = {".".join(i.split(".")[:depth]) for i in own_imports(name)}
        # A package may use its own modules, and they what it defines: the files are checked above.
        graph.setdefault(room, set()).update(
            o for o in others if not f"{o}.".startswith(f"{room}.") and not f"{room}.".startswith(f"{o}.")
        )
    assert not list(circles(graph))


def test_routes_do_not_import_each_other() -> None:
    routes = {name for name in modules() if name.startswith("server.routes.")}
    assert not [(n, i) for n in routes for i in own_imports(n) & routes]


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


def test_the_top_of_the_package_is_a_table_of_contents() -> None:
    entries = [p.name for p in SOURCE.iterdir() if p.name != "__pycache__"]
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


def test_files_stay_small() -> None:
    sizes = {str(f.relative_to(ROOT)): lines(f) for f in SOURCE.rglob("*.py")}
    assert max(sizes.values()) <= MOST_LINES, max(sizes.items(), key=lambda kv: kv[1])


def test_every_script_of_the_page_is_type_checked_and_stays_small() -> None:
    for file in (SOURCE / "web").rglob("*.js"):
        assert file.read_text(encoding="utf-8").startswith("// @ts-check\n"), file
        assert lines(file) <= MOST_LINES, file


def test_functions_stay_small() -> None:
    sizes = sorted(size for _, size in functions())
    assert sizes[-1] <= 60, max(functions(), key=lambda kv: kv[1])
    assert sizes[int(len(sizes) * 0.9)] <= 30


def test_each_test_file_is_named_after_the_module_or_package_it_tests() -> None:
    """`tests/readers/pdf/test_layout_tables.py` tests `octavo.readers.pdf.layout`. Files directly under
    `tests/` may also test what no single module does."""
    tests = ROOT / "tests"
    wrong = []
    for file in sorted(tests.glob("*/**/test_*.py")):
        folder = file.parent.relative_to(tests).as_posix()
        package = SOURCE / folder
        names = {p.stem for p in package.iterdir()} | {package.name}
        tested = file.stem.removeprefix("test_")
        if not any(tested == name or tested.startswith(f"{name}_") for name in names):
            wrong.append(str(file.relative_to(ROOT)))
    assert not wrong, wrong


def test_public_names_are_few() -> None:
    import octavo

    assert len(octavo.__all__) <= 25


def test_readme_is_short_and_shows_code_early() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(text) <= 150
    assert any(line.startswith("```") for line in text[:25])


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
