"""The tests mirror the packages: a module is tested in the file of its name, in the folder of its package."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "rotting"
MODULES = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if not path.name.startswith("__")}
FILES = {str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py")}

NO_BEHAVIOUR = {
    "engines/engine.py": "a protocol; engines/test_threads.py tests what keeps it",
    "kit.py": "names from other modules; test_package.py checks that they are there",
    "common/arrays.py": "names for types of arrays",
    "common/json_types.py": "a name for a type",
    "common/curve_styles.py": "colours and line styles; display/test_plots.py checks that curves differ",
    "common/version.py": "one string; test_package.py compares it with the change log",
    "store/limits.py": "sizes and times; the tests of the other modules lower them",
    "logs/verdicts.py": "names for types; type checkers compare the words",
    "report/model.py": "data that the page and the writer are tested with",
}
"""Modules that need no test file, and why."""

TESTED_WITH = {
    "common/child_process.py": "engines/test_background_compiler.py",
    "engines/compiler_process.py": "engines/test_background_compiler.py",
    "engines/cuda_device.py": "engines/test_cuda.py",
    "engines/cuda_game.py": "engines/test_cuda.py",
    "kernels/readable_errors.py": "engines/test_kernel_errors.py",
    "kernels/policy_slots.py": "engines/test_game.py",
    "engines/task.py": "engines/test_chunk_store.py",
    "kernels/code_checks.py": "engines/test_kernel_errors.py",
    "logs/buckets.py": "logs/test_replay.py",
    "logs/columns.py": "logs/test_log.py",
    "logs/description.py": "logs/test_log.py",
    "logs/fitted_noise.py": "logs/test_fit.py",
    "logs/levels.py": "logs/test_fit.py",
    "logs/two_clocks.py": "logs/test_fit.py",
    "live/explanations.py": "live/test_bandit.py",
    "live/arm_changes.py": "live/test_arms.py",
    "live/reward_rule.py": "live/test_bad_input.py",
    "live/checked_games.py": "live/test_checks.py",
    "live/draw_checks.py": "live/test_checks.py",
    "live/removal_checks.py": "live/test_checks.py",
    "live/learner_functions.py": "live/test_learner.py",
    "live/compiled_pending_rule.py": "live/test_pending_decisions.py",
    "live/pending_rule.py": "live/test_pending_decisions.py",
    "live/bandit_state.py": "live/test_events.py",
    "live/bandit_view.py": "live/test_bandit.py",
    "service/bandit_handlers.py": "service/test_application.py",
    "service/decision_handlers.py": "service/test_application.py",
    "service/decoding.py": "service/test_application.py",
    "service/event_stream.py": "service/test_broadcast.py",
    "service/idempotency.py": "service/test_application.py",
    "service/messages.py": "service/test_application.py",
    "service/read_handlers.py": "service/test_application.py",
    "service/transport.py": "service/test_application.py",
    "service/workers.py": "service/test_bandits.py",
    "store/bandit_table.py": "store/test_sqlite.py",
    "store/database.py": "store/test_sqlite.py",
    "store/descriptions.py": "store/test_host.py",
    "store/event_appender.py": "store/test_sqlite.py",
    "store/event_reader.py": "store/test_sqlite.py",
    "store/hosted.py": "store/test_host.py",
    "store/reader_pool.py": "store/test_host.py",
    "store/restoring.py": "store/test_durable.py",
    "store/writers.py": "store/test_upgrades.py",
    "display/heat_maps.py": "simulation/test_study.py",
    "display/panels.py": "display/test_plots.py",
    "display/pictures.py": "display/test_plots.py",
    "problems/drawings.py": "problems/test_problem.py",
    "problems/arm_checks.py": "problems/test_problem.py",
    "problems/noise_draws.py": "problems/test_noise.py",
    "report/document.py": "report/test_page.py",
    "report/elements.py": "report/test_page.py",
    "service/asyncio_pool.py": "service/test_pools.py",
    "service/blocking_pool.py": "service/test_pools.py",
    "simulation/plan.py": "simulation/test_simulate.py",
    "simulation/merging.py": "simulation/test_result.py",
    "simulation/result_arrays.py": "simulation/test_result.py",
    "simulation/result_files.py": "simulation/test_result.py",
    "simulation/result_plots.py": "simulation/test_result.py",
    "simulation/result_tables.py": "simulation/test_result.py",
    "simulation/selection.py": "simulation/test_result.py",
    "simulation/study_parameters.py": "simulation/test_study.py",
    "simulation/study_plots.py": "simulation/test_study.py",
    "simulation/study_points.py": "simulation/test_study.py",
    "simulation/study_tables.py": "simulation/test_study.py",
}
"""Modules that are tested with another one, whose file it is."""

OF_SEVERAL_MODULES = {
    "parts/test_restart_of_used_states.py": "every state that is reset",
    "parts/test_table_of_parts.py": "the table in the docstring of the package",
    "policies/test_defaults.py": "defaults and flags of every policy",
    "policies/test_formulas.py": "thresholds, widths and windows of several policies",
    "problems/test_edges.py": "noise, means and optima where a formula changes",
    "theory/test_defaults_of_games.py": "defaults of the games and bounds",
    "experiments/test_experiments.py": "the package itself: what holds for every experiment",
    "live/test_bad_input.py": "every verb of a bandit, and what it refuses",
    "live/test_growth.py": "every policy in a bandit that grows",
    "service/test_chaos.py": "a service that is killed, stopped and robbed of its files under load",
    "service/test_proxy.py": "a service behind nginx, and inside another application",
    "service/test_hostile.py": "a service among hostile clients",
    "live/test_late_rewards.py": "each reward is learned when it comes",
    "live/test_reward_windows.py": "decisions that settle when their windows close, in memory and in a store",
    "live/test_state_machine.py": "a bandit against a slow model, in any order of calls",
    "policies/families/test_detectors.py": "policies that detect changes",
    "policies/families/test_kl_and_thompson.py": "kl-UCB, RAW-UCB++, RAW-klUCB and Thompson sampling",
    "policies/families/test_weights_and_forgetting.py": "Exp3 and its kin; SW-UCB, D-UCB, SWA and wSWA",
    "policies/test_endings.py": "every kernel ends",
    "policies/test_estimated_sigma.py": "every policy that can estimate sigma",
    "policies/test_equality.py": "every policy against its slow reference",
    "policies/test_tunings.py": "the constants of every tuning",
    "service/test_dashboard.py": "the dashboard and its scripts, in a browser",
    "service/test_fuzz.py": "requests that nobody thought of",
    "store/test_upgrades.py": "stores whose policy has changed, and the writers that a log names",
    "store/test_lone_files.py": "main files without their write-ahead log, and processes killed at any moment",
    "store/test_crashes.py": "stores that are killed, cut, damaged, full",
    "report/test_browser.py": "the page and its script, in a browser",
    "simulation/test_prefixes.py": "games of every kind of problem, short and long",
    "simulation/test_unchanged_games.py": "digests of every policy's games",
    "test_architecture.py": "ARCHITECTURE.md",
    "test_layout.py": "this file",
    "test_limit.py": "the limit of time of every test",
    "test_package.py": "the package as users meet it",
    "test_types.py": "what type checkers know of the package",
    "theory/test_games.py": "the theorems against games",
    "theory/test_lemmas.py": "the lemmas behind the theorems, in games",
}
"""Test files that stand for no module, and what they are about."""

OTHER_FOLDERS = {"benchmarks", "docs", "tools"}
"""Of the repository, not of the package."""


def file_of(module: str) -> str:
    """The test file of a module's name."""
    path = Path(module)
    return str(path.with_name(f"test_{path.name}"))


@pytest.mark.parametrize("module", sorted(MODULES - {*NO_BEHAVIOUR, *TESTED_WITH}))
def test_every_module_has_a_test_file_of_its_name(module: str) -> None:
    assert file_of(module) in FILES


def test_every_test_file_stands_for_a_module() -> None:
    known = {file_of(module) for module in MODULES} | set(OF_SEVERAL_MODULES)
    strangers = {file for file in FILES - known if Path(file).parts[0] not in OTHER_FOLDERS}
    assert strangers == set()


def test_the_lists_are_not_stale() -> None:
    assert {*NO_BEHAVIOUR, *TESTED_WITH} <= MODULES
    assert {*TESTED_WITH.values()} <= FILES
    assert set(OF_SEVERAL_MODULES) <= FILES
    for module in (*NO_BEHAVIOUR, *TESTED_WITH):
        assert file_of(module) not in FILES, module
    for file in OF_SEVERAL_MODULES:
        assert file not in map(file_of, MODULES), file


def test_helpers_and_references_hold_no_tests() -> None:
    assert not [file for file in FILES if Path(file).parts[0] in {"helpers", "reference"}]
