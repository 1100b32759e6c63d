# On a fresh machine with Python 3.11+ and make: `make reproduce` or `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
USABLE := $(VENV)/.usable
BENCH_PYTHON ?= $(BIN)/python
GPU_WORKERS ?= 4

.PHONY: help reproduce docs site policy record intervals noise late delays windows probe diagnosis log-intervals clicks bench mutants stress check test test-all test-gpu lint types imports interpreted representative compiled slow lock clean

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

docs: $(READY)  ## Write docs/policies.md anew from the code, and measure and draw what docs/hull.md shows
	$(BIN)/python -m docs.make_policies
	$(BIN)/python -m docs.make_hull
	$(BIN)/python -m docs.make_start

site: $(READY)  ## Build the site in build/site: every page with code is run (ten minutes at first; ARGS=--quick runs none)
	$(BIN)/python -m docs.make_site $(ARGS)

policy: $(READY)  ## Write the two files of a new policy: make policy NAME=my-ucb (or NAME=my-ucb:MyUCB to name its class; KIND=random if it draws)
	$(BIN)/python -m tools.new_policy $(NAME) $(KIND:%=--%)

record: $(READY)  ## Record the digests, defaults and flags of policies that have none yet: before a release
	$(BIN)/python -m tests.policies.test_defaults
	$(BIN)/python -m tests.simulation.test_unchanged_games

intervals: $(READY)  ## Write docs/intervals.md anew: how often intervals hold the truth (two core-hours, the games once)
	$(BIN)/python docs/make_coverage.py build/intervals.npz

noise: $(READY)  ## Measure what docs/unknown-noise.md shows (20 core-minutes, the games once)
	$(BIN)/python -m docs.make_unknown_noise build/unknown-noise

delays: $(READY)  ## Measure what docs/delays.md shows: late and lost rewards (half a core-hour, the games once)
	$(BIN)/python -m docs.make_delays build/delays

windows: $(READY)  ## Measure what docs/guides/late-rewards.md shows of reward windows (a minute)
	$(BIN)/python -m docs.make_windows

probe: $(READY)  ## Measure what docs/probe.md shows: what a probe costs, and what it finds (10 core-minutes)
	$(BIN)/python -m docs.make_probe --write

diagnosis: $(READY)  ## Measure what docs/diagnosis.md shows: right, wrong and missing verdicts (20 core-minutes)
	$(BIN)/python -m docs.make_diagnosis --write
	$(BIN)/python -m docs.make_diagnosis_limits --write

log-intervals: $(READY)  ## Measure what docs/log-intervals.md shows: how often intervals from a log hold the truth (a core-hour)
	$(BIN)/python -m docs.make_logs_coverage --write

late: $(READY)  ## Measure what docs/problems.md shows of late rewards (a few core-minutes, the games once)
	$(BIN)/python -m docs.make_problems build/late

clicks: $(READY)  ## Measure what docs/guides/clicks.md shows (10 core-minutes); BENCH_PYTHON must have River
	$(BENCH_PYTHON) -m docs.make_clicks

# Peers that are not installed are skipped: BENCH_PYTHON may be an environment that has `rotting[benchmark]`.
bench: $(READY)  ## Race the project against its peers: table and plots in build/benchmarks (ARGS=--full for all sizes)
	$(BENCH_PYTHON) -m benchmarks $(ARGS)

check: lint types imports  ## While you work: style, types, imports, and a minute of the tests closest to your change (SINCE=COMMIT)
	NUMBA_DISABLE_JIT=1 ROTTING_TEST_SECONDS=60 $(BIN)/python -m pytest -q $$($(BIN)/python -m tools.changed_tests $(SINCE))

test: lint types imports interpreted representative  ## Before a change: style, types, imports, all tests without the compiler, some games with it

test-all: compiled slow  ## What `make test` leaves out: the games of every policy compiled, and tests that take long

