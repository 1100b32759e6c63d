"""States of an older version."""

from typing import Any

import pytest

from rotting.live.bandit import Bandit
from rotting.live.saved_state import _digest
from rotting.registry import make


def as_version_3(state: dict[str, Any], propensities: dict[int, list[float]]) -> dict[str, Any]:
    """What the version before wrote of the same bandit, if it has no decisions but pulls."""
    new = {"pending", "max_pending", "decisions", "answers", "orphans", "rewards", "reporting", "digest"}
    old = {name: value for name, value in state.items() if name not in new}
    under_way = [entry[1] for entry in state["decisions"]]
    old["version"] = 3
    old["arms"] = [
        {
            "arm": each["arm"],
            "slot": each["slot"],
            "kept": each["retired"],
            "pulls": each["pulls"],
            "pending": under_way.count(each["slot"]),
            "propensities": propensities.get(each["slot"], []),
        }
        for each in state["arms"]
    ]
    return {**old, "digest": _digest(old)}


@pytest.mark.parametrize("name", ["raw-ucb", "exp3", "thompson-sampling"])
def test_a_state_of_version_3_goes_on(name: str) -> None:
    bandit = Bandit(make(name), arms=["a", "b", "c"], seed=6)
    for k in range(30):
        bandit.update(bandit.pull(), (k % 5) / 4)
    bandit.remove_arm("c", keep=True)
    bandit.pull(arms=["a"])
    bandit.pull(arms=["b"])
    bandit.pull(arms=["b"])
    state = bandit.get_state()
    propensities: dict[int, list[float]] = {}
    for entry in state["decisions"] if name == "exp3" else []:
        propensities.setdefault(entry[1], []).append(entry[3])
    twin = Bandit.from_state(as_version_3(state, propensities))
    assert twin.pending == 3
    for each in (bandit, twin):
        for arm in ("b", "a", "b"):
            each.update(arm, 0.5)
        each.add_arm("c", resume=True)
    assert twin.rounds == bandit.rounds
    for k in range(20):
        chosen = bandit.pull()
        assert twin.pull() == chosen
        for each in (bandit, twin):
            each.update(chosen, (k % 3) / 2)
    assert twin.get_state()["state"] == bandit.get_state()["state"]


def test_other_versions_are_refused() -> None:
    state = Bandit(make("ucb1"), arms=["a"]).get_state()
    for version in (1, 2, 5, None, "4"):
        with pytest.raises(ValueError, match=f"^state version must be 3 or 4, those that can be read, got {version!r}$"):
            Bandit.from_state({**state, "version": version})
