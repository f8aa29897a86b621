# Every command of the project. `make` alone lists them.
PYTHON ?= python3
ARGS ?=
BIN := .venvs/dev/bin
LAYER := layers/idempotent_consumer
PACKAGE := $(LAYER)/idempotent_consumer
ENVIRONMENTS := .venvs/dev/.ready .venvs/sam/.ready .venvs/ministack/.ready
UV := uv==0.13.9
QUIETLY := --quiet --disable-pip-version-check --no-compile
# SAM looks for the runtime's interpreter on PATH, and does not know a version manager's shim for it.
SAM = PATH="$$($(PYTHON) -c 'import os, sys; print(os.path.dirname(os.path.realpath(sys.executable)))'):$$PATH" \
  SAM_CLI_TELEMETRY=0 .venvs/sam/bin/sam
CODE := layers functions tools tests

.DEFAULT_GOAL := help
.PHONY: help environments setup test fuzz check format lint types imports template build deploy demo invoke events pins clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# -- environments: our own code, the SAM command line and the local AWS each in its own, because their pins disagree ----
.venvs/%/.ready: requirements/%.txt
	test -x .venvs/$*/bin/python || $(PYTHON) -m venv .venvs/$*
	@# uv installs in a fifth of pip's time; where it cannot be had, or does not know the index that pip is set to, pip does.
	.venvs/$*/bin/python -m pip install $(QUIETLY) $(UV) && .venvs/$*/bin/uv pip install --quiet --python .venvs/$* -r $< \
	  || .venvs/$*/bin/python -m pip install $(QUIETLY) -r $<
	@touch $@

environments:
	@$(MAKE) --no-print-directory --jobs=3 $(ENVIRONMENTS)

setup: .venvs/dev/.ready ## make the development environment (PYTHON=python3.13 chooses the interpreter)

# -- proving ------------------------------------------------------------------------------------------------------------
test: environments ## run every test, those on the local AWS included (ARGS="tests/unit -k id" for some)
	$(BIN)/python -m pytest $(ARGS)

fuzz: .venvs/dev/.ready ## deliver 200,000 generated records to consumers of every kind (ARGS="--records 500000 --seed 7")
	$(BIN)/python -m tools.fuzz $(ARGS)

check: lint types imports template ## everything else that can say no

lint: .venvs/dev/.ready ## style and formatting
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

types: .venvs/dev/.ready ## mypy --strict on the layer, the functions and the tools
	$(BIN)/mypy $(PACKAGE) functions tools

imports: .venvs/dev/.ready ## the directions in which modules may import each other
	PYTHONPATH=$(LAYER) $(BIN)/lint-imports

template: .venvs/sam/.ready ## the SAM template
	$(SAM) validate --lint --region eu-central-1

format: .venvs/dev/.ready ## rewrite the code in the project's style
	$(BIN)/ruff check --fix-only --quiet $(CODE)
	$(BIN)/ruff format $(CODE)

# -- running ------------------------------------------------------------------------------------------------------------
demo: environments ## deploy to a local AWS, send duplicates and poison, prove each message's work done once
	$(BIN)/python -m tools.demo $(ARGS)

invoke: .venvs/dev/.ready ## run one event through one function (FUNCTION=place_order EVENT=events/orders-single.json)
	$(BIN)/python -m tools.invoke $(FUNCTION) $(EVENT) $(ARGS)

build: .venvs/sam/.ready ## build the application for deployment
	$(SAM) build $(ARGS)

deploy: build ## deploy to AWS (ARGS="--config-env prod")
	$(SAM) deploy $(ARGS)

# -- keeping up ---------------------------------------------------------------------------------------------------------
events: .venvs/dev/.ready ## write the sample events anew
	$(BIN)/python -m tools.make_events

pins: .venvs/dev/.ready ## compile the pinned requirements from the .in files
	for set in $(LAYER)/requirements requirements/dev requirements/sam requirements/ministack; do \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate $$set.in -o $$set.txt; done

clean: ## remove what was made, environments included
	rm -rf .venvs .aws-sam .local-aws .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
