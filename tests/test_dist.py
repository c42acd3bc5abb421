"""The wheels that `make dist` builds work in an environment that has never seen the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import octavo

ROOT = Path(__file__).parent.parent
# What a wheel is built from.
PARTS = ("src", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "packages/octavo-models")
ASKED = "What happens if the process dies before step 5?"


def run(*command: str | Path, folder: Path) -> str:
    """Run a command that knows no variable of ours and finds no module by the folder it runs in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OCTAVO_", "PYTHON"))}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copy_sources(folder: Path) -> Path:
    """Copy what the wheels are built from: a build leaves files beside its sources."""
    for part in PARTS:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        unbuilt = shutil.ignore_patterns("*.egg-info", "build", "__pycache__")
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=unbuilt)
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def make_environment(folder: Path) -> Path:
    """Make an environment that borrows the dependencies of this one, but not its copy of Octavo."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    # Paths in such a file are added, but the `.pth` files there, which lead to the repository, are not read.
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(borrowed), encoding="utf-8")
    return folder / "bin"


def test_the_wheels_answer_from_the_bundled_book_in_a_fresh_environment(tmp_path: Path) -> None:
    sources, wheels = copy_sources(tmp_path / "sources"), tmp_path / "wheels"
    target = next(line for line in (ROOT / "Makefile").read_text().splitlines() if " pip wheel " in line)
    options = target.split(" pip ")[1].replace("$(DIST)", str(wheels)).split()
    run(sys.executable, "-m", "pip", *options, folder=sources)
    names = sorted(path.name for path in wheels.iterdir())
    version = octavo.__version__
    assert names == [f"octavo-{version}-py3-none-any.whl", f"octavo_models-{version}-py3-none-any.whl"]
    readme = set(re.findall(r"dist/(\S+\.whl)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert readme == set(names)

    environment = make_environment(tmp_path / "fresh")
    install = ("--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps")
    python = environment / "python"
    run(sys.executable, "-m", "pip", "--python", python, *install, *wheels.glob("*.whl"), folder=tmp_path)
    shutil.rmtree(sources)
    shutil.rmtree(wheels)
    where = run(python, "-c", "import octavo, octavo_models; print(octavo.__file__)", folder=tmp_path)
    assert where.startswith(str(tmp_path / "fresh"))
    data = ("--data", tmp_path / "library")
    run(environment / "octavo", *data, "add", ROOT / "docs", folder=tmp_path)
    assert "[1]" in run(environment / "octavo", *data, "ask", ASKED, folder=tmp_path)
    # The wheels and what they unpack to are large, and pytest keeps the folders of its last runs.
    shutil.rmtree(tmp_path / "fresh")
