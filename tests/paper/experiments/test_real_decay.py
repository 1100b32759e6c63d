"""Batteries and news: played where the data are, a note where they cannot be read."""

import dataclasses
from pathlib import Path

import pytest

from rotting.paper import experiments
from rotting.paper.experiments import real_decay


@pytest.mark.usefixtures("tiny")
def test_a_data_file_that_cannot_be_read_is_a_note(tmp_path: Path) -> None:
    path = tmp_path / "nothing" / "nasa-battery" / "capacity_by_discharge.csv"
    path.parent.mkdir(parents=True)
    path.write_text("battery,volts\n")
    (finished,) = experiments.run(["real-decay"], progress=False)
    assert any("capacity_by_discharge.csv must have the columns" in note for note in finished.section.findings.notes)
    assert not finished.results


@pytest.mark.slow
def test_real_decay_plays_the_data_that_is_there() -> None:
    prepared = real_decay.prepare(dataclasses.replace(real_decay.SIZES["quick"], runs=2), None, False)
    if prepared.notes:
        pytest.skip(prepared.notes[0])
    (finished,) = (each for each in experiments.run(["real-decay"], progress=False))
    assert list(finished.results) == list(real_decay.CASES)
    assert [figure.name for figure in finished.section.findings.figures] == list(real_decay.CASES)
    for result in finished.results.values():
        assert list(real_decay.LABELS).index("uniform") == len(result.policies) - 1
        assert result.regret[0, :, -1].mean() < result.regret[-1, :, -1].mean()  # RAW-UCB against choosing blindly
