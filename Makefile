# make demo   set up, add the bundled book, ask it
# make test   set up, check, run every test
# make dist   build the wheels of octavo and octavo-models in dist/
# make test-llm   ask two real language models (fetches about 1.3 GB, takes 10 to 40 minutes)
PY ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

DIST ?= dist

.PHONY: setup system demo test test-llm check bench bench-scale dist clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt packages/octavo-models/pyproject.toml
	$(PY) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ./packages/octavo-models -e '.[dev]'
	touch $(STAMP)

system:
	.ci/system-packages

demo: setup
	$(BIN)/python examples/demo.py

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	DENO_DIR=.venv/deno DENO_NO_UPDATE_CHECK=1 $(BIN)/deno check --quiet --no-lock --no-remote --no-npm src/octavo/web
	$(BIN)/python -m pytest tests/test_architecture.py

test: system check
	$(BIN)/python -m pytest -n 3 --dist worksteal

test-llm: setup
	$(BIN)/python -m pytest -p no:xdist -s tests/llm/real_models.py

bench: setup
	$(BIN)/python -m benchmarks

bench-scale: setup
	nice $(BIN)/python -m benchmarks.scale

dist: setup
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir $(DIST) ./packages/octavo-models .

clean:
	rm -rf .venv .demo build dist
