"""The programs of the page on engines, small, and on stand-ins for a GPU, a cluster and a queue."""

from pathlib import Path
from typing import Any

import pytest

import rotting
from tests.helpers import shell
from tests.helpers.blocks import block
from tests.helpers.simulated_gpu import on_simulated_gpu

PAGE = "docs/engines.md"


def test_a_gpu_and_a_cluster() -> None:
    pytest.importorskip("distributed")
    engines, results = on_simulated_gpu("page_of_engines")
    assert engines == ["cuda", "Client", "Client"]
    assert results == [True, True, True]


def test_a_sweep_on_a_queue() -> None:
    pytest.importorskip("distributed")
    assert on_simulated_gpu("page_of_a_sweep") is True


@pytest.mark.slow
@shell.needs_bash
def test_shards_are_one_simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for task in ("0", "1"):
        for command in shell.commands(block(PAGE, "#SBATCH"), SLURM_ARRAY_TASK_ID=task):
            shell.play([each.removesuffix("00") for each in command], tmp_path, monkeypatch)  # of 1,000 runs, ten
    names: dict[str, Any] = {"rotting": rotting}
    exec(block(PAGE, "from pathlib"), names)
    assert names["result"] == rotting.simulate(rotting.RAWUCB(), rotting.problems.two_arms(), runs=20)
