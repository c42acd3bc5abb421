"""Modules that become one script run in the order of their imports, each once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from octavo.server.bundle import bundle_module


def write_modules(folder: Path, **sources: str) -> Path:
    for name, source in sources.items():
        (folder / f"{name}.js").write_text(source, encoding="utf-8")
    return folder


def test_a_module_comes_once_and_after_what_it_imports(tmp_path: Path) -> None:
    folder = write_modules(
        tmp_path,
        main='import { a } from "./a.js";\nimport { b as other } from "./b.js";\nrun(a, other);\n',
        a='import { b } from "./b.js";\n/* Twice as much. */\nexport const a = 2 * b;\n',
        b="export const b = await load();\n",
    )
    script = bundle_module(folder, "main.js")
    assert re.findall(r"^const (m\d)", script, re.MULTILINE) == ["m0", "m1", "m2"]
    assert script.index("load()") < script.index("2 * b") < script.index("run(a, other)")
    assert "const { b: other } = m0;" in script
    assert "Twice" not in script
    assert script == bundle_module(folder, "main.js")


def test_modules_that_import_each_other_are_refused(tmp_path: Path) -> None:
    folder = write_modules(
        tmp_path,
        a='import { b } from "./b.js";\nexport const a = 1;\n',
        b='import { a } from "./a.js";\nexport const b = 1;\n',
    )
    with pytest.raises(ValueError, match=r"a\.js imports itself"):
        bundle_module(folder, "a.js")