lint: $(READY)  ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## Strict types
	$(BIN)/mypy --num-workers auto

imports: $(READY)  ## Imports point one way
	$(BIN)/lint-imports

# Kernels are tested twice, with and without the compiler. The rest is tested once, where it takes less time: examples of the
# documentation and what starts many processes without, what plays whole reports with.
ONLY_INTERPRETED := tests/adapters tests/benchmarks tests/service tests/store tests/tools \
  $(addprefix tests/live/test_,arms.py bad_input.py decisions.py events.py past_rewards.py learner.py reward_files.py \
  missing_zeros.py locks.py) $(addprefix tests/simulation/test_,comparisons.py result.py trajectory.py)
ONLY_COMPILED := tests/cli tests/datasets tests/display tests/docs tests/experiments tests/report tests/test_limit.py
REPRESENTATIVE := tests/engines/test_threads.py tests/policies/test_equality.py tests/simulation/test_unchanged_games.py

# Bytecode is kept, also where the environment says otherwise: every worker, and every process that a test starts, would read
# all the sources anew.
check interpreted representative compiled slow stress: export PYTHONDONTWRITEBYTECODE :=

interpreted: WORKERS = $(shell $(BIN)/python -c 'import os; print(os.cpu_count() + 1)')
interpreted: $(READY)  ## Tests without the compiler, in small sizes: one process more than CPUs, since many wait for others
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n $(WORKERS) $(ONLY_COMPILED:%=--ignore=%)

representative: $(READY)  ## Compiled games of one policy of each kind
	$(BIN)/python -m pytest -q --representative -m 'not slow' $(REPRESENTATIVE)

compiled: $(READY)  ## Tests, compiled
	$(BIN)/python -m pytest -q $(ONLY_INTERPRETED:%=--ignore=%) tests

slow: $(READY)  ## The tests that the interpreted ones leave out
	$(BIN)/python -m pytest -q -m slow $(ONLY_INTERPRETED)

# On a machine with a GPU: `pip install '.[cuda]'` first, or '.[cuda12]'. GPU_WORKERS processes share its memory.
test-gpu: $(READY)  ## The games on this machine's GPU against those on its CPU: every policy, every noise
	$(BIN)/python -m pytest -n $(GPU_WORKERS) -m gpu tests/engines

mutants: $(READY)  ## Change the code in small places: does a test notice? Report in build/mutants (ARGS=--help)
	$(BIN)/python -m tools.mutants $(ARGS)

stress: $(READY)  ## The long forms of tests: 10,000 steps against a slow model, 200 kills, every byte, hostile clients (two hours)
	ROTTING_STRESS=1 $(BIN)/python -m pytest -q -n 0 -o timeout=0 tests/live/test_state_machine.py tests/engines/test_chunk_store.py tests/docs
	ROTTING_STRESS=1 $(BIN)/python -m pytest -q -n 0 -o timeout=0 tests/parts tests/policies tests/simulation tests/live/test_checks.py tests/live/test_growth.py tests/engines/test_extensions.py tests/engines/test_dask.py tests/engines/test_tiers.py
	ROTTING_STRESS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 0 -o timeout=0 tests/live/test_decisions.py tests/live/test_learner.py tests/live/test_pending_decisions.py
	ROTTING_STRESS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 0 -o timeout=0 tests/store/test_crashes.py tests/store/test_durable.py
	ROTTING_STRESS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 0 -o timeout=0 tests/service/test_server.py tests/service/test_fuzz.py
	ROTTING_STRESS=1 NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 0 -o timeout=0 tests/service/test_chaos.py tests/service/test_hostile.py

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
	$(SMALL_LOCK) --extra report --group build --output-file requirements-report.lock pyproject.toml
	$(SMALL_LOCK) --extra service --output-file requirements-service.lock pyproject.toml
	rm -rf $(VENV).lock

clean:  ## Remove what the build made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
