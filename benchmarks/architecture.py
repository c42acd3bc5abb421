"""Draw the two flows of docs/architecture.md from the code itself: python -m benchmarks.architecture.

For each flow, the script reads the function's syntax tree and lists, in order, the calls it makes into other
parts of Octavo and the events it yields. Private helpers of the same module are followed, and so are the
functions of the flow's own package. A call is listed once, where it comes first. A type is known from an
annotation or from the class that was called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, DOCS = ROOT / "src" / "octavo", ROOT / "docs"
COMMAND = "python -m benchmarks.architecture"
FLOWS = {
    "ingest-flow.svg": ("ingest", "ingest", "How a book gets into the library"),
    "ask-flow.svg": ("answers.ask", "ask", "How a question is answered"),
}
# What every part uses says nothing about a flow.
VOCABULARY = {"types", "validation", "errors", "events", "concurrency", "settings", "tracing", "text"}
MOST_DEPTH = 2
COLOURS = {
    "readers": "#8a5a00",
    "ingest": "#1f5fa8",
    "records": "#7b2d8b",
    "store": "#00695c",
    "models": "#a33b20",
    "protocols": "#00695c",
    "search": "#00695c",
    "verification": "#a33b20",
    "answers": "#1f5fa8",
}
WIDTH, ROW, TOP, INDENT, COLUMN = 760, 24, 52, 22, 470

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a picture: a call of `name` in `module`, or an event (without a module)."""

    depth: int
    name: str
    module: str = ""


@cache
def read_module(name: str) -> ast.Module:
    path = SOURCE.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


