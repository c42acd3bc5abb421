"""docs/architecture.md shows the code as it is: its layers, its pictures and the modules it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.architecture import COMMAND, draw_all
from tests.test_architecture import LAYERS, SOURCE

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "picture"), draw_all().items(), ids=lambda value: getattr(value, "name", "")
)
def test_the_pictures_are_drawn_from_the_code(path: Path, picture: str) -> None:
    assert path.read_text(encoding="utf-8") == picture, f"run: {COMMAND}"


def test_the_layers_of_the_page_are_those_of_the_contract() -> None:
    block = re.search(r"```layers\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    shown = [set(line.split()) for line in block[1].splitlines()]
    assert shown == [set(layer) - {""} for layer in LAYERS]


def test_every_entry_of_the_package_is_described() -> None:
    entries = {p.stem for p in SOURCE.iterdir() if p.name not in ("__pycache__", "__init__.py", "py.typed")}
    described = set(re.findall(r"`([a-z]+)/?`", PAGE))
    assert entries <= described


def test_the_modules_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", PAGE)
    assert named
    assert [n for n in named if not ((SOURCE / n).exists() or (ROOT / n).exists())] == []
