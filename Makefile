# `make` alone lists the targets. Every target sets up what it needs: .venv from requirements.lock, and a Java.
# Extra arguments for the program that a target runs go into ARGS: make test ARGS="-k join -x"

.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Where tests/conftest.py looks for it.
CLASSES := $(VENV)/spark-classes.jsa
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
ARGS ?=
# Files of tests in two processes, each with one Spark; `make test ARGS="-n 0"` uses one, as a debugger needs it.
SIDE_BY_SIDE := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test test-fast test-faults check bench docs site lock setup clean

help: ## list the targets
	@echo "Auroral: make TARGET [ARGS=...]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do \
		printf '  %-11s %s\n' "$$name" "$$text"; done

demo: $(READY) ## watch a deployment lose an input and a node, keep answering, and be proved right
	@$(BIN)/auroral demo $(ARGS)

test: $(READY) $(CLASSES) ## run all tests (needs minutes: many use a real Spark)
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(ARGS)

test-fast: $(READY) ## run the quick tests: no Spark, nothing killed, fewer random examples (seconds)
	@$(BIN)/python -m pytest -m 'not spark and not slow' --hypothesis-profile=fast $(ARGS)

test-faults: $(READY) ## kill, stop, cut off and damage real processes at random; minutes (ARGS="--seeds 0..9")
	@$(BIN)/python -m pytest faults -q -s $(ARGS)

check: $(READY) ## lint, formatting, types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(READY) ## measure speed against Structured Streaming; results in bench/results
	@$(BIN)/python -m bench $(ARGS)

docs: $(READY) ## rewrite the generated parts of docs/, and its notebooks
	@$(BIN)/python tools/generate_docs.py $(ARGS)
	@$(BIN)/python tools/make_notebooks.py $(ARGS)

site: $(READY) ## the documentation as a site, in build/site; a link that leads nowhere is an error
	@$(BIN)/mkdocs build --strict $(ARGS)

lock: $(READY) ## resolve requirements.lock anew from pyproject.toml
	@sh tools/lock.sh $(BIN)/python

setup: $(READY) ## only set up: .venv and Java
	@:

clean: ## remove everything that make and the tests made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db
	find src tests tools bench docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The stamp is written last: a set-up that was interrupted starts again.
$(READY): pyproject.toml requirements.lock
	@python=$$(sh tools/find_python.sh) || exit 1; \
	echo "set-up: virtual environment in $(VENV) ($$($$python --version))"; \
	$$python -m venv $(VENV) || { \
		echo "error: '$$python -m venv' failed; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "set-up: packages from requirements.lock (about 1 GB on disk)"
	@$(PIP) install -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@sh tools/find_java.sh $(BIN)/python
	@touch $(READY)
	@echo "set-up: done; $(BIN)/auroral is ready"

$(CLASSES): $(READY) tools/archive_classes.py
	@echo "set-up: an archive of Spark's classes, so that each Java of the tests starts in about two thirds of the time"
	@$(BIN)/python tools/archive_classes.py $@
