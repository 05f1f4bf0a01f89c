# Everything a person does here. Each target sets up what it needs; python3 and a package index suffice.
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint bench prove clean

demo: $(READY)          ## the growth fleet in a temporary home, agents played by a labelled stand-in
	$(BIN)/fleet demo $(if $(FAST),--fast)

test: $(READY)          ## the proofs that fit in six minutes
	$(BIN)/python -m pytest -n 6 --dist worksteal -m "not prove"

lint: $(READY)          ## style, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)         ## a table of speed beside each peer, measured in the same call
	$(BIN)/python benchmarks/run.py

prove: $(READY)         ## the long proofs
	$(BIN)/python -m pytest -m prove

clean:
	rm -rf $(VENV) .cache dist

$(READY): pyproject.toml
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)
