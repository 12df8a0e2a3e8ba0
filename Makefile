BIN := .venv/bin
READY := .venv/ready
BASE := .venv/base
SPARK := .venv-spark
OLDEST := .venv-spark-jars
# a worker that crashed is not replaced, since xdist can wait forever then
PYTEST := $(BIN)/python -m pytest --max-worker-restart 0 -n
# in CI, tests that failed (status 1) run once more; one that fails twice is an error; a run that broke off is repeated whole
TWICE = { $(1) || { status=$$?; test "$$CI" = true && echo "pytest: once more" && \
	if test $$status = 1; then $(1) --last-failed --last-failed-no-failures none; else $(1); fi; }; }
# for make test-long: how many examples and kills, and which tests
PROFILE ?= long
LONG ?= long or streams or hypothesis
TIMED = start=$$(date +%s); trap 'echo "make $@ took $$(($$(date +%s) - start)) s"' EXIT
# for make figures; SIZE=--quick to try it
SIZE ?= --rounds 3
FITS := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do $$p $(FITS) 2>/dev/null && echo $$p && break; done)

# uv, if it is installed, needs seconds for what takes pip half a minute
ifneq ($(shell command -v uv),)
VENV = uv venv -q --seed -p $(PYTHON)
INSTALL = VIRTUAL_ENV=$(CURDIR)/.venv uv pip install -q --compile-bytecode
else
VENV = $(PYTHON) -m venv
INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check
endif

unexport PYTHONDONTWRITEBYTECODE  # with stored bytecode, Python starts faster

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-long test-spark lint format type kernels bench figures docs notebooks reference package kafka registry spark-jars pycanon dbt airflow page page-check clean

help:  ## show this list
	@echo "make TARGET, where TARGET is"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  %-10s %s\n' "$$name" "$$text"; done

setup: $(READY)  ## create .venv with shoal and what its tests need

$(BASE): pyproject.toml
	@test -n "$(PYTHON)" || { echo "shoal needs Python 3.11 or newer; install it, or give its path: make setup PYTHON=…"; exit 1; }
	@echo "setting up .venv with $(PYTHON) (once)"
	@test -x $(BIN)/python || $(VENV) .venv
	@$(INSTALL) -e .
	@touch $@

$(READY): $(BASE)
	@echo "adding what the tests need (once; some minutes on a slow line)"
	@$(INSTALL) -e '.[test]'
	@touch $@

demo: $(BASE)  ## create .venv with shoal alone, anonymize a generated stream, and show the result
	@$(BIN)/shoal demo

check: setup  ## after every edit: lint, types, layers, quick tests and doctests
	@$(TIMED); $(MAKE) -s -j2 -O lint type kernels && echo "pytest: the quick tests and doctests" && \
		$(PYTEST) 2 -m 'not (slow or broker or browser or long)' --hypothesis-profile check

test: setup  ## before a push: lint, types, layers, and all tests and doctests except the long ones
	@$(TIMED); $(MAKE) -s -j2 -O lint type kernels && echo "pytest: tests and doctests" && \
		$(call TWICE,$(PYTEST) 4 -m 'not long' --hypothesis-profile test)

test-long: setup $(SPARK)/ready  ## overnight: thousands of generated streams, kills, packages, killed Spark processes
	@$(TIMED); $(MAKE) -s kernels && echo "pytest: $(LONG), as often as $(PROFILE) says" && \
		$(call TWICE,$(PYTEST) 3 -m '$(LONG)' --hypothesis-profile $(PROFILE) --timeout 3000) && \
		echo "pytest: the long tests on Spark" && $(call TWICE,$(SPARK)/bin/python -m pytest tests/spark -m long)

test-spark: $(SPARK)/ready kafka spark-jars  ## the tests on Spark except the long ones, in .venv-spark; needs Java 17 and Maven
	@echo "pytest: Spark"
	@$(call TWICE,$(SPARK)/bin/python -m pytest tests/spark src/shoal/spark)
	@echo "pytest: Spark 4.0 with Kafka, Delta Lake and Iceberg"
	@export SHOAL_SPARK_JARS=required; $(call TWICE,$(OLDEST)/bin/python -m pytest -m jars tests/spark)

$(SPARK)/ready: pyproject.toml
	@echo "setting up $(SPARK) (once)"
	@$(PYTHON) -m venv $(SPARK)
	@$(SPARK)/bin/python -m pip install -qq --disable-pip-version-check -e '.[spark,kafka]' pytest pytest-timeout
	@touch $@

lint: setup  ## check style (ruff) and layers (import-linter)
	@echo "ruff: style"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q . || { echo "run make format"; exit 1; }
	@echo "import-linter: layers"
	@$(BIN)/lint-imports

format: setup  ## format all Python files (ruff)
	@$(BIN)/ruff format .

type: setup  ## check types (mypy)
	@echo "mypy: types"
	@$(BIN)/mypy

kernels: setup
	@echo "kernels: compiling those that are not in the cache"
	@$(BIN)/python -m shoal.cli.kernels

bench: setup  ## measure speed on this machine; SHOAL_DATA names the folder of the data
	@$(BIN)/shoal bench

