"""Writes `octavo.sync` from `octavo.library`: python -m benchmarks.sync_library.

Each public method of the asynchronous library becomes one with the same arguments that runs it to its end. A
test fails when the module differs from what this writes.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "octavo"
MODULE = SOURCE / "sync.py"
SKIPPED = ("open",)
HEAD = '''"""The library for programs that are not asynchronous: the same calls, each waits for its result.

with Library.open() as library:
    library.add("moby-dick.epub")
    print(library.ask("Why is the whale white?").content)

The work runs on an event loop in a thread of its own, so this works inside of a running loop too.
Written by `python -m benchmarks.sync_library`. Do not edit it: change `octavo.library` and write it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from octavo import library as asynchronous
from octavo.concurrency import LoopThread
{imports}
if TYPE_CHECKING:
{typing}


class Library:
    """Open it with `with Library.open() as library`."""

    def __init__(self, library: asynchronous.Library, loop: LoopThread) -> None:
        self._library, self._loop = library, loop
        self.settings = library.settings

    @classmethod
    @contextmanager
    def open(
        cls,
        data: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        answerer: Answerer | None = None,
    ) -> Iterator[Library]:
        """Open the library in folder `data`. The folder is created if it does not exist."""
        loop = LoopThread()
        opening = asynchronous.Library.open(data, settings=settings, embedder=embedder, answerer=answerer)
        try:
            opened = loop.run(opening.__aenter__())
            try:
                yield cls(opened, loop)
            finally:
                loop.run(opening.__aexit__(None, None, None))
        finally:
            loop.close()

'''
TAIL = '''
def retrieve(
    query: str | Question,
    context: Context | None = None,
    *,
    data: str | Path | None = None,
    top_k: int | None = None,
    embeddings: bool = False,
) -> Retrieval:
    """Open the library in folder `data`, and find passages for a query in its context."""
    with Library.open(data) as library:
        return library.retrieve(query, context, top_k=top_k, embeddings=embeddings)
'''


def write_module() -> str:
    """Write the text of `octavo.sync`."""
    tree = ast.parse((SOURCE / "library" / "__init__.py").read_text(encoding="utf-8"))
    library = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Library")
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    public = [n for n in library.body if isinstance(n, kinds) and n.name[0] != "_" and n.name not in SKIPPED]
    imports = [
        n for n in tree.body if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("octavo")
    ]
    constants = ast.ImportFrom(
        module="octavo.library",
        names=[ast.alias(name) for name in _list_constants(tree)],
        level=0,
    )
    lines = "\n".join(ast.unparse(node) for node in [*imports, constants])
    checking = next(n for n in tree.body if isinstance(n, ast.If))
    typing = "\n".join(f"    {ast.unparse(node)}" for node in checking.body)
    text = (
        HEAD.replace("{imports}", lines + "\n").replace("{typing}", typing)
        + "\n".join(map(_write_method, public))
        + TAIL
    )
    return _format(text)


def _list_constants(tree: ast.Module) -> list[str]:
    """List what the module itself names: defaults and types of arguments."""
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _write_method(method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = [a.arg for a in method.args.args[1:]]
    named = [f"{a.arg}={a.arg}" for a in method.args.kwonlyargs]
    call = f"self._library.{method.name}({', '.join([*arguments, *named])})"
    returned = ast.unparse(method.returns) if method.returns else "None"
    if returned.startswith("AsyncGenerator["):
        returned = f"Iterator[{returned.removeprefix('AsyncGenerator[').split(',')[0]}]"
        call = f"self._loop.iterate({call})"
    elif isinstance(method, ast.AsyncFunctionDef):
        call = f"self._loop.run({call})"
    said = ast.get_docstring(method, clean=False)
    lines = [f"    def {method.name}({ast.unparse(method.args)}) -> {returned}:"]
    lines += [f'        """{said}"""'] if said else []
    lines.append(f"        {'' if returned == 'None' else 'return '}{call}")
    return "\n".join(lines) + "\n"


def _format(text: str) -> str:
    for command in (["check", "--fix-only", "-q", "--select", "F401,I"], ["format", "-q"]):
        asked = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(MODULE), "-"]
        text = subprocess.run(asked, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    MODULE.write_text(write_module(), encoding="utf-8")
    print(MODULE.relative_to(SOURCE.parent.parent))