@cache
def read_imports(module: str) -> Mapping[str, tuple[str, str]]:
    """Return for each imported name its module, and its name there ("" for a module itself)."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(read_module(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "octavo":
            base = (node.module or "").removeprefix("octavo").removeprefix(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                found[alias.asname or alias.name] = (inner, "") if is_module(inner) else (base, alias.name)
    return found


@cache
def read_definitions(module: str) -> Mapping[str, Function | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name: node for node in read_module(module).body if isinstance(node, kinds)}


def find_definition(module: str, name: str) -> tuple[str, str] | None:
    """Return the module and name that `name` stands for in `module`, if it is ours."""
    if name in read_definitions(module):
        return module, name
    return read_imports(module).get(name)


def find_type(module: str, annotation: ast.expr | None) -> tuple[str, str] | None:
    """Return the class of ours that an annotation names; of a union, the first."""
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Name) and (found := find_definition(module, node.id)) is not None:
            return found
    return None


def find_field(owner: tuple[str, str], name: str) -> tuple[str, str] | None:
    """Return the class of a field or property of one of our classes."""
    module, class_name = owner
    body = read_definitions(module).get(class_name)
    for node in body.body if isinstance(body, ast.ClassDef) else ():
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return find_type(module, node.annotation)
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return find_type(module, node.returns)
    return None


class Tracer:
    """Lists the steps of one function."""

    def __init__(self, flow: str, module: str, function: Function, depth: int) -> None:
        self._flow, self._module, self._depth = flow, module, depth
        self._package = flow.split(".")[0]
        self._function = function
        arguments = (*function.args.args, *function.args.kwonlyargs)
        self._types = {a.arg: find_type(module, a.annotation) for a in arguments}

    def trace(self) -> Iterator[Step]:
        for statement in self._function.body:
            yield from self._visit(statement)

    def _visit(self, node: ast.AST) -> Iterator[Step]:
        if isinstance(node, ast.ExceptHandler):
            return
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Call):
            # The arguments are evaluated before the call.
            children = [*node.args, *(keyword.value for keyword in node.keywords), node.func]
        if isinstance(node, ast.Assign):
            self._learn(node)
        for child in children:
            yield from self._visit(child)
        if isinstance(node, ast.Call):
            yield from self._call(node)
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Call):
            event = node.value.func
            if isinstance(event, ast.Name) and self._find(event.id) == ("events", event.id):
                yield Step(self._depth, event.id)

    def _find(self, name: str) -> tuple[str, str] | None:
        return None if name in self._types else find_definition(self._module, name)

    def _learn(self, node: ast.Assign) -> None:
        """Note the types of variables that are assigned an attribute or a new value of our classes."""
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for name, value in pairs:
                if isinstance(name, ast.Name) and name.id not in self._types:
                    kind = self._type_of(value)
                    if kind is not None:
                        self._types[name.id] = kind

    def _type_of(self, node: ast.expr) -> tuple[str, str] | None:
        if isinstance(node, ast.Name):
            return self._types.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := self._type_of(node.value)) is not None:
            return find_field(owner, node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = self._find(node.func.id)
            if found is not None and isinstance(read_definitions(found[0]).get(found[1]), ast.ClassDef):
                return found
        return None

    def _call(self, node: ast.Call) -> Iterator[Step]:
        called = node.func
        if isinstance(called, ast.Name):
            found = self._find(called.id)
            if found == ("concurrency", "run_blocking"):
                yield from self._call(ast.Call(func=node.args[0], args=[], keywords=[]))
            elif found is not None:
                yield from self._enter(found[0], "", found[1])
        elif isinstance(called, ast.Attribute):
            owner = self._type_of(called.value)
            if owner is None and isinstance(called.value, ast.Name):
                owner = self._find(called.value.id)
            if owner is not None:
                yield from self._enter(owner[0], owner[1], called.attr)

    def _enter(self, module: str, class_name: str, name: str) -> Iterator[Step]:
        """Yield the step, and the steps of what it calls if that belongs to the same package."""
        definition = read_definitions(module).get(class_name or name)
        makes_value = not class_name and isinstance(definition, ast.ClassDef)
        # A class beside the flow, such as a timer, is a detail of it.
        is_detail = bool(class_name) and module == self._flow
        if module.split(".")[0] in VOCABULARY or makes_value or is_detail:
            return
        if class_name and isinstance(definition, ast.ClassDef):
            methods = [n for n in definition.body if isinstance(n, Function) and n.name == name]
            definition = methods[0] if methods else None
        inside = module.split(".")[0] == self._package and isinstance(definition, Function)
        hidden = inside and name.startswith("_")
        depth = self._depth if hidden else self._depth + 1
        if not hidden:
            label = f"{class_name}.{name}" if class_name else name
            yield Step(self._depth, label, module)
        if inside and isinstance(definition, Function) and depth <= MOST_DEPTH:
            inner = Tracer(self._flow, module, definition, depth)
            if class_name:
                inner._types["self"] = (module, class_name)
            yield from inner.trace()


def trace_flow(module: str, name: str) -> list[Step]:
    """List the steps of a flow: each call where it comes first, and each event where it comes last."""
    function = read_definitions(module)[name]
    assert isinstance(function, Function)
    traced = list(Tracer(module, module, function, 0).trace())
    names = [(step.name, step.module) for step in traced]
    last = len(names) - 1
    return [
        step
        for number, (step, name) in enumerate(zip(traced, names, strict=True))
        if (names.index(name) if step.module else last - names[::-1].index(name)) == number
    ]


def draw_flow(module: str, name: str, title: str) -> str:
    """Draw the steps as SVG: calls on the left, their modules on the right, events in between."""
    steps = trace_flow(module, name)
    height = TOP + ROW * len(steps) + 16
    rows = [_draw_step(step, TOP + ROW * number) for number, step in enumerate(steps)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="13" role="img" aria-label="{title}">',
        f"<desc>Made by: {COMMAND}</desc>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="20" y="28" font-size="16" font-weight="bold">{title}</text>',
        f'<text x="{COLUMN}" y="28" fill="#555">octavo.{module}.{name}</text>',
        *rows,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _draw_step(step: Step, y: int) -> str:
    x = 20 + INDENT * step.depth
    if not step.module:
        return f'<text x="{x}" y="{y + 15}" fill="#555" font-style="italic">event: {step.name}</text>'
    colour = COLOURS.get(step.module.split(".")[0], "#333")
    return (
        f'<rect x="{x}" y="{y}" width="6" height="{ROW - 6}" fill="{colour}"/>'
        f'<text x="{x + 14}" y="{y + 14}" font-family="monospace">{step.name}</text>'
        f'<text x="{COLUMN}" y="{y + 14}" fill="{colour}">octavo.{step.module}</text>'
    )


def draw_all() -> dict[Path, str]:
    return {DOCS / file: draw_flow(*flow) for file, flow in FLOWS.items()}


if __name__ == "__main__":
    for path, picture in draw_all().items():
        path.write_text(picture, encoding="utf-8")
        print(path.relative_to(ROOT))