figures: setup  ## measure the figures of docs/figures.md and README.md, and write them there; needs an idle machine
	@mkdir -p build
	@$(TIMED); $(BIN)/shoal bench default speed files threads growth roofline $(SIZE) --json build/bench.json --plot docs/figures.svg && \
		$(BIN)/python benchmarks/figures.py build/bench.json docs/figures.md figures.svg && \
		$(BIN)/python benchmarks/figures.py build/bench.json README.md --between default && \
		$(BIN)/shoal bench diversity $(SIZE) --json build/diversity.json && \
		$(BIN)/python benchmarks/figures.py build/diversity.json docs/figures.md --between diversity && \
		$(BIN)/python -m tools.pictures

docs: setup  ## build the documentation as a site, in build/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "python -m http.server -d build/site serves it; search needs a server"

notebooks: setup  ## run the notebooks, and store their output
	@$(BIN)/python -m tools.notebooks

reference: setup kernels  ## write all that is made from the code: commands, keys, licences, schema, log lines, pictures, output of examples
	@mkdir -p build
	@$(BIN)/shoal schema > build/schema.json && mv build/schema.json src/shoal/policy.schema.json
	@$(BIN)/python -m tools.commands
	@$(BIN)/python -m tools.keys
	@$(BIN)/python -m tools.licences
	@$(BIN)/python -m tools.log_lines
	@$(BIN)/python -m tools.pictures
	@$(BIN)/python -m tools.across
	@$(BIN)/python -m tools.consoles

package: setup  ## build the wheels and the source distribution in build/dist, and try them in empty environments
	@rm -rf build/dist
	@$(BIN)/python -m tools.package build/dist

kafka: build/kafka/ready  ## get a Kafka broker for the tests, in build/kafka; needs Java 17 and Maven

build/kafka/ready: tools/kafka/pom.xml
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Kafka needs Java 17 and Maven; on Debian: apt-get install openjdk-17-jre-headless maven"; exit 1; }
	@echo "fetching Kafka into build/kafka (once)"
	@rm -rf build/kafka
	@mvn -q -B -f tools/kafka/pom.xml org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$(CURDIR)/build/kafka"
	@touch $@

registry: build/registry/ready  ## get a schema registry for the tests, in build/registry; needs Java 17 and Maven

build/registry/ready: tools/registry/pom.xml
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Apicurio needs Java 17 and Maven; on Debian: apt-get install openjdk-17-jre-headless maven"; exit 1; }
	@echo "fetching Apicurio into build/registry (once)"
	@rm -rf build/registry tools/registry/target
	@mvn -q -B -f tools/registry/pom.xml org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack-dependencies -DoutputDirectory="$(CURDIR)/build/registry"
	@touch $@

spark-jars: build/spark-jars/ready $(OLDEST)/ready  ## get Spark 4.0 and its connectors for Kafka, Delta Lake and Iceberg, for make test-spark; needs Java 17 and Maven

build/spark-jars/ready: tools/spark-jars/pom.xml
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Spark needs Java 17, and Maven for its connectors; on Debian: apt-get install openjdk-17-jre-headless maven"; exit 1; }
	@echo "fetching connectors of Spark into build/spark-jars (once)"
	@rm -rf build/spark-jars
	@mvn -q -B -f tools/spark-jars/pom.xml org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
		-DincludeGroupIds=org.apache.spark,org.apache.kafka,org.apache.commons,io.delta,org.apache.iceberg \
		-DexcludeArtifactIds=spark-tags_2.13 -DoutputDirectory="$(CURDIR)/build/spark-jars"
	@touch $@

$(OLDEST)/ready: pyproject.toml
	@echo "setting up $(OLDEST) (once)"
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install -qq --disable-pip-version-check -e '.[spark,kafka]' pyspark==4.0.0 pytest pytest-timeout
	@touch $@

pycanon:  ## create .venv-pycanon, with which a test compares figures of the audit
	@$(PYTHON) -m venv .venv-pycanon
	@.venv-pycanon/bin/python -m pip install -qq --disable-pip-version-check pycanon

dbt:  ## create .venv-dbt, with which a test builds the example of deploy/dbt
	@$(PYTHON) -m venv .venv-dbt
	@.venv-dbt/bin/python -m pip install -qq --disable-pip-version-check 'dbt-core~=1.11.0' dbt-duckdb

airflow:  ## create .venv-airflow, with which a test runs the example of deploy/airflow
	@$(PYTHON) -m venv .venv-airflow
	@.venv-airflow/bin/python -m pip install -qq --disable-pip-version-check 'apache-airflow>=3,<4'

page: web/node_modules  ## build the front end of the live page and the lab; needs Node
	@cd web && npm run build

page-check: web/node_modules  ## check the types of the front end, and that the built files belong to its source
	@git diff --exit-code -- web/package-lock.json
	@cd web && npm run check && npx vite build --logLevel warn --outDir ../build/page --emptyOutDir
	@diff -r build/page src/shoal/web/static || { echo "run make page"; exit 1; }
	@echo "the built front end belongs to its source"

web/node_modules: web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing; install Node 20.19 or newer: https://nodejs.org"; exit 1; }
	@cd web && npm install --no-save --no-audit --no-fund
	@touch $@

clean:  ## remove all environments, the demo and all caches in this folder
	@rm -rf .venv .venv-airflow .venv-dbt .venv-pycanon .venv-spark .venv-spark-jars build demo web/node_modules .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache src/*.egg-info
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
