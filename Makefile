BIN := .venv/bin
READY := .venv/ready
SPARK := .venv-spark
FITS := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p $(FITS) 2>/dev/null && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-spark lint format type bench docs notebooks reference package pycanon page clean

help:  ## this list
	@echo "make TARGET, where TARGET is"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  %-10s %s\n' "$$name" "$$text"; done

setup: $(READY)  ## a .venv with shoal and what its tests need

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "shoal needs Python 3.11 or newer; install it, or name it: make setup PYTHON=…"; exit 1; }
	@echo "setting up .venv with $(PYTHON) (once; some minutes on a slow line)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[test]'
	@touch $(READY)

demo: setup  ## anonymize a generated stream, and show what became of it
	@$(BIN)/shoal demo

test: setup lint type  ## lint, types, then all tests and doctests but the long ones
	@echo "kernels: compiling what is not in the cache"
	@$(BIN)/python -m shoal.cli.kernels
	@echo "pytest: tests and doctests, on two processes"
	@$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: setup $(SPARK)/ready  ## the long tests, those that kill processes of Spark among them
	@echo "pytest: the long tests"
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m long
	@echo "pytest: the long tests on Spark"
	@$(SPARK)/bin/python -m pytest tests/spark -m long

test-spark: $(SPARK)/ready  ## the tests on Spark (Java 17) but the long ones, in a .venv-spark, since it needs pandas below 3
	@echo "pytest: Spark"
	@$(SPARK)/bin/python -m pytest tests/spark src/shoal/spark

$(SPARK)/ready: pyproject.toml
	@echo "setting up $(SPARK) (once)"
	@$(PYTHON) -m venv $(SPARK)
	@$(SPARK)/bin/python -m pip install -qq --disable-pip-version-check -e '.[spark]' pytest pytest-timeout
	@touch $@

lint: setup  ## style and form (ruff) and layers (import-linter)
	@echo "ruff: style and form"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q . || { echo "make format mends that"; exit 1; }
	@echo "import-linter: layers"
	@$(BIN)/lint-imports

format: setup  ## let ruff format all Python files
	@$(BIN)/ruff format .

type: setup  ## types (mypy)
	@echo "mypy: types"
	@$(BIN)/mypy

bench: setup  ## measure speed on this machine; SHOAL_DATA names the folder of the data
	@$(BIN)/shoal bench

docs: setup  ## the documentation as a site, in build/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "python -m http.server -d build/site serves it; search needs a server"

notebooks: setup  ## run the notebooks, and keep what they print and draw
	@$(BIN)/python -m tools.notebooks

reference: setup  ## write the pages that are made from the code: commands, keys of policies, licences, the schema
	@mkdir -p build
	@$(BIN)/shoal schema > build/schema.json && mv build/schema.json src/shoal/policy.schema.json
	@$(BIN)/python -m tools.commands
	@$(BIN)/python -m tools.keys
	@$(BIN)/python -m tools.licences

package: setup  ## the wheel and the source distribution, in build/dist, tried in empty environments
	@rm -rf build/dist
	@$(BIN)/python -m tools.package build/dist

pycanon:  ## a .venv-pycanon, whose versions are not ours, to compare the audit's figures with
	@$(PYTHON) -m venv .venv-pycanon
	@.venv-pycanon/bin/python -m pip install -qq --disable-pip-version-check pycanon

page:  ## build the page's front end anew, which needs Node; what is built is kept in the repository
	@cd web && npm install --no-audit --no-fund --omit-lockfile-registry-resolved && npm run build

clean:  ## remove .venv, the demo and all caches in this folder
	@rm -rf .venv .venv-pycanon .venv-spark build demo web/node_modules .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache src/*.egg-info
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
