# make demo   set up, add the bundled book, ask it
# make test   set up, check, run every test
PY ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup system demo test check bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PY) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

system:
	.ci/system-packages

demo: setup
	$(BIN)/python examples/demo.py

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

test: system check
	$(BIN)/python -m pytest -n 2 --dist worksteal

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .demo build dist
