# Two commands matter: `make demo` and `make test`. Each sets itself up in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# One version of PyTorch, named before anything that depends on it: where an index offers several builds, this is the
# one without a GPU. Another one: make test TORCH='torch>=2.6'.
TORCH ?= torch==2.13.0

.PHONY: demo test coverage fuzz fuzz-queries mutants check lint types lowest newest postgres spark pages docs clean

$(BIN)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot,test]'
	touch $@

demo: $(BIN)/.installed
	$(BIN)/deniable demo

test: $(BIN)/.installed
	$(BIN)/python -m pytest -n 2

# The same tests, half as long again, with a report of the lines and branches that none of them runs.
coverage: $(BIN)/.installed
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered

# Looks with new seeds for what `make test` does not see, until MINUTES are over or something is found.
# What it finds becomes an @example of the test. Again: make fuzz SEED=123 TESTS=tests/privacy/test_loss.py
MINUTES ?= 10
TESTS ?= tests
fuzz: $(BIN)/.installed
	@end=$$(($$(date +%s) + 60 * $(MINUTES))); while :; do \
		seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); echo "seed $$seed"; \
		$(BIN)/python -m pytest -n 2 -q -m hypothesis --hypothesis-profile=fuzz --hypothesis-seed=$$seed $(TESTS) || exit 1; \
		[ -z "$(SEED)" ] && [ $$(date +%s) -lt $$end ] || exit 0; \
	done

# Asks random questions about random databases and their neighbours on duckdb, postgres or spark, or about one on both of the
# first two, until MINUTES are over. What is found is made small: make fuzz-queries ENGINE=postgres MINUTES=60
ENGINE ?= duckdb
fuzz-queries: $(BIN)/.installed
	$(BIN)/python -m tests.query.fuzz --engine $(ENGINE) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(WORLD),--world $(WORLD))

# Plants bugs of lists one at a time in a copy and prints those that no test finds: make mutants ROOM=games
mutants: $(BIN)/.installed
	$(BIN)/python -m tests.mutants.plant $(ROOM)

lint: $(BIN)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(BIN)/.installed
	$(BIN)/mypy

check: lint types test

# The lowest, or the newest, versions that pyproject.toml allows, in an environment of their own, with the tests of query
# (also on PostgreSQL and Spark), learning and app. A part of them: make lowest TESTS=tests/query/test_sql.py
lowest newest:
	PYTHON=$(PYTHON) TORCH='$(TORCH)' .ci/$@

# The programs of a PostgreSQL server, from Debian. Tests start one of their own, and skip where there are none.
postgres:
	.ci/postgres

# The tests on Spark, which takes half a gigabyte and a minute to start, so that `make test` leaves it out: the newest, or
# make spark SPARK='pyspark==4.0.0'
spark: $(BIN)/.installed
	VENV=$(VENV) SPARK='$(SPARK)' .ci/spark

# The pages of the reference that are made from the code.
pages: $(BIN)/.installed
	$(BIN)/python docs/hooks/make.py

docs: pages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest .spark site build dist
