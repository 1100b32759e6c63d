"""Experiments: settings are data, games are played once, a folder appears whole, and the report says what was measured."""

import dataclasses
import json
from pathlib import Path

import pytest

from rotting.paper import experiments
from rotting.paper.experiments import rested_two_arms, restless_nights
from rotting.paper.report.model import Findings
from rotting.problems import two_arms
from rotting.simulation.simulate import simulate, simulate_all
from tests.helpers.tiny_experiments import tiny_night


def test_every_experiment_is_data_with_both_sizes() -> None:
    orders = set()
    for name in experiments.list_experiments():
        experiment = experiments.find(name)
        assert experiment.id == name
        assert set(experiment.sizes) == {"quick", "full"}
        orders.add(experiment.order)
        for settings in experiment.sizes.values():
            json.dumps(dataclasses.asdict(settings), allow_nan=False)
            assert settings.seed == 0
    assert len(orders) == len(experiments.list_experiments())


@pytest.mark.usefixtures("tiny")
def test_an_experiment_simulates_as_simulate_does(monkeypatch: pytest.MonkeyPatch) -> None:
    (finished,) = experiments.run(["rested-two-arms"], workers=1, progress=False)
    L = rested_two_arms.EASY
    result = finished.results[f"L={L:.4g}"]
    assert result == simulate(result.policies, two_arms(L, 40), runs=3, seed=0)


@pytest.mark.usefixtures("tiny")
def test_games_that_two_experiments_need_are_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[object] = []
    real = simulate_all

    def counted(games, *rest, **more):  # type: ignore[no-untyped-def]
        played.extend(games if not more else [])  # the others are timed
        return real(games, *rest, **more)

    monkeypatch.setattr(experiments, "simulate_all", counted)
    nights, times = experiments.run(["runtime", "restless-nights"], progress=False)
    assert [each.section.id for each in (nights, times)] == ["restless-nights", "runtime"]
    assert len(played) == 2
    seconds, us = (times.section.findings.tables[name].rows[1] for name in ("seconds-per-night", "us-per-round"))
    label = restless_nights.LABELS[0]
    assert seconds[label].mean == pytest.approx(us[label].mean * tiny_night(7).horizon / 1e6)


def test_games_without_times_were_not_timed() -> None:
    assert experiments.Prepared({}).repeats == 0


@dataclasses.dataclass(frozen=True)
class Sizes:
    runs: int
    seed: int = 0


def test_what_two_experiments_share_is_prepared_once_for_each_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = []

    def prepare(settings: Sizes, workers: int | None, progress: bool | None) -> experiments.Prepared:
        prepared.append(settings.runs)
        return experiments.Prepared({}, data=settings.runs)

    def findings(settings: Sizes, prepared: experiments.Prepared, results: experiments.Results) -> Findings:
        return Findings((f"{settings.runs} runs asked for, {prepared.data} planned",))

    known = {
        name: experiments.Experiment(name, name, "nowhere", {"quick": Sizes(runs)}, prepare, findings, order)
        for order, (name, runs) in enumerate({"first": 3, "second": 5, "third": 3}.items())
    }
    monkeypatch.setattr(experiments, "_ids", lambda: list(known))
    monkeypatch.setattr(experiments, "find", known.get)
    finished = experiments.run(list(known), progress=False)
    assert prepared == [3, 5]
    assert [text for each in finished for text in each.section.findings.paragraphs] == [
        "3 runs asked for, 3 planned",
        "5 runs asked for, 5 planned",
        "3 runs asked for, 3 planned",
    ]


@pytest.mark.usefixtures("tiny")
def test_a_folder_made_meanwhile_is_left_alone(tmp_path: Path) -> None:
    finished = experiments.run(["runtime"], progress=False)
    taken = tmp_path / "taken"
    taken.mkdir()
    with pytest.raises(FileExistsError, match="exists"):
        experiments.write(finished, taken, experiments.about(finished))
    assert experiments.write(finished, taken, experiments.about(finished), numbered=True) == tmp_path / "taken-2"
    assert sorted(each.name for each in tmp_path.iterdir() if each.name != "cache") == ["taken", "taken-2"]
    assert not list(taken.iterdir())
