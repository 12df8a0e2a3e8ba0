BIN := .venv/bin
READY := .venv/ready
FITS := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p $(FITS) 2>/dev/null && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long lint pycanon page clean

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

test: setup lint  ## lint, then all tests and doctests but the long ones
	@echo "kernels: compiling what is not in the cache"
	@$(BIN)/python -m shoal.cli.kernels
	@echo "pytest: tests and doctests, on two processes"
	@$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: setup  ## the long tests
	@echo "pytest: the long tests"
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m long || { status=$$?; \
		test $$status -eq 5 && echo "there are no long tests yet" || exit $$status; }

lint: setup  ## style (ruff), types (mypy) and layers (import-linter)
	@echo "ruff: style"
	@$(BIN)/ruff check .
	@echo "mypy: types"
	@$(BIN)/mypy
	@echo "import-linter: layers"
	@$(BIN)/lint-imports

pycanon:  ## a .venv-pycanon, whose versions are not ours, to compare the audit's figures with
	@$(PYTHON) -m venv .venv-pycanon
	@.venv-pycanon/bin/python -m pip install -qq --disable-pip-version-check pycanon

page:  ## build the page's front end anew, which needs Node; what is built is kept in the repository
	@cd web && npm ci --no-audit --no-fund && npm run build

clean:  ## remove .venv, the demo and all caches in this folder
	@rm -rf .venv .venv-pycanon build demo web/node_modules .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache src/*.egg-info
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
