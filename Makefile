# On a fresh machine with Python 3.11+ and make: `make reproduce` or `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
USABLE := $(VENV)/.usable
TESTS ?= tests/policies
GPU_WORKERS ?= 4

.PHONY: help reproduce docs site policy record bench mutants check lint test test-all test-gpu stress lock

help:  ## Say what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Two steps: what a user needs, and what development needs on top. pip refuses every file whose hash is not in the lock; the
# project itself is built with the build backend of the lock, not with one that pip would download.
$(USABLE): requirements-report.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rotting needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements-report.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(READY): $(USABLE) requirements-dev.lock
	$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

reproduce: $(USABLE)  ## Run the paper's experiments in a quick size: a report with figures, tables and claims
	$(BIN)/rotting reproduce

docs: $(READY)  ## Write docs/policies.md anew from the code
	$(BIN)/python -m docs.make_policies

site: $(READY)  ## Build the site in build/site: every page with code is run (ten minutes at first; ARGS=--quick runs none)
	$(BIN)/python -m docs.make_site $(ARGS)

policy: $(READY)  ## Write the two files of a new policy: make policy NAME=my-ucb (or NAME=my-ucb:MyUCB to name its class; KIND=random if it draws)
	$(BIN)/python -m tools.new_policy $(NAME) $(KIND:%=--%)

record: $(READY)  ## Record the digests, defaults and flags of policies that have none yet: before a release
	$(BIN)/python -m tests.policies.test_defaults
	$(BIN)/python -m tests.simulation.test_unchanged_games

bench: $(READY)  ## Time the library beside its peers: tables on the screen (ARGS=--write: in docs/benchmarks.md)
	$(BIN)/python -m benchmarks $(ARGS)

check: lint  ## While you work: style, types, and the tests you name, interpreted: make check TESTS=tests/live
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(TESTS)

lint: $(READY)  ## Style, imports between the rooms, and strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy --num-workers auto

# Kernels are tested twice, with and without the compiler. The rest is tested once, where it takes less time: examples of the
# documentation, what starts many processes, and what compiles nothing of its own without, what plays whole reports with.
ONLY_INTERPRETED := $(wildcard tests/adapters tests/benchmarks tests/common/test_*.py tests/common/display/test_html_parts.py \
  tests/examples tests/server tests/tools \
  $(addprefix tests/test_,architecture.py errors.py limit.py policy.py registry.py types.py) \
  $(addprefix tests/live/test_,arms.py bad_input.py decisions.py events.py holdout.py late_rewards.py learn.py learner.py \
    ledger.py locks.py reward_windows.py saved_state.py settings.py values.py) \
  $(addprefix tests/logs/test_,advice.py diagnosis.py fit.py log.py report.py tables.py) tests/policies/parts/test_plain.py \
  $(addprefix tests/simulation/test_,comparisons.py plan.py ranking.py rerun.py result.py study.py summary.py sweep.py \
    trajectory.py) $(addprefix tests/simulation/engines/test_,chunk_store.py cuda.py dask.py extensions.py \
    family_draws.py memories.py))
ONLY_COMPILED := tests/cli tests/paper/datasets tests/docs tests/paper/experiments tests/paper/report \
  $(addprefix tests/common/display/test_,figures.py pages.py paper_style.py plots.py svg.py tables.py)
REPRESENTATIVE := tests/simulation/engines/test_threads.py tests/policies/test_equality.py tests/simulation/test_unchanged_games.py

# Bytecode is kept, also where the environment says otherwise: every worker, and every process that a test starts, would read
# all the sources anew.
check test test-all stress: export PYTHONDONTWRITEBYTECODE :=

# One process more than CPUs interprets, since many tests wait for other processes.
test: WORKERS = $(shell $(BIN)/python -c 'import os; print(os.cpu_count() + 1)')
test: lint  ## Before a change: style, types, all tests without the compiler, some games with it
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n $(WORKERS) $(ONLY_COMPILED:%=--ignore=%)
	$(BIN)/python -m pytest -q --representative -m 'not slow' $(REPRESENTATIVE)

test-all: $(READY)  ## What `make test` leaves out: the games of every policy compiled, and tests that take long
	$(BIN)/python -m pytest -q $(ONLY_INTERPRETED:%=--ignore=%) tests
	$(BIN)/python -m pytest -q -m slow $(ONLY_INTERPRETED)

# On a machine with a GPU: `pip install '.[cuda]'` first, or '.[cuda12]'. GPU_WORKERS processes share its memory.
test-gpu: $(READY)  ## The games on this machine's GPU against those on its CPU: every policy, every noise
	$(BIN)/python -m pytest -n $(GPU_WORKERS) -m gpu tests/simulation/engines

# Not part of CI. Files are changed in place: begin with a clean checkout. What no test noticed is listed at the end.
mutants: $(READY)  ## Change a module in small places: does a test notice? MODULE=src/rotting/live/bandit.py TESTS=tests/live
	$(PIP) cosmic-ray==8.7.0
	mkdir -p build && sed 's|MODULE|$(MODULE)|; s|TESTS|$(TESTS)|' tools/mutants.toml > build/mutants.toml
	$(BIN)/cosmic-ray init --force build/mutants.toml build/mutants.sqlite
	$(BIN)/cosmic-ray exec build/mutants.toml build/mutants.sqlite
	$(BIN)/cr-report build/mutants.sqlite --surviving-only --show-diff

stress: $(READY)  ## The long forms of tests: 10,000 steps against a slow model, 200 kills (two hours)
	ROTTING_STRESS=1 $(BIN)/python -m pytest -q -n 0 -o timeout=0 tests/policies tests/simulation tests/live tests/docs
	ROTTING_STRESS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 0 -o timeout=0 tests/live tests/server

# Versions that are locked stay as they are, unless ARGS=--upgrade. The small locks take their versions from that of development,
# and every lock holds for all supported systems and versions of Python. (Sphinx's theme needs 3.11.5.)
LOCK := $(VENV).lock/bin/uv pip compile --quiet --universal --python-version 3.11.5 --fork-strategy fewest \
  --generate-hashes --no-annotate --custom-compile-command 'make lock'
SMALL_LOCK = $(LOCK) --constraint requirements-dev.lock

lock:  ## Lock the dependencies with their hashes (ARGS=--upgrade: in their newest versions)
	rm -rf $(VENV).lock && $(PYTHON) -m venv $(VENV).lock
	$(VENV).lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	echo '--editable .' | $(LOCK) $(ARGS) --group dev --no-emit-package rotting --output-file requirements-dev.lock -
	$(SMALL_LOCK) --group build --output-file requirements-build.lock
	$(SMALL_LOCK) --extra plot --group build --output-file requirements-report.lock pyproject.toml
	$(SMALL_LOCK) --extra service --extra postgres --output-file requirements-service.lock pyproject.toml
	rm -rf $(VENV).lock
